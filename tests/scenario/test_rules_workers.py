"""Workflows, Harvester's limits and nodes that cannot be meant are refused, with the nearest name."""

import pytest
from builders import scenario

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario.checks.workers import option_unread, slots_below_all_types

FINE = dict(nQueueLimitWorker=1, nQueueLimitWorkerRatio=0.5, maxWorkers="7", nQueueLimitJobCoresRatio=10)


def refusal(queue: dict, site: dict | None = None, **others) -> str:
    """What is said about a grid with one queue; empty if nothing is."""
    try:
        scenario({"HERE": site or {}}, {"Q": dict(atlas_site="HERE") | queue}, **others)
    except ScenarioError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("queue", "words"), [
    pytest.param(dict(params=FINE), (), id="limits at their least"),
    pytest.param(dict(params=dict(nQueueLimitWorker=0)), ("Q.params.nQueueLimitWorker = 0", "from 1 on"), id="none"),
    pytest.param(dict(params=dict(maxWorkers=0.5)), ("maxWorkers = 0.5", "from 1 on"), id="half a worker"),
    pytest.param(dict(params=dict(maxWorkers="many")), ("maxWorkers = 'many'",), id="no number"),
    pytest.param(dict(params=dict(nQueueLimitWorkerRatio=0)), ("percent above 0",), id="no percent"),
    pytest.param(dict(params=dict(nQueueLimitWorkers=9)), ("unknown option", "nQueueLimitWorker"), id="misspelled"),
    pytest.param({"params": {"resource_type_limits.SCORE": 0}}, (), id="a type that is closed"),
    pytest.param({"params": {"resource_type_limits.SCORE": 0.5}}, ("limits.SCORE = 0.5", "from 1 on"), id="half"),
    pytest.param({"params": {"resource_type_limits": {"SCORE": -1}}}, ("limits.SCORE = -1",), id="as CRIC nests it"),
    pytest.param({"params": {"resource_type_limits": {"HIMEM": "x"}}}, ("limits.HIMEM = 'x'",), id="no cores"),
    pytest.param(dict(params=dict(activateWorkerFactor="auto", nCoreFactor=0.5)), (), id="factors"),
    pytest.param(dict(params=dict(nCoreFactor="auto")), (), id="one over one"),
    pytest.param(dict(params=dict(nCoreFactor=0)), ("nCoreFactor = 0", "above 0, or auto"), id="no factor"),
    pytest.param(dict(params=dict(ups_core_target=0)), (), id="no target of cores"),
    pytest.param(dict(params=dict(ups_core_target=-1)), ("ups_core_target = -1", "0 or above"), id="a negative target"),
    pytest.param(dict(workflow="pul_ups"), ("pul_ups", "did you mean 'pull_ups'"), id="no workflow of CRIC"),
    pytest.param(dict(workflow=None), (), id="no workflow"),
    pytest.param(dict(workflow="push_noheartbeat"), (), id="a push workflow"),
])
def test_options_of_a_queue(queue, words):
    said = refusal(queue)
    assert bool(said) == bool(words) and all(word in said for word in words)


def test_streaming_needs_resource_types():
    assert "at least one resource type is needed" in refusal(dict(capability="ucore"), resource_types={})


@pytest.mark.parametrize(("cores", "refused"), [(4, False), (3, True)])
def test_a_slot_fits_a_node(cores, refused):
    said = refusal(dict(capability="mcore", corecount=4), dict(cores=8, node=dict(cores=cores)))
    assert ("must not exceed the 3 cores of a node" in said) == refused


def test_nested_options_count_as_flat_ones():
    plan = scenario({"HERE": {}}, {"Q": dict(atlas_site="HERE", params={"resource_type_limits": {"SCORE": 3}})})
    assert plan.grid.queues["Q"].params == {"resource_type_limits.SCORE": 3}
    plan = plan.with_values({"grid.queues.Q.params.resource_type_limits.MCORE": 4})
    assert plan.grid.queues["Q"].params == {"resource_type_limits.SCORE": 3, "resource_type_limits.MCORE": 4}


@pytest.mark.parametrize(("option", "words"), [
    pytest.param("maxWorkers", (), id="read"),
    pytest.param("use_only_local_data", (), id="read by the broker"),
    pytest.param("resource_type_limits.SCORE", (), id="read by streaming"),
    pytest.param("maxWorkrs", ("Option maxWorkrs in params of 1 queue(s)", "'maxWorkers'"), id="misspelled"),
    pytest.param("resource_type_limits.SCOR", ("did you mean 'resource_type_limits.SCORE'",), id="no type"),
    pytest.param("resource_type_limits.SCORE_VHIMEM", ("does not have", "SCORE_VHIMEM (1)"), id="not in use"),
    pytest.param("pilot_rss_grace", ("nothing here reads", "pilot_rss_grace (1)"), id="of pilots"),
])
def test_options_that_nothing_reads_are_remarked(option, words):
    said = list(option_unread(scenario({"HERE": {}}, {"Q": dict(atlas_site="HERE", params={option: 5})})))
    assert bool(said) == bool(words) and all(word in said[0] for word in words)


@pytest.mark.parametrize(("corecount", "capability", "types", "said"), [
    (7, "ucore", dict(MCORE=dict(mincore=8), MCORE_HIMEM=dict(mincore=16)), "mincore of 8"),
    (8, "ucore", dict(MCORE=dict(mincore=8), MCORE_HIMEM=dict(mincore=16)), ""),
    (1, "ucore", dict(SCORE=dict(maxcore=1), MCORE=dict(mincore=8)), ""),
    (7, "mcore", dict(MCORE=dict(mincore=8)), ""),
])
def test_slots_below_all_resource_types_are_remarked(corecount, capability, types, said):
    queue = dict(atlas_site="HERE", capability=capability, corecount=corecount)
    notes = list(slots_below_all_types(scenario({"HERE": dict(cores=64)}, {"Q": queue}, resource_types=types)))
    assert len(notes) == bool(said) and all(said in note for note in notes)
