"""Jumbo jobs, direct reading, network and event service: what the worker nodes of a queue offer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import job_case, queues, task

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.production import requirements as c
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.rule import Answer, refused_of


def refused(rule, fields, edition="documented", **columns):
    """What a criterion says about one queue with these columns."""
    view = queues(1, **{k: (v,) if isinstance(v, str) else np.array([v]) for k, v in columns.items()})
    return bool(refused_of(rule(job_case(task(**fields), view, edition)))[0])


@pytest.mark.rule("kept_for_jumbo", "too_few_events")
@pytest.mark.parametrize(("fields", "queue", "jumbo", "fewevents"), [
    pytest.param({}, {"use_jumbo_jobs": True}, True, False, id="D23 a jumbo queue and a normal task"),
    pytest.param({}, {"use_jumbo_jobs": False}, False, False, id="a normal queue and a normal task"),
    pytest.param({"preassigned": (0,)}, {"use_jumbo_jobs": True}, False, False, id="a jumbo queue that the task names"),
    pytest.param({"jumbo_events": 100}, {"use_jumbo_jobs": True}, False, False, id="a jumbo queue and a jumbo task"),
    pytest.param({"jumbo_events": 100}, {"use_jumbo_jobs": True, "min_events_for_jumbo": 100}, False, False,
                 id="exactly as many events as asked for"),
    pytest.param({"jumbo_events": 99}, {"use_jumbo_jobs": True, "min_events_for_jumbo": 100}, False, True,
                 id="one event too few"),
    pytest.param({"jumbo_events": 0}, {"use_jumbo_jobs": True, "min_events_for_jumbo": 1}, False, True,
                 id="a jumbo task without ready events"),
    pytest.param({"jumbo_events": 0}, {"use_jumbo_jobs": False, "min_events_for_jumbo": 100}, False, False,
                 id="a normal queue asks for no number"),
    pytest.param({"jumbo_events": 0, "preassigned": (0,)}, {"use_jumbo_jobs": True, "min_events_for_jumbo": 100},
                 False, False, id="nor does one that the task names"),
])
def test_jumbo_jobs(fields, queue, jumbo, fewevents):
    assert refused(c.kept_for_jumbo, fields, "deployed", **queue) is jumbo
    assert refused(c.too_few_events, fields, "deployed", **queue) is fewevents


def test_d23_only_the_code_asks_about_jumbo_jobs():
    tags = {edition: set(PRODUCTION[edition].tags) for edition in EDITIONS}
    assert tags["deployed"] >= {"-jumbo", "-fewevents"} and not tags["documented"] & {"-jumbo", "-fewevents"}


@pytest.mark.rule("too_few_events")
def test_few_events_are_told_with_both_figures():
    view = queues(1, use_jumbo_jobs=np.array([True]), min_events_for_jumbo=np.array([1000.0]))
    answer = c.too_few_events(job_case(task(jumbo_events=10), view))
    assert isinstance(answer, Answer) and (answer.value, answer.limit.tolist()) == (10, [1000.0])


@pytest.mark.rule("only_copies")
@pytest.mark.parametrize(("fields", "direct", "documented", "deployed"), [
    pytest.param({"allowinputlan": "only"}, False, True, True, id="only direct access, and there is none"),
    pytest.param({"allowinputlan": "only"}, True, False, False, id="only direct access, and there is"),
    pytest.param({"allowinputlan": "use"}, False, False, False, id="direct access if there is"),
    pytest.param({}, False, False, False, id="the task says nothing"),
    pytest.param({"allowinputlan": "only", "is_merging": True}, False, True, False, id="the code spares merge jobs"),
])
def test_direct_access(fields, direct, documented, deployed):
    assert refused(c.only_copies, fields, direct_io=direct) is documented
    assert refused(c.only_copies, fields, "deployed", direct_io=direct) is deployed


@pytest.mark.rule("network_mismatch")
@pytest.mark.parametrize(("offered", "asked", "documented", "deployed"), [
    pytest.param("none", "", True, True, id="nothing asked for"),
    pytest.param("full", "full", True, True, id="full takes full"),
    pytest.param("full", "http", True, True, id="full takes http"),
    pytest.param("full", "none", True, True, id="full takes none"),
    pytest.param("http", "full", False, False, id="http is not full"),
    pytest.param("http", "http", True, True, id="http takes http"),
    pytest.param("http", "none", True, True, id="http takes none"),
    pytest.param("none", "full", False, False, id="none is not full"),
    pytest.param("none", "http", False, False, id="none is not http"),
    pytest.param("none", "none", True, True, id="none takes none"),
    pytest.param("", "none", False, True, id="D24 none asks for nothing in the code"),
    pytest.param("full#IPv4", "full#IPv4", True, True, id="the same stack"),
    pytest.param("full#IPv4", "full#IPv6", False, False, id="another stack"),
    pytest.param("full", "full#IPv4", False, False, id="a stack asked for and not published"),
    pytest.param("full#IPv4", "full", False, True, id="as documented a stack takes only tasks that ask for it"),
    pytest.param("full#IPv6", "#IPv6", True, True, id="a stack alone"),
    pytest.param("none#IPv6", "none#IPv6", True, True, id="D24 of none the code keeps the stack"),
    pytest.param("none#IPv4", "none#IPv6", False, False, id="D24 of none the code keeps the stack and compares it"),
])
def test_d24_network(offered, asked, documented, deployed):
    for edition, passes in (("documented", documented), ("deployed", deployed)):
        assert refused(c.network_mismatch, {"ipconnectivity": asked}, edition, wnconnectivity=offered) is not passes
        spared = edition == "deployed"                                           # if the task names the queue
        assert refused(c.network_mismatch, {"ipconnectivity": asked, "preassigned": (0,)}, edition,
                       wnconnectivity=offered) is not (passes or spared)


@pytest.mark.rule("network_mismatch")
def test_without_a_word_every_queue_has_the_full_network():
    for edition in EDITIONS:
        assert not refused(c.network_mismatch, {"ipconnectivity": "full"}, edition)


networks, stacks = st.sampled_from(["full", "http", "none"]), st.sampled_from(["", "#IPv4", "#IPv6"])


@given(networks, stacks, networks, stacks)
def test_what_a_lesser_network_takes_a_better_one_takes_too(offered, stack, asked, wanted):
    for edition in EDITIONS:
        if c.ACCEPTS[edition](offered + stack, asked + wanted):
            assert c.ACCEPTS[edition]("full" + stack, asked + wanted)


ES = {"event_service": True}
CLONES = {"event_service": True, "job_cloning": True}
EVENT_SERVICE = (c.without_event_service, c.kept_for_high_event_service, c.single_core_of_unified, c.only_event_service)


@pytest.mark.rule("without_event_service", "kept_for_high_event_service", "only_event_service")
@pytest.mark.parametrize(("fields", "seed", "tag"), [
    pytest.param({}, "std", None, id="a normal task at a normal queue"),
    pytest.param({}, "es", "-nones", id="a normal task at a queue for event service"),
    pytest.param({}, "eshigh", None, id="a normal task at a queue for high event service"),
    pytest.param({}, "all", None, id="a normal task at a queue for all"),
    pytest.param(ES, "std", "-es", id="event service at a normal queue"),
    pytest.param(ES, "es", None, id="event service where it belongs"),
    pytest.param(ES, "all", None, id="event service at a queue for all"),
    pytest.param(ES | {"currentpriority": 899}, "eshigh", "-eshigh", id="just below high priority"),
    pytest.param(ES | {"currentpriority": 900}, "eshigh", None, id="high priority"),
    pytest.param(ES | {"is_scout": True}, "eshigh", None, id="scouts count as high"),
    pytest.param(CLONES, "std", None, id="clones are normal jobs"),
    pytest.param(CLONES, "es", "-nones", id="and so refused where only event service may run"),
    pytest.param(ES | {"preassigned": (0,)}, "std", "-es", id="a queue that the task names"),
    pytest.param({"preassigned": (0,)}, "es", "-nones", id="a queue that a normal task names"),
])
def test_event_service(fields, seed, tag):
    for edition in EDITIONS:
        said = [rule.rule.tag for rule in EVENT_SERVICE if refused(rule, fields, edition, jobseed=seed)]
        spared = edition == "deployed" and "preassigned" in fields
        assert said == ([] if tag is None or spared else [tag])


@pytest.mark.rule("single_core_of_unified")
@pytest.mark.parametrize(("fields", "resource_type", "corecount", "refuses"), [
    pytest.param(ES, 0, 1, True, id="a single-core pseudo-queue"),
    pytest.param(ES, 0, 8, False, id="a multi-core pseudo-queue"),
    pytest.param(ES, -1, 1, False, id="a queue that is not unified"),
    pytest.param({}, 0, 1, False, id="a normal task"),
])
def test_event_service_at_unified_queues(fields, resource_type, corecount, refuses):
    assert refused(c.single_core_of_unified, fields, resource_type=resource_type, corecount=corecount) is refuses


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_criteria_stand_in_the_order_of_the_documents(edition):
    tags = PRODUCTION[edition].funnel.tags
    order = ["-preassign", "-status", "-zeroshare", "-jumbo", "-fewevents", "-cpucore", "-max_cpucore", "-cache",
             "-lowmemory", "-highmemory", "-remoteio", "-disk", "-longwalltime", "-network", "-es", "-eshigh",
             "-es_ucore", "-nones"]
    places = [tags.index(tag) for tag in order if tag in tags]
    assert places == sorted(places) and len(places) >= len(order) - 2
