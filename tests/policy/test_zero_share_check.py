import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.zero_share import has_zero_share, parse_policy, valid_types
from simgrid_broker.policy.zero_share_check import problems_of_policy

EXAMPLES = [
    "type=evgen:100%,type=simul:100%,type=any:0%",
    "priority>500:0,type=simul:100%,type=any:0%",
    "type=evgen:100%,type=simul:100%",
    "type=evgen:100%,type=simul:100%,type=any:0%,priority>500:0%",
    "type=evgen:100%,type=any:0%,gshare=Express:100%,gshare=any:100%",
    "type=evgen:100%,gshare=Express:100%,type=any:0%,gshare=any:100%",
    "gshare=Express*:100%,gshare=any:100%",
    "group=(AP_Higgs|AP_Susy|AP_Exotics|Higgs):0%",
    "type=evgen:100",
]
"""The policies of the PanDA brokerage documentation, Zero Share."""


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("policy", ["", *EXAMPLES, "gshare=Express Analysis:0", "type=simul:group=GP_*:0%",
                                    "priority>=-5:0", "priority != 7:100%", "type=*:0", "type=(evgen|simul):37.5%"])
def test_nothing_is_wrong_with(policy, edition):
    assert problems_of_policy(policy, edition) == ()


@pytest.mark.parametrize(("policy", "position", "words"), [
    pytest.param("type=evgen:100%, type=any:0%", 16, "begin with a blank", id="blank behind the comma"),
    pytest.param("type=evgen:100%,,type=any:0%", 16, "expected <key><filter>:<value>", id="nothing between commas"),
    pytest.param("type=any:0%,", 12, "expected <key><filter>:<value>", id="comma at the end"),
    pytest.param("100%", 0, "expected a filter", id="a value alone"),
    pytest.param("type=any", 0, "expected a colon and a value", id="no value"),
    pytest.param("type=evgen:0%;type=pile:0%,type=any:100%", 11, "not a semicolon", id="a semicolon, real queue"),
    pytest.param("type=deriv:0%,evgen=100%,type=any:0%", 14, "expected a colon and a value", id="no key, real queue"),
    pytest.param("typ=evgen:0%", 0, "did you mean 'type'?", id="a misspelt key"),
    pytest.param("Type=evgen:0%", 0, "did you mean 'type'?", id="keys are lower-case"),
    pytest.param("type>evgen:0%", 0, "expected type=", id="no equals sign"),
    pytest.param("types=evgen:0%", 0, "did you mean 'type'?", id="more than the key"),
    pytest.param("priority=500:0", 8, "expected one of >, <", id="= is no comparison"),
    pytest.param("priority:0", 8, "expected one of >, <", id="no comparison at all"),
    pytest.param("type=any:0,priority>high:0", 20, "expected a number", id="a priority that is no number"),
    pytest.param("priority>500", 0, "expected a colon and a value", id="a comparison without value"),
    pytest.param("type=evgen:none", 11, "expected a number", id="a value in words"),
    pytest.param("type=evgen:", 11, "expected a number", id="an empty value"),
    pytest.param("type=evgen: 0", 11, "expected a number", id="a blank before zero"),
    pytest.param("type=evgen:00%", 11, "not zero", id="zero in another spelling"),
    pytest.param("type=evgen:0.0", 11, "not zero", id="zero with a decimal"),
    pytest.param("type=:0", 5, "expected any, a name", id="an empty type"),
    pytest.param("group=Higgs :0", 6, "without blanks", id="a blank behind the name"),
    pytest.param("group=(Higgs:0", 6, "no regular expression", id="a parenthesis that stays open"),
    pytest.param("type=evgensimul:100%", 5, "fits no type", id="JEDI TWiki's example is no type any more"),
    pytest.param("type=reco:0", 5, "fits no type", id="an unlisted type"),
    pytest.param("type=evgn:0", 5, "did you mean 'evgen'?", id="a misspelt type"),
    pytest.param("type=evgen:type=simul:0", 11, "given twice", id="a key twice"),
    pytest.param("group=A=B:0", 0, "behind the last =", id="two equals signs"),
])
def test_what_is_wrong_is_told_with_its_place(policy, position, words):
    for edition in EDITIONS:
        first = problems_of_policy(policy, edition)[0]
        assert first.position == position and words in str(first), str(first)
        assert policy[position:].startswith(first.what) and str(first).startswith(f"character {position + 1}, ")


@pytest.mark.parametrize("name", ["mcore", "others"])
def test_d43_types_of_the_code_alone(name):
    assert "fits no type" in str(problems_of_policy(f"type={name}:0%")[0])
    assert problems_of_policy(f"type={name}:0%", "deployed") == ()


def test_everything_is_told_at_once():
    found = problems_of_policy("typ=evgen:0%, type=reco:0x,priority>a:00")
    assert [problem.position for problem in found] == [0, 13, 19, 24, 36, 38]


@st.composite
def good_policies(draw):
    """Policies of the documented grammar."""
    name = st.sampled_from(["any", "AP_Higgs", "Express Analysis", "(A|B)", "GP_*", "x[0-9]+"])
    filters = {
        "type": st.sampled_from([*valid_types("documented"), "any", "(evgen|simul)", "e*"]).map("type={}".format),
        "group": name.map("group={}".format), "gshare": name.map("gshare={}".format),
        "priority": st.builds("priority{}{}".format, st.sampled_from([">", "<", ">=", "<=", "==", "!="]),
                              st.integers(-100, 5000)),
    }
    part = st.builds("{}:{}{}".format, st.sampled_from(list(filters)).flatmap(filters.get),
                     st.integers(0, 100), st.sampled_from(["", "%"]))
    return ",".join(draw(st.lists(part, min_size=1, max_size=5)))


@given(good_policies(), st.sampled_from(EDITIONS))
def test_a_policy_of_the_grammar_has_no_problem(policy, edition):
    assert problems_of_policy(policy, edition) == ()


@given(good_policies(), st.data())
def test_each_part_of_a_policy_is_read_as_it_stands(policy, data):
    parts = policy.split(",")
    for part, sub in zip(parts, parse_policy(policy), strict=True):
        field, value = part.split(":")
        key = re.match("[a-z]+", field)[0]
        assert getattr(sub, key) == field.removeprefix(key).removeprefix("=" * (key != "priority"))
        assert sub.zero == (value.rstrip("%") == "0")
        assert [name for name in ("type", "group", "gshare", "priority") if getattr(sub, name) is not None] == [key]


@given(good_policies(), st.integers(0, 3000), st.sampled_from(["evgen", "simul", "reco", "validation"]),
       st.sampled_from(EDITIONS))
def test_what_stands_behind_a_match_does_not_matter(policy, priority, processingtype, edition):
    def zero(text):
        return has_zero_share(text, processingtype=processingtype, workinggroup="AP_Higgs", gshare="MC",
                              currentpriority=priority, is_merging=False, edition=edition)
    assert zero("type=any:100%," + policy) is False
    assert zero(policy + ",type=any:0%") is (zero(policy) or zero(policy + ",type=any:0%"))
    if zero(policy):
        assert zero(policy + ",type=any:100%")


@given(st.text(alphabet="typegroushare=anyevprio<>!:,;%* ()|[0159", max_size=60), st.sampled_from(EDITIONS))
def test_any_text_is_answered_with_places_in_it(text, edition):
    found = problems_of_policy(text, edition)
    assert all(0 <= problem.position <= len(text) for problem in found)
    assert all(text[problem.position:].startswith(problem.what) for problem in found)
    assert [problem.position for problem in found] == sorted(problem.position for problem in found)
