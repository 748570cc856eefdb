"""The network weight and the link filter: every step of the curves, every boundary, in both editions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.policy.brokerage.production import network
from simgrid_broker.policy.brokerage.production.question import NUMBERS, TASK, TERMS, Candidate
from simgrid_broker.views import LINK, LOAD, QUEUE, STORE, records

pytestmark = pytest.mark.rule("network_weight")

DEFAULTS = dict(has_nucleus=True, nucleus_writable=True, nucleus_readable=True, NQUEUED_NUC_CAP_FOR_JOBS=10_000,
                NQUEUED_SAT_CAP=150, NW_ACTIVE=True, NW_QUEUE_IMPORTANCE=0.5, NW_THRESHOLD=1.7, NW_WEIGHT_MULTIPLIER=1)
"""A task with an open nucleus, and the brokerage reference's defaults but for NW_ACTIVE."""

EDITIONS = ("documented", "deployed")
NAN = np.nan


def at_once(link):
    """The link with output at the nucleus at once where the queue belongs to it or shares its storage."""
    return {"at_nucleus": link.get("in_nucleus", False) or link.get("sharing", False)} | link


def candidate_of(edition, **said) -> Candidate:
    """A candidate whose link to the nucleus is idle, of closeness 11 and unknown throughput, but for what is said."""
    link = dict(known=True, closeness=11) | {name: said.pop(name) for name in LINK.names if name in said}
    values = DEFAULTS | said
    values |= {"files_per_weight": values["NQUEUED_SAT_CAP"]} | TERMS[edition]
    record = np.zeros(1, TASK)
    for name, value in values.items():
        record[name] = value
    return Candidate(record[0], *(records(kind, 1)[0] for kind in (QUEUE, LOAD)), records(LINK, 1, **at_once(link))[0],
                     records(STORE, 1)[0], np.zeros(1, NUMBERS)[0])


def rule_of(name, edition):
    """The function of the name, or its variant in an edition."""
    return getattr(network, name if edition == "documented" else f"{name}_deployed", None) or getattr(network, name)


def of_link(name, edition, **said):
    """Result of one of the functions of a link, or of a task and a link, in an edition."""
    candidate, function = candidate_of(edition, **said), rule_of(name, edition)
    plain = getattr(function, "py_func", function)
    return function(*(getattr(candidate, argument) for argument in plain.__code__.co_varnames[
        :plain.__code__.co_argcount]))


def both(name, **said):
    """Documented and deployed."""
    return [of_link(name, edition, **said) for edition in EDITIONS]


def refused(name, **said):
    """Whether the criterion refuses, documented and deployed."""
    return [bool(answer[0]) for answer in both(name, **said)]


# ---- queued files --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("files", "documented", "deployed"), [
    pytest.param(0, 2.0, 2.0, id="nothing waits"),
    pytest.param(75, 1.75, 1.5, id="D44 a quarter of 300, half of 150"),
    pytest.param(150, 1.5, 1.0, id="D44 the code reaches 1 at NQUEUED_SAT_CAP"),
    pytest.param(300, 1.0, 0.0, id="D44 the plot reaches 1 at 300 files"),
    pytest.param(450, 1.0, -1.0, id="behind its end: the plot stays at 1, the code goes on"),
])
def test_d44_queued_weight(files, documented, deployed):
    assert both("queued_weight", queued_files=files) == pytest.approx([documented, deployed])


def test_d44_the_cap_scales_the_curve_of_the_code_only():
    assert both("queued_weight", queued_files=75, NQUEUED_SAT_CAP=300) == pytest.approx([1.75, 1.75])
    assert both("queued_weight", queued_files=75, NQUEUED_SAT_CAP=75) == pytest.approx([1.75, 1.0])
    assert both("queued_weight", queued_files=0, NQUEUED_SAT_CAP=0) == pytest.approx([2.0, 2.0])
    assert both("queued_weight", queued_files=3, NQUEUED_SAT_CAP=2) == pytest.approx([1.99, 0.5])
    assert both("queued_weight", queued_files=3, NQUEUED_SAT_CAP=1) == pytest.approx([1.99, -1.0])
    assert both("queued_weight", queued_files=3, NQUEUED_SAT_CAP=0) == pytest.approx([1.99, -1.0])


@pytest.mark.parametrize("edition", EDITIONS)
def test_express_tasks_count_express_files(edition):
    files = dict(queued_files=75, queued_express=15)
    assert of_link("queued_weight", edition, express=True, **files) > of_link("queued_weight", edition, **files)


