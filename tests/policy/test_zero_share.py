import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.policy.queues import (
    as_read,
    check_policy,
    has_zero_share,
    parse_policy,
    processing_group,
)

pytestmark = pytest.mark.rule("has_zero_share", "processing_group")

CRIC = Path(__file__).parents[2].parent / "shared" / "data" / "cric" / "pandaqueues_subset.json"


def zero(policy, edition="documented", **task):
    plain = dict(processingtype="simul", workinggroup="", gshare="MC 16", currentpriority=100, is_merging=False)
    return has_zero_share(policy, edition=edition, **plain | task)


EVGEN_SIMUL = "type=evgen:100%,type=simul:100%,type=any:0%"
PRIORITY_FIRST = "priority>500:0,type=simul:100%,type=any:0%"
PRIORITY_LAST = "type=evgen:100%,type=simul:100%,type=any:0%,priority>500:0%"
MIXED = "type=evgen:100%,type=any:0%,gshare=Express:100%,gshare=any:100%"
REORDERED = "type=evgen:100%,gshare=Express:100%,type=any:0%,gshare=any:100%"
EXPRESS = "gshare=Express*:100%,gshare=any:0%"
GROUPS = "group=(AP_Higgs|AP_Susy|AP_Exotics|Higgs):0%"


@pytest.mark.parametrize(("policy", "task", "refused"), [
    pytest.param("", {}, False, id="no policy, no refusal"),
    pytest.param(EVGEN_SIMUL, {"processingtype": "evgen"}, False, id="evgen is accepted"),
    pytest.param(EVGEN_SIMUL, {"processingtype": "deriv"}, True, id="anything else has zero share"),
    pytest.param(PRIORITY_FIRST, {"currentpriority": 500}, False, id="at the priority is not above it"),
    pytest.param(PRIORITY_FIRST, {"currentpriority": 501}, True, id="above the priority even simul is refused"),
    pytest.param(PRIORITY_FIRST, {"processingtype": "pile"}, True, id="below the priority other types are refused"),
    pytest.param("type=evgen:100%,type=simul:100%", {"processingtype": "deriv"}, False, id="no match is no refusal"),
    pytest.param(PRIORITY_LAST, {"currentpriority": 900}, False, id="the first match decides, not the strictest"),
    pytest.param(PRIORITY_LAST, {"currentpriority": 900, "processingtype": "pile"}, True, id="any type comes first"),
    pytest.param(MIXED, {"processingtype": "evgen", "gshare": "Other"}, False, id="evgen before any type"),
    pytest.param(MIXED, {"gshare": "Express"}, True, id="the gshare behind any type is never reached"),
    pytest.param(REORDERED, {"gshare": "Express"}, False, id="the gshare before any type counts"),
    pytest.param(REORDERED, {"gshare": "Other"}, True, id="other shares fall to any type"),
    pytest.param(EXPRESS, {"gshare": "Express Analysis"}, False, id="the star matches the rest"),
    pytest.param(EXPRESS, {"gshare": "MC 16"}, True, id="the star needs the beginning"),
    pytest.param(EXPRESS, {"gshare": ""}, False, id="a task without share matches any share"),
    pytest.param(GROUPS, {"workinggroup": "AP_Susy"}, True, id="one of a list of groups"),
    pytest.param(GROUPS, {"workinggroup": "AP_Susy2"}, False, id="the whole group must match"),
    pytest.param(GROUPS, {"workinggroup": ""}, False, id="an empty group is no member"),
    pytest.param("type=simul:0", {}, True, id="zero without percent sign"),
    pytest.param("type=simul:00%", {}, False, id="only 0 and 0% are zero"),
    pytest.param("type=reco:100%,type=any:0%", {"processingtype": "reco"}, True, id="an unlisted type is others"),
    pytest.param("type=others:0%", {"processingtype": "reco"}, True, id="others can be named"),
    pytest.param("type=simul:group=Higgs:0%", {"workinggroup": "Higgs"}, True, id="both filters of a sub-policy hold"),
    pytest.param("type=simul:group=Higgs:0%", {"workinggroup": "Top"}, False, id="one filter of two is not enough"),
    pytest.param("type=deriv:100%, type=evgen:0%", {}, True, id="a leading blank makes a filter match everything"),
    pytest.param("type=evgen:0%;type=reprocessing:0%,type=any:100%", {"processingtype": "evgen"}, True,
                 id="a semicolon belongs to the value, real queue"),
    pytest.param("type=deriv:0%,evgen=100%,type=any:0%", {}, False, id="an unknown key accepts everything, real queue"),
    pytest.param("priority=5:0", {}, True, id="a broken comparison counts as matched"),
    pytest.param("type=(:0%,type=any:0%", {}, False, id="a broken expression refuses nobody"),
])
def test_zero_share(policy, task, refused):
    assert zero(policy, **task) is refused
    assert zero(policy, "deployed", **task) is refused


