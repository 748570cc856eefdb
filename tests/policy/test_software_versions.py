import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.policy.software.comparisons import (
    OPERATORS,
    BadPattern,
    constraint,
    covers,
    pattern,
    satisfies,
    starts,
    version,
)

pytestmark = pytest.mark.rule("satisfies")

EDITIONS = ("documented", "deployed")


@pytest.mark.parametrize(("value", "wanted", "fits"), [
    pytest.param("40960", ">=40960", True, id="just enough memory"),
    pytest.param("40959", ">=40960", False, id="one MB short"),
    pytest.param("40960", ">40960", False, id="more means more"),
    pytest.param("15360", "==15360", True, id="exactly 15 GB"),
    pytest.param("15360", "=15360", True, id="a single = is ==, with exactly 15 GB"),
    pytest.param("15361", "=15360", False, id="a single = is ==, one MB over"),
    pytest.param("12.0", ">=12.0", True, id="CUDA at the limit"),
    pytest.param("12", "==12.0", True, id="a zero at the end says nothing"),
    pytest.param("11.8", ">=12.0", False, id="older CUDA"),
    pytest.param("11.10", ">11.9", True, id="ten comes after nine"),
    pytest.param("575.57.08", ">=575.0", True, id="a driver of three numbers"),
    pytest.param("575.57.08", "==575.57.8", True, id="zeros in front say nothing"),
    pytest.param("580.82.07", "<=580.82.7", True, id="no later driver"),
    pytest.param("574.99", "<575", True, id="before a driver"),
    pytest.param("12.0rc1", "<12.0", True, id="a release candidate comes before"),
    pytest.param("12.0", " >=12.0", False, id="a blank in front is no operator"),
    pytest.param("12.0", ">= 12.0", True, id="a blank behind the operator is nothing"),
    pytest.param("12.0", "12.0", False, id="without an operator nothing fits"),
    pytest.param("12.0", "=>12.0", False, id="=> is no operator"),
    pytest.param("12.0", ">=", False, id="without a version nothing fits"),
    pytest.param("12.0", ">=new", False, id="a word is no version"),
    pytest.param("unknown", ">=1", False, id="a value that is no version"),
    pytest.param("9" * 5000, ">=1", False, id="a number that nobody can hold"),
])
def test_constraints(value, wanted, fits):
    assert {satisfies(value, wanted, edition) for edition in EDITIONS} == {fits}


@pytest.mark.parametrize(("value", "fits"), [
    pytest.param("11.8", True, id="another version"),
    pytest.param("12.0", False, id="the same version"),
])
def test_d39_unequal_which_release_1_0_3_does_not_know(value, fits):
    assert [satisfies(value, "!=12.0", edition) for edition in ("documented", "deployed-1.0.3", "deployed-1.0.4")] == [
        fits, False, fits]


numbers = st.lists(st.integers(0, 10**6), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(st.sampled_from(sorted(OPERATORS)), numbers)
def test_a_constraint_that_was_written_is_read_again(operator, text):
    assert constraint(operator + text) == (operator, version(text))


@given(numbers, numbers)
def test_of_two_versions_one_order_holds(one, other):
    holds = [satisfies(one, operator + other, "documented") for operator in ("<", "==", ">")]
    assert sum(holds) == 1
    assert satisfies(one, ">=" + other, "documented") is (holds[1] or holds[2])
    assert satisfies(one, "!=" + other, "documented") is not holds[1]


@given(st.text(), st.text())
def test_any_text_may_be_compared(value, wanted):
    for edition in EDITIONS:
        assert satisfies(value, wanted, edition) in (True, False)


@pytest.mark.parametrize(("text", "value", "fits"), [
    pytest.param(".*A100.*", "NVIDIA A100-SXM4-80GB", True, id="anywhere"),
    pytest.param(".*a100.*", "NVIDIA A100-SXM4-80GB", True, id="whatever the case"),
    pytest.param("A100", "NVIDIA A100-SXM4-80GB", False, id="from the start"),
    pytest.param(".*(P100|V100).*", "Tesla V100S-PCIE-32GB", True, id="one of two"),
    pytest.param(".*(P100|V100).*", "Tesla P100-PCIE-16GB", True, id="the other"),
    pytest.param("nvidia", "NVIDIA Corporation", True, id="the rest does not matter"),
])
def test_models_match_from_the_start(text, value, fits):
    assert starts(text, value) is fits


def test_platforms_match_as_a_whole():
    assert covers("x86_64-.*-opt", "x86_64-el9-gcc13-opt")
    assert not covers("x86_64", "x86_64-el9-gcc13-opt") and not covers("X86.*", "x86_64")


@pytest.mark.rule("comparisons.starts", "comparisons.covers")
@pytest.mark.parametrize(("text", "position"), [
    ("(", 0), ("*", 0), ("[", 0), ("[[", 0), ("ab)", 2), ("(?P<a>", 0), ("a{99999999999}", -1),
])
def test_what_is_no_regular_expression_says_where(text, position):
    with pytest.raises(BadPattern) as caught:
        pattern(text)
    assert caught.value.position == position


@given(st.text(alphabet="()[]{}*+?|\\.^$ab1,-:&~"))
def test_a_pattern_is_one_or_is_not(text):
    try:
        pattern(text)
    except BadPattern as error:
        assert error.text == text
