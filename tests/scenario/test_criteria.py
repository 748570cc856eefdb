"""Selection criteria of work queues: every example of the TWiki, the grammar at its borders, and its errors."""

import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.scenario.criteria import ATTRIBUTES, NUMBERS, CriteriaError, parse, passes, variables_of

TASK = dict(prodSourceLabel="managed", workingGroup="GP_Higgs", processingType="simul", campaign="", site="",
            coreCount=8.0, eventService=0.0, currentPriority=900.0)


def ask(text, variables="", **task):
    return passes(parse(text, variables_of(variables)), TASK | task)


@pytest.mark.parametrize(("criteria", "variables", "taken", "refused"), [
    pytest.param("processingType IN (:p1,:p2)", "p1:evgen,p2:simul",
                 [dict(processingType="evgen"), dict(processingType="simul")], [dict(processingType="reprocessing")],
                 id="TWiki: evgensimul"),
    pytest.param("workingGroup LIKE :p1", "p1:GP_%", [dict(workingGroup="GP_Top"), dict(workingGroup="GP_")],
                 [dict(workingGroup="AP_Top"), dict(workingGroup="XGP_Top"), dict(workingGroup="")], id="TWiki: group"),
])
def test_the_examples_of_the_twiki(criteria, variables, taken, refused):
    assert all(ask(criteria, variables, **task) for task in taken)
    assert not any(ask(criteria, variables, **task) for task in refused)


@pytest.mark.parametrize(("text", "found"), [
    pytest.param("", True, id="nothing is asked"),
    pytest.param("   ", True, id="blanks"),
    pytest.param("processingType = 'simul'", True, id="equal"),
    pytest.param("PROCESSINGTYPE='simul'", True, id="attributes in any case"),
    pytest.param("processingType = 'Simul'", False, id="but values in theirs"),
    pytest.param("processingType <> 'simul' or coreCount >= 8", True, id="or"),
    pytest.param("processingType != 'simul' OR coreCount > 8", False, id="neither"),
    pytest.param("coreCount BETWEEN 1 AND 8", True, id="between takes its borders"),
    pytest.param("coreCount NOT BETWEEN 2 AND 7 AND eventService = 0", True, id="not between, and more"),
    pytest.param("NOT workingGroup LIKE 'GP%'", False, id="not"),
    pytest.param("workingGroup NOT LIKE 'GP_Higg_'", False, id="one character"),
    pytest.param("workingGroup LIKE 'GP_Higgs_'", False, id="one character too many"),
    pytest.param("processingType NOT IN ('evgen', 'pile')", True, id="not in"),
    pytest.param("campaign IS NULL", True, id="empty is null"),
    pytest.param("campaign IS NOT NULL", False, id="is not null"),
    pytest.param("campaign = ''", False, id="as in SQL nothing equals the empty text"),
    pytest.param("campaign <> 'MC16'", False, id="what is unknown differs from nothing"),
    pytest.param("NOT campaign = 'MC16'", False, id="and its contrary is unknown too"),
    pytest.param("campaign = 'MC16' OR coreCount = 8", True, id="true or unknown is true"),
    pytest.param("NOT (campaign = 'MC16' AND coreCount = 1)", True, id="false and unknown is false"),
    pytest.param("coreCount = 1 AND processingType = 'simul' OR eventService = 0", True, id="and binds before or"),
    pytest.param("coreCount = 1 AND (processingType = 'simul' OR eventService = 0)", False, id="unless in brackets"),
])
def test_what_passes(text, found):
    assert ask(text) is found


def test_a_quote_in_a_text_is_doubled():
    assert ask("userName = 'O''Neill'", userName="O'Neill") and not ask("userName = 'O''Neill'", userName="O''Neill")


@pytest.mark.parametrize(("text", "variables", "position", "expected", "near"), [
    pytest.param("processingTyp = 'simul'", "", 1, "no attribute", "processingType", id="unknown attribute"),
    pytest.param("coreCount = 8 AND", "", 18, "expected an attribute", None, id="it ends too early"),
    pytest.param("coreCount 8", "", 11, "expected =, !=", None, id="no operator"),
    pytest.param("coreCount = simul", "", 13, "expected a :variable", None, id="a bare word"),
    pytest.param("coreCount = 'many'", "", 13, "is a number", None, id="text for a number"),
    pytest.param("coreCount LIKE '8%'", "", 16, "LIKE is for text", None, id="LIKE for a number"),
    pytest.param("processingType = 8", "", 18, "is text", None, id="a number for text"),
    pytest.param("processingType IN (:p1,:p3)", "p1:evgen,p2:simul", 24, "no variable :p3", "p1",
                 id="no such variable"),
    pytest.param("processingType IN 'simul'", "", 19, "expected (", None, id="IN without a list"),
    pytest.param("processingType IN ('simul'", "", 27, "but the criteria end", None, id="a list that is open"),
    pytest.param("(coreCount = 8", "", 15, "expected AND, OR or )", None, id="a bracket that is open"),
    pytest.param("coreCount = 8)", "", 14, "expected AND, OR or the end", None, id="a bracket too many"),
    pytest.param("userName = 'me", "", 12, "no closing '", None, id="a text that is open"),
    pytest.param("coreCount = 8 & eventService = 1", "", 15, "found '&'", None, id="a strange sign"),
    pytest.param("coreCount = :p1", "p1:eight", 13, "'eight' is not", None, id="a variable of the wrong kind"),
    pytest.param("campaign IS 'x'", "", 13, "expected NULL", None, id="IS without NULL"),
    pytest.param("NOT " * 60 + "coreCount = 1", "", 205, "more than 50", None, id="too deep"),
])
def test_errors_say_where_and_what(text, variables, position, expected, near):
    with pytest.raises(CriteriaError) as told:
        parse(text, variables_of(variables))
    assert told.value.position == position
    assert expected in str(told.value)
    assert near is None or near in told.value.nearest


