"""Workflows, Harvester's limits and nodes that cannot be meant are refused, with the nearest name."""

import pytest
from builders import scenario

from simgrid_broker.errors import ScenarioError

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