@pytest.mark.parametrize("processingtype", ["prod_test", "validation", "ptest", "rc_test", "rc_test2", "rc_alrb"])
def test_a_policy_may_name_tests_as_documented_and_is_not_asked_for_them_in_the_code(processingtype):
    for policy in ("type=test:0%", EVGEN_SIMUL):
        assert zero(policy, processingtype=processingtype)
        assert not zero(policy, "deployed", processingtype=processingtype)
    assert not zero("type=test:100%,type=any:0%", processingtype=processingtype)


@pytest.mark.parametrize("policy", ["priority>0500:0", "priority>:0", "priority~500:0", "priority>5x:0", "priority:0"])
def test_a_comparison_that_cannot_be_made_holds(policy):
    for edition in ("documented", "deployed"):
        assert zero(policy, edition, currentpriority=-5000)


@pytest.mark.parametrize(("policy", "documented", "deployed"), [
    pytest.param("priority>500:0", False, True, id="D42 the code lets the comparison hold for merge jobs"),
    pytest.param("priority>500:100,type=any:0%", True, False, id="D42 and lets every merge job pass at that point"),
])
def test_d42_priority_of_merge_jobs(policy, documented, deployed):
    merge = dict(processingtype="merge", is_merging=True)
    assert (zero(policy, **merge), zero(policy, "deployed", **merge)) == (documented, deployed)


def test_d43_only_the_code_knows_the_type_mcore():
    policy = "type=mcore:0%"
    assert not zero(policy, processingtype="mcore")
    assert zero(policy, "deployed", processingtype="mcore")


@pytest.mark.parametrize(("pattern", "share", "documented", "deployed"), [
    pytest.param("Express|MC", "Express", True, True, id="the first word"),
    pytest.param("Express|MC", "Express Analysis", False, True, id="the first is anchored at the beginning alone"),
    pytest.param("Express|MC", "Old MC", False, True, id="the last at the end alone"),
    pytest.param("Express|MC", "My Express", False, False, id="the first is not found at the end"),
    pytest.param("Express|MC", "MC simul", False, False, id="nor the last at the beginning"),
    pytest.param("(Express|MC)", "Express Analysis", False, False, id="in brackets both ends are anchored"),
    pytest.param("Express*|MC", "Old Express", False, False, id="with an asterisk, too"),
])
def test_alternatives_without_brackets_are_anchored_at_one_end_in_the_code(pattern, share, documented, deployed):
    assert zero(f"gshare={pattern}:0%", gshare=share) is documented
    assert zero(f"gshare={pattern}:0%", "deployed", gshare=share) is deployed


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
def test_every_comparison(operator):
    for priority in (499, 500, 501):
        assert zero(f"priority{operator}500:0", currentpriority=priority) is eval(f"{priority} {operator} 500")


@given(st.text(alphabet="typegroushare=anyevprio<>!:,;%* ()|[0159", max_size=60), st.integers(-9, 2000), st.booleans())
def test_no_policy_text_stops_a_decision(policy, priority, is_merging):
    for edition in ("documented", "deployed"):
        assert zero(policy, edition, currentpriority=priority, is_merging=is_merging) in (True, False)


@given(st.lists(st.tuples(st.sampled_from(["evgen", "simul", "deriv", "pile", "any"]), st.booleans()), max_size=6),
       st.sampled_from(["evgen", "simul", "deriv", "pile"]))