@pytest.mark.parametrize(("text", "position"), [
    pytest.param("p1=evgen", 1, id="no colon"), pytest.param("p1:evgen,,p2:x", 10, id="nothing between commas"),
    pytest.param("p1:a,p1:b", 6, id="twice"),
])
def test_variables_that_cannot_be_read(text, position):
    with pytest.raises(CriteriaError) as told:
        variables_of(text)
    assert told.value.position == position


def test_a_value_of_a_variable_may_hold_a_colon():
    assert variables_of("p1:GP_%, p2:a:b") == {"p1": "GP_%", "p2": "a:b"}


class Comparison(NamedTuple):
    """A test of one attribute."""

    attribute: str
    operator: str
    values: tuple = ()


class Both(NamedTuple):
    """AND."""

    left: object
    right: object


class Either(NamedTuple):
    """OR."""

    left: object
    right: object


class Not(NamedTuple):
    """NOT."""

    inner: object


def truth(tree, task):
    """What SQL finds: True, False, or None where it is unknown."""
    if isinstance(tree, Not):
        inner = truth(tree.inner, task)
        return None if inner is None else not inner
    if isinstance(tree, (Both, Either)):
        found, decisive = {truth(tree.left, task), truth(tree.right, task)}, isinstance(tree, Either)
        return decisive if decisive in found else None if None in found else not decisive
    value = task[tree.attribute]
    if tree.operator in ("null", "not null"):
        return (value in (None, "")) == (tree.operator == "null")
    return None if value in (None, "") else holds(tree.operator, value, *tree.values)


def holds(operator, value, first, *more):
    """Whether a known value is as an operator wants it."""
    if operator == "like":
        pattern = "".join({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in first)
        return re.fullmatch(pattern, value, re.DOTALL) is not None
    return {"=": value == first, "!=": value != first, "<": value < first, "<=": value <= first, ">": value > first,
            ">=": value >= first, "in": value in (first, *more),
            "between": len(more) == 1 and first <= value <= more[0]}[operator]


WORDS = st.text("abcdefghA_%'*?[] ", min_size=1, max_size=5)


@st.composite
def comparisons(draw):
    """A test with values of the right kind."""
    name = draw(st.sampled_from(sorted(ATTRIBUTES.values())))
    values = st.integers(-9, 9).map(float) if name in NUMBERS else WORDS
    operator = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in", "between", "null", "not null", "like"]))
    if operator == "like" and name in NUMBERS:
        operator = "="
    count = dict(between=2, null=0, **{"not null": 0, "in": draw(st.integers(1, 3))}).get(operator, 1)
    return Comparison(name, operator, tuple(draw(values) for _ in range(count)))


TREES = st.recursive(comparisons(), lambda inner: st.one_of(
    st.builds(Both, inner, inner), st.builds(Either, inner, inner), st.builds(Not, inner)), max_leaves=6)


def written(tree, variables):
    """Criteria as text; every other value becomes a variable."""
    if isinstance(tree, Not):
        return f"NOT ({written(tree.inner, variables)})"
    if isinstance(tree, (Both, Either)):
        word = "AND" if isinstance(tree, Both) else "or"
        return f"({written(tree.left, variables)}) {word} ({written(tree.right, variables)})"
    values = []
    for value in tree.values:
        if "," not in str(value) and str(value).strip() == str(value) and len(variables) % 2:
            variables[f"p{len(variables)}"] = str(value)
            values.append(f":p{len(variables) - 1}")
        else:
            variables[f"q{len(variables)}"] = ""
            values.append(str(value) if tree.attribute in NUMBERS else "'" + value.replace("'", "''") + "'")
    if tree.operator == "in":
        return f"{tree.attribute} IN ({', '.join(values)})"
    if tree.operator == "between":
        return f"{tree.attribute} BETWEEN {values[0]} AND {values[1]}"
    return f"{tree.attribute} {tree.operator.upper() if values else 'IS ' + tree.operator} {' '.join(values)}"


VALUES = {name: st.one_of(st.none(), *([st.integers(-9, 9).map(float)] if name in NUMBERS else [st.just(""), WORDS]))
          for name in ATTRIBUTES.values()}


@given(TREES, st.fixed_dictionaries(VALUES))
def test_any_criteria_mean_what_they_mean_in_sql(tree, task):
    variables = {}
    criteria = parse(written(tree, variables), variables)
    assert passes(criteria, task) is (truth(tree, task) is True)
    assert passes(parse(written(Not(tree), variables), variables), task) is (truth(tree, task) is False)


@given(st.text("()':=<>!, ANDORNOTINLIKEcoreCount123p%_", max_size=40))
def test_any_text_is_read_or_refused_with_a_position(text):
    try:
        tree = parse(text, {"p": "1"})
    except CriteriaError as error:
        assert 1 <= error.position <= len(text) + 1
        assert re.match(r"position \d+: .", str(error))
    else:
        assert passes(tree, TASK) in (True, False)