# ---- throughput ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("mbps", "documented", "deployed"), [
    pytest.param(0.0, 1.0, 1.0, id="no throughput"), pytest.param(1.0, 1.0, 1.0, id="at 1"),
    pytest.param(1.01, 1.1, 1.1, id="above 1"), pytest.param(2.0, 1.1, 1.1, id="at 2"),
    pytest.param(2.01, 1.2, 1.2, id="above 2"), pytest.param(10.0, 1.2, 1.2, id="at 10"),
    pytest.param(10.1, 1.3, 1.3, id="above 10"), pytest.param(20.0, 1.3, 1.3, id="at 20"),
    pytest.param(20.1, 1.5, 1.5, id="above 20"), pytest.param(50.0, 1.5, 1.5, id="at 50"),
    pytest.param(50.1, 1.7, 1.6, id="D45 above 50"), pytest.param(75.0, 1.7, 1.6, id="D45 at 75"),
    pytest.param(75.1, 1.8, 1.8, id="above 75"), pytest.param(100.0, 1.8, 1.8, id="at 100"),
    pytest.param(100.1, 1.9, 1.9, id="above 100"), pytest.param(200.0, 1.9, 1.9, id="at 200"),
    pytest.param(200.1, 2.0, 2.0, id="above 200"), pytest.param(1e6, 2.0, 2.0, id="any more"),
])
def test_d45_throughput_weight(mbps, documented, deployed):
    assert both("throughput_weight", mbps_hour=mbps, mbps_day=mbps, mbps_week=mbps) == [documented, deployed]


@pytest.mark.parametrize(("hour", "day", "week", "documented", "deployed"), [
    pytest.param(1, 10, 100, 1, 1, id="the hour where all are known"),
    pytest.param(NAN, 10, 100, 10, 10, id="else the day"),
    pytest.param(NAN, NAN, 100, 100, 100, id="else the week"),
    pytest.param(NAN, NAN, NAN, NAN, NAN, id="nothing is known"),
    pytest.param(1, NAN, 100, 1, 100, id="D47 without the day the code does not look at the hour"),
    pytest.param(1, 10, NAN, 1, NAN, id="D47 without the week the code knows nothing"),
    pytest.param(1, NAN, NAN, 1, NAN, id="D47 the hour alone is enough as documented only"),
    pytest.param(NAN, 10, NAN, 10, NAN, id="D47 so is the day"),
    pytest.param(0, 10, 100, 0, 0, id="a throughput of 0 is known"),
])
def test_d47_which_throughput(hour, day, week, documented, deployed):
    found = both("throughput", mbps_hour=hour, mbps_day=day, mbps_week=week)
    assert found == pytest.approx([documented, deployed], nan_ok=True)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("closeness", "weight"), [
    pytest.param(0, 2.0, id="best"), pytest.param(11, 1.0, id="worst"), pytest.param(4, 1 + 7 / 11, id="between"),
    pytest.param(-2, 1.3, id="D48 a missing closeness is 7.7"),
])
def test_closeness_stands_in_for_the_throughput(edition, closeness, weight):
    assert of_link("throughput_weight", edition, closeness=closeness) == pytest.approx(weight)


# ---- the network weight --------------------------------------------------------------------------------------------

def mbps(value):
    """The same throughput in every window."""
    return dict(mbps_hour=value, mbps_day=value, mbps_week=value)


@pytest.mark.parametrize(("said", "deployed"), [
    pytest.param(dict(queued_files=75, **mbps(30)), 1.5, id="75 files and 30 MB/s"),
    pytest.param(dict(closeness=0), 2.0, id="an idle link of the best closeness"),
    pytest.param(dict(in_nucleus=True), 2.5, id="the nucleus"),
    pytest.param(dict(closeness=-2), 1.65, id="a queue without storage"),
    pytest.param(dict(queued_files=149, **mbps(250)), 0.5 * 1.00667 + 0.5 * 2, id="one file below the cap, 250 MB/s"),
])
def test_worked_numbers_of_the_code(said, deployed):
    assert of_link("network_weight", "deployed", **said) == pytest.approx(deployed, rel=1e-5)


@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(queued_files=30, **mbps(250)), 1.95, 1.9, id="both halves"),
    pytest.param(dict(queued_files=30, NW_QUEUE_IMPORTANCE=1, **mbps(5)), 1.55, 1.8,
                 id="D46 the code mixes by NW_QUEUE_IMPORTANCE: files alone"),
    pytest.param(dict(queued_files=30, NW_QUEUE_IMPORTANCE=0, **mbps(5)), 1.55, 1.2, id="D46 or throughput alone"),
    pytest.param(dict(in_nucleus=True, closeness=0), 2.0, 2.5, id="D46 the nucleus is special in the code only"),
    pytest.param(dict(in_nucleus=True, closeness=0, NW_QUEUE_IMPORTANCE=0.3), 2.0, 2.5, id="D46 however it mixes"),
    pytest.param(dict(sharing=True, closeness=11), 1.5, 2.5, id="D46 and so is a site that has its storage"),
])
def test_d46_how_both_are_mixed(said, documented, deployed):
    assert both("network_weight", **said) == pytest.approx([documented, deployed])