def test_the_first_match_decides(rows, processingtype):
    policy = ",".join(f"type={name}:{'0' if refuses else '100'}%" for name, refuses in rows)
    expected = next((refuses for name, refuses in rows if name in (processingtype, "any")), False)
    assert zero(policy, processingtype=processingtype) is expected


def test_real_policies_are_all_read():
    if not CRIC.exists():
        pytest.skip("the folder of real input files is absent")
    policies = {queue.get("fairsharepolicy") or "" for queue in json.loads(CRIC.read_text()).values()}
    assert len(policies) > 15
    for policy in policies:
        assert isinstance(zero(policy), bool)
        assert len(parse_policy(policy)) == (policy.count(",") + 1 if policy else 0)


@pytest.mark.parametrize(("processingtype", "group"), [
    ("evgen", "evgen"), ("ptest", "test"), ("rc_alrb", "test"), ("urgent", "others"), ("", "others"),
])
def test_processing_group(processingtype, group):
    assert processing_group(processingtype, "documented") == group


@st.composite
def policies(draw):
    """Policies of the documented grammar."""
    name = st.sampled_from(["any", "AP_Higgs", "Express Analysis", "(A|B)", "GP_*", "x[0-9]+"])
    filters = {
        "type": st.sampled_from(["evgen", "simul", "test", "any", "(evgen|simul)", "e*"]).map("type={}".format),
        "group": name.map("group={}".format), "gshare": name.map("gshare={}".format),
        "priority": st.builds("priority{}{}".format, st.sampled_from([">", "<", ">=", "<=", "==", "!="]),
                              st.integers(-100, 5000)),
    }
    part = st.builds("{}:{}{}".format, st.sampled_from(list(filters)).flatmap(filters.get),
                     st.integers(0, 100), st.sampled_from(["", "%"]))
    return ",".join(draw(st.lists(part, min_size=1, max_size=5)))


@given(policies())
def test_each_part_of_a_policy_is_read_as_it_stands(policy):
    for part, sub in zip(policy.split(","), parse_policy(policy), strict=True):
        field, value = part.split(":")
        key, text = re.fullmatch("([a-z]+)=?(.*)", field).groups() if "priority" not in field else (
            "priority", field.removeprefix("priority"))
        assert sub.zero == (value.rstrip("%") == "0")
        given_ = {name: getattr(sub, name) for name in ("type", "group", "gshare", "priority")}
        assert {name: said for name, said in given_.items() if said is not None} == {key: text}


@given(policies(), st.integers(0, 3000), st.sampled_from(["evgen", "simul", "reco", "validation"]),
       st.sampled_from(["documented", "deployed"]))
def test_what_stands_behind_a_match_does_not_matter(policy, priority, processingtype, edition):
    task = dict(edition=edition, currentpriority=priority, processingtype=processingtype, workinggroup="AP_Higgs")
    assert not zero("type=any:100%," + policy, **task)
    if zero(policy, **task):
        assert zero(policy + ",type=any:100%", **task)
    else:                                           # either a match accepted the task, or nothing matched
        assert not zero(policy + ",type=any:100%", **task)


@given(st.one_of(policies(), st.text(alphabet="typegroushare=anyevprio<>!:,;%* [0159", max_size=60)),
       st.integers(0, 3000), st.sampled_from(["evgen", "simul", "reco"]), st.sampled_from(["documented", "deployed"]))
def test_a_policy_as_it_is_read_decides_as_the_policy_does(policy, priority, processingtype, edition):
    task = dict(edition=edition, currentpriority=priority, processingtype=processingtype, workinggroup="AP_Higgs")
    assert zero(as_read(policy), **task) == zero(policy, **task)


@pytest.mark.parametrize(("policy", "read"), [
    pytest.param("type=evgen:0%;type=reprocessing:0%,type=any:100%", "type=evgen:0%,type=any:100%", id="semicolon"),
    pytest.param("type=simul:100%,evgen=100%,type=any:0%", "type=simul:100%,type=any:100%,type=any:0%", id="no value"),
    pytest.param("priority>500:0,group=A:7", "priority>500:0%,group=A:100%", id="well-formed"),
    pytest.param("", "", id="empty"),
])
def test_what_is_read_in_a_policy_is_a_well_formed_policy(policy, read):
    assert as_read(policy) == read and not check_policy(read)
