"""What is wrong with a zero share policy, and where."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.queues import KEYS, check_policy, has_zero_share, valid_types

pytestmark = pytest.mark.rule("check_policy")


@pytest.mark.parametrize("policy", [
    "",
    "type=evgen:100%,type=simul:100%,type=any:0%",
    "priority>500:0,type=simul:100%,type=any:0%",
    "type=evgen:100%,type=simul:100%,type=any:0%,priority>500:0%",
    "type=evgen:100%,type=any:0%,gshare=Express:100%,gshare=any:100%",
    "type=evgen:100%,gshare=Express:100%,type=any:0%,gshare=any:100%",
    "gshare=Express*:100%,gshare=any:100%",
    "group=(AP_Higgs|AP_Susy|AP_Exotics|Higgs):0%",
    "type=simul:0%,group=GP_VALI:100%,group=GP_*:0%",
    "type=simul:20,type=*:0",
    "type=simul:group=Higgs:priority <= -5:0",
    "priority=any:0",
])
@pytest.mark.parametrize("edition", EDITIONS)
def test_nothing_is_wrong_with_the_examples_of_the_documentation(policy, edition):
    assert check_policy(policy, edition) == ()


@pytest.mark.parametrize(("policy", "place", "words"), [
    pytest.param("type=evgen:0%,", 15, "an empty sub-policy", id="a comma at the end"),
    pytest.param("type=evgen:0%,,type=any:0", 15, "an empty sub-policy", id="two commas"),
    pytest.param("type=simul:100%,evgen=100%,type=any:0%", 17, "has no value", id="no value, real queue"),
    pytest.param("type=evgen:0%;type=reprocessing:0%,type=any:100%", 12,
                 "'0%;type=reprocessing' is no filter and is passed over", id="a semicolon, real queue"),
    pytest.param("0%", 1, "without a filter", id="a value alone"),
    pytest.param("evgen:0%", 1, "known are priority, type", id="a filter without a key"),
    pytest.param("Type=evgen:0%", 1, "did you mean 'type'?", id="a key in capitals"),
    pytest.param("gshar=Express:0%", 1, "did you mean 'gshare'?", id="a key misspelled"),
    pytest.param("type:0%", 1, "expected type=<text>", id="a key alone"),
    pytest.param("type==evgen:0", 6, "last `=`", id="two equals signs"),
    pytest.param("type=evgen:0%, type=any:0%", 15, "after a blank", id="a blank after the comma"),
    pytest.param("type=evgen :0%", 6, "blanks", id="a blank before the colon"),
    pytest.param("group=a:group=b:0", 9, "a second time", id="a key twice"),
    pytest.param("priority=500:0", 9, "cannot be made", id="one equals sign is no comparison"),
    pytest.param("priority>high:0", 9, "cannot be made", id="no number"),
    pytest.param("priority>0500:0", 9, "cannot be made", id="a leading zero"),
    pytest.param("priority:0", 9, "cannot be made", id="no comparison at all"),
    pytest.param("type=(evgen:0", 6, "no regular expression", id="an open bracket"),
    pytest.param("type=evgn:0", 6, "did you mean 'evgen'?", id="a type misspelled"),
    pytest.param("type=reco:0", 6, "all that are not listed are `others`", id="an unlisted type"),
    pytest.param("type=evgen:00%", 12, "not zero for PanDA", id="two zeros"),
    pytest.param("type=evgen:0.0", 12, "not zero for PanDA", id="a zero with decimals"),
    pytest.param("type=evgen:none", 12, "no value", id="a word for a value"),
    pytest.param("type=evgen: 0%", 12, "no value", id="a blank before the value"),
    pytest.param("type=evgen:0% ", 12, "no value", id="a blank at the end"),
])
def test_what_is_wrong_is_told_with_its_place(policy, place, words):
    problems = [str(problem) for problem in check_policy(policy)]
    assert any(problem.startswith(f"character {place}: ") and words in problem for problem in problems), problems


@pytest.mark.parametrize(("policy", "documented", "deployed"), [
    pytest.param("type=mcore:0%", 1, 0, id="D43 the documentation lacks mcore"),
    pytest.param("type=test:0%", 0, 1, id="the code asks no policy for tests"),
    pytest.param("type=validation:0%", 1, 1, id="tests are named by their group"),
])
def test_types_by_edition(policy, documented, deployed):
    assert [len(check_policy(policy, edition)) for edition in EDITIONS] == [documented, deployed]


@pytest.mark.parametrize(("policy", "documented", "deployed"), [
    pytest.param("type=test:0%", [], ["PanDA asks no policy for tests"], id="the group of tests"),
    pytest.param("type=validation:0%", ["'validation' is matched by nothing; did you mean 'test'?"],
                 ["PanDA asks no policy for tests"], id="a type of that group"),
    pytest.param("type=evgn:0%", ["did you mean 'evgen'?"], ["did you mean 'evgen'?"], id="another type"),
    pytest.param("type==evgn:0%", ["last `=`", "did you mean 'evgen'?"], ["last `=`", "did you mean 'evgen'?"],
                 id="behind a second equals sign"),
])
def test_types_that_match_nothing_are_explained_by_edition(policy, documented, deployed):
    for edition, words_ in zip(EDITIONS, (documented, deployed), strict=True):
        found = [str(problem) for problem in check_policy(policy, edition)]
        assert len(found) == len(words_) and all(word in text for word, text in zip(words_, found, strict=True)), found


def test_the_place_behind_a_second_equals_sign():
    assert [problem.position for problem in check_policy("type==evgn:0")] == [5, 6]


def test_everything_is_told_at_once():
    assert [problem.position for problem in check_policy("tpye=evgen:0, type=any:0,priority=1:00")] == [0, 13, 33, 36]


words = st.text(alphabet="abcXYZ_* |", max_size=8).map(str.strip).filter(bool)
sub_policies = st.one_of(
    st.builds("priority{}{}:{}".format, st.sampled_from([">", "<", ">=", "<=", "==", "!="]), st.integers(-99, 9999),
              st.sampled_from(["0", "0%", "100", "50%"])),
    st.builds("type={}:{}".format, st.sampled_from(["evgen", "simul", "others", "pile", "any", "*"]),
              st.sampled_from(["0", "0%", "100%"])),
    st.builds("{}={}:{}".format, st.sampled_from(["group", "gshare"]), words.filter(lambda w: "**" not in w),
              st.sampled_from(["0", "100"])))


@given(st.lists(sub_policies, max_size=6).map(",".join))
def test_what_follows_the_grammar_is_right(policy):
    for edition in EDITIONS:
        assert check_policy(policy, edition) == ()


@given(st.text(alphabet="typegroushare=anyevprio<>!:,;%* ()|[0159", max_size=60))
def test_every_text_is_answered_with_places_inside_it(policy):
    for edition in EDITIONS:
        problems = check_policy(policy, edition)
        assert all(0 <= problem.position <= len(policy) for problem in problems)
        assert list(problems) == sorted(problems, key=lambda problem: problem.position)


@given(st.text(alphabet="typegroushare=anyevprio<>!:,%*0159", max_size=40), st.integers(-9, 2000))
def test_a_policy_without_problems_does_what_its_filters_say(policy, priority):
    """The first sub-policy whose filter holds decides, read here by another reader."""
    if check_policy(policy) or not policy:
        return
    expected = False
    for part in policy.split(","):
        *filters, value = part.split(":")
        if all(_holds(text, priority) for text in filters):
            expected = float(value.rstrip("%")) == 0
            break
    assert has_zero_share(policy, processingtype="evgen", workinggroup="a", gshare="a", currentpriority=priority,
                          is_merging=False, edition="documented") is expected


def _holds(text, priority):
    key, operator, limit = re.fullmatch(r"([a-z]+)([=<>!]+)(.*)", text).groups()
    assert key in KEYS
    if limit == "any":
        return True
    if key == "priority":
        return eval(f"{priority} {operator} {float(limit)}")
    pattern = limit.replace("*", ".*")
    return re.fullmatch(pattern, {"type": "evgen", "group": "a", "gshare": "a"}[key]) is not None


def test_valid_types():
    assert "mcore" not in valid_types("documented") and "test" in valid_types("documented")
    assert "mcore" in valid_types("deployed") and "test" not in valid_types("deployed")