@pytest.mark.rule("network")
@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(), 1.5, 1.5, id="it is applied"),
    pytest.param(dict(NW_ACTIVE=False), 1.5, 1.0, id="D48 the code can turn it off, and does by default"),
    pytest.param(dict(has_nucleus=False), 1.0, 1.0, id="without nucleus there is no link"),
])
def test_d48_when_the_weight_is_applied(said, documented, deployed):
    assert both("network", **said) == pytest.approx([documented, deployed])


LINKS = st.fixed_dictionaries(dict(
    closeness=st.sampled_from([-2, *range(12)]), in_nucleus=st.booleans(), sharing=st.booleans(),
    queued_files=st.integers(0, 150), **{name: st.one_of(st.just(NAN), st.floats(0, 500)) for name in (
        "mbps_hour", "mbps_day", "mbps_week")}))


@pytest.mark.rule("network")
@given(LINKS, st.floats(0, 1))
def test_the_weight_lies_between_1_and_that_of_the_nucleus(link, importance):
    for edition, best in (("documented", 2.0), ("deployed", 2.5)):
        assert 1.0 - 1e-9 <= of_link("network", edition, NW_QUEUE_IMPORTANCE=importance, **link) <= best + 1e-9


@pytest.mark.rule("network")
@given(LINKS, st.integers(0, 150))
def test_more_waiting_files_never_make_it_better(link, more):
    for edition in EDITIONS:
        fuller = link | dict(queued_files=link["queued_files"] + more)
        assert of_link("network", edition, **fuller) <= of_link("network", edition, **link)


@pytest.mark.rule("network")
@given(st.floats(0, 500), st.floats(0, 500))
def test_more_throughput_never_makes_it_worse(one, other):
    for edition in EDITIONS:
        slow, fast = (of_link("network", edition, **mbps(value)) for value in sorted((one, other)))
        assert slow <= fast


# ---- express -------------------------------------------------------------------------------------------------------

@pytest.mark.rule("low_network_weight", "low_network_weight_deployed")
@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(closeness=0), False, False, id="2.0 is enough"),
    pytest.param(dict(closeness=11), True, True, id="1.5 is not"),
    pytest.param(dict(closeness=11, express=False), False, False, id="other tasks are not asked"),
    pytest.param(dict(closeness=11, has_nucleus=False), False, False, id="without nucleus there is no link"),
    pytest.param(dict(closeness=11, NW_ACTIVE=False), True, False, id="D48 the code asks only if NW_ACTIVE"),
    pytest.param(dict(closeness=11, NW_THRESHOLD=1.5), False, False, id="at the threshold is still fine"),
    pytest.param(dict(closeness=11, NW_THRESHOLD=3, NW_WEIGHT_MULTIPLIER=0.5), False, False, id="a multiplier of it"),
    pytest.param(dict(closeness=0, NW_WEIGHT_MULTIPLIER=1.2), True, True, id="a multiplier above 1"),
    pytest.param(dict(queued_express=149, **mbps(250)), False, True, id="D44 1.75 as documented, 1.503 in the code"),
    pytest.param(dict(in_nucleus=True, closeness=0, NW_THRESHOLD=2.2), True, False, id="D46 the nucleus has 2 or 2.5"),
])
def test_express_tasks_need_a_good_link(said, documented, deployed):
    assert refused("low_network_weight", **dict(express=True) | said) == [documented, deployed]


@pytest.mark.rule("low_network_weight", "low_network_weight_deployed")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_figures_of_an_express_refusal(edition):
    answer = of_link("low_network_weight", edition, express=True, NW_WEIGHT_MULTIPLIER=2)
    assert answer == (True, pytest.approx(1.5), pytest.approx(3.4))


# ---- the link filter -----------------------------------------------------------------------------------------------

@pytest.mark.rule("first_hit", "nucleus_full", "nucleus_full_deployed")
@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(nucleus_queued_files=9_999), False, False, id="below the cap"),
    pytest.param(dict(nucleus_queued_files=10_000), False, True, id="D25 at the cap the code refuses"),
    pytest.param(dict(nucleus_queued_files=10_001), True, True, id="above the cap"),
    pytest.param(dict(nucleus_queued_files=10_001, in_nucleus=True), True, False, id="D25 the code spares the nucleus"),
    pytest.param(dict(nucleus_queued_files=10_001, sharing=True), True, False, id="D25 and who has its storage"),
    pytest.param(dict(nucleus_queued_files=10_001, known=False), True, True, id="a link without a record is asked too"),
    pytest.param(dict(nucleus_queued_files=10_001, has_nucleus=False), False, False, id="no nucleus"),
])
def test_d25_files_on_their_way_to_the_nucleus(said, documented, deployed):
    assert refused("nucleus_full", **said) == [documented, deployed]


@pytest.mark.rule("first_hit", "link_full", "link_full_deployed")
@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(queued_files=149), False, False, id="below the cap"),
    pytest.param(dict(queued_files=150), False, True, id="D26 at the cap the code refuses"),
    pytest.param(dict(queued_files=151), True, True, id="over the cap"),
    pytest.param(dict(queued_files=299, NQUEUED_SAT_CAP=300), False, False, id="D26 the TWiki's 300 as a setting"),
    pytest.param(dict(queued_files=151, known=False), True, False, id="the code passes links without a record"),
    pytest.param(dict(queued_files=151, in_nucleus=True), False, False, id="the nucleus has no link to itself"),
    pytest.param(dict(queued_files=151, sharing=True), False, False, id="a shared storage needs none"),
    pytest.param(dict(queued_files=151, express=True), False, False, id="an express task looks at express files"),
    pytest.param(dict(queued_express=151, express=True), True, True, id="and at those only"),
    pytest.param(dict(queued_files=151, has_nucleus=False), False, False, id="no nucleus"),
])
def test_d26_files_on_the_link(said, documented, deployed):
    assert refused("link_full", **said) == [documented, deployed]


@pytest.mark.rule("first_hit", "nucleus_closed", "nucleus_closed_deployed")
@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(), False, False, id="both ways are open"),
    pytest.param(dict(nucleus_writable=False), True, True, id="the nucleus does not receive"),
    pytest.param(dict(nucleus_readable=False), True, False, id="D27 the code does not ask whether it sends"),
    pytest.param(dict(nucleus_writable=False, in_nucleus=True), False, False, id="its own queues need no WAN"),
    pytest.param(dict(nucleus_writable=False, has_nucleus=False), False, False, id="no nucleus"),
])
def test_d27_storage_of_the_nucleus(said, documented, deployed):
    assert refused("nucleus_closed", **said) == [documented, deployed]


@pytest.mark.rule("first_hit", "link_blocked", "link_blocked_deployed")
@pytest.mark.parametrize(("said", "documented", "deployed"), [
    pytest.param(dict(closeness=-1), True, True, id="blocked"),
    pytest.param(dict(closeness=-2), False, False, id="unknown is not blocked"),
    pytest.param(dict(closeness=11), False, False, id="far is not blocked"),
    pytest.param(dict(closeness=-1, known=False), True, False, id="the code passes links without a record"),
    pytest.param(dict(closeness=-1, in_nucleus=True), False, False, id="the nucleus itself"),
    pytest.param(dict(closeness=-1, nucleus_writable=False), True, False,
                 id="in the code the first hit counts: refused for the nucleus, at the end"),
    pytest.param(dict(closeness=-1, nucleus_queued_files=10**6), True, False, id="or for the files that wait for it"),
])
def test_blocked_links(said, documented, deployed):
    assert refused("link_blocked", **said) == [documented, deployed]


@pytest.mark.rule("first_hit", "nucleus_closed", "nucleus_full", "link_blocked", "link_full",
                  "nucleus_closed_deployed", "nucleus_full_deployed", "link_blocked_deployed", "link_full_deployed")
@given(LINKS, st.booleans(), st.sampled_from([0, 10_000]), st.sampled_from([-1, 5]), st.booleans())
def test_the_code_names_one_reason_at_most(link, writable, files, closeness, known):
    said = link | dict(nucleus_writable=writable, nucleus_queued_files=files, closeness=closeness, known=known)
    hits = [refused(name, **said)[1] for name in ("nucleus_closed", "nucleus_full", "link_blocked", "link_full")]
    assert sum(hits) <= 1


@pytest.mark.parametrize("edition", EDITIONS)
def test_only_blocked_links_are_refused_at_once(edition):
    rules = {name: rule_of(name, edition).rule
             for name in ("nucleus_closed", "nucleus_full", "link_blocked", "link_full")}
    assert [name for name, rule in rules.items() if not rule.temporary] == ["link_blocked"]
    assert all(rule.editions == (edition,) for rule in rules.values())
