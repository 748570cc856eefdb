"""What Harvester knows of the queues and when, what the server says to it, and what it submits."""

import numpy as np
import pytest
from builders import S, Stage, put_job, scenario

from simgrid_broker.agents.harvester.harvester import CACHE_S
from simgrid_broker.agents.harvester.workers import harvester_submitter, job_fetcher
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming, streaming_options
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.names import QueueStatus

TYPES = dict(SCORE=dict(mincore=1, maxcore=1, maxrampercore=2000), MCORE=dict(mincore=2, maxrampercore=2000),
             SCORE_HIMEM=dict(mincore=1, maxcore=1, minrampercore=2001))
UNIFIED = dict(atlas_site="HERE", capability="ucore", corecount=8, maxrss=16_000)
LONG = dict(work_hs06s_per_event=1e7, n_jobs=100)


def stage_of(agents=(), cores=0, **workflows) -> Stage:
    """A site of some cores with a unified queue of each name, by its workflow."""
    queues = {name: UNIFIED | dict(workflow=workflow) for name, workflow in workflows.items()}
    return Stage(agents, scenario({"HERE": dict(cores=cores)}, queues, resource_types=TYPES), LONG)


@pytest.mark.rule("streaming_options")
def test_options_are_read_type_by_type_and_only_at_unified_queues():
    params = {"ups_core_target": 80, "resource_type_limits.MCORE": 5, "resource_type_limits.HIMEM": 16}
    plan = scenario({"HERE": {}}, {"U": UNIFIED | dict(params=params), "PLAIN": dict(atlas_site="HERE", params=params),
                                   "FREE": UNIFIED}, resource_types=TYPES)
    found = streaming_options(plan.grid.queues.values(), plan.resource_types)
    assert found["core_target"].tolist() == [80, 0, 0]
    assert found["limit_of_type"].tolist() == [[np.inf, 5, np.inf], [np.inf] * 3, [np.inf] * 3]
    assert found["high_memory_limit"].tolist() == [16, np.inf, np.inf]
    assert found["high_memory"].tolist() == [False, False, True]


@pytest.mark.rule("Harvester.look")
@pytest.mark.parametrize(("workflows", "asked", "looks"), [
    pytest.param(dict(A="pull_ups", B="push"), 0, False, id="nothing is asked for"),
    pytest.param(dict(A="pull_ups", B="push"), 1, True, id="the server asks for a worker of one type"),
    pytest.param(dict(A="pull_ups", B="pull"), 0, True, id="a pull queue counts its jobs itself"),
    pytest.param(dict(A="pull"), 0, True, id="all queues do"),
])
def test_harvester_looks_where_workers_may_be_needed(workflows, asked, looks):
    harvester = stage_of(**workflows).control.books.harvester
    harvester.asked[0, 0] = asked
    assert (harvester.look(0.0) is not None) is looks


@pytest.mark.rule("Harvester.look")
@pytest.mark.parametrize(("now", "status", "activated"), [
    pytest.param(CACHE_S - 1, "online", 0, id="a second younger: as it was"),
    pytest.param(CACHE_S, "offline", 1, id="ten minutes old: read again"),
])
def test_statuses_and_activated_jobs_are_ten_minutes_old(now, status, activated):
    stage = stage_of(Q="pull")
    harvester = stage.control.books.harvester
    harvester.look(0.0)
    stage.arrays.queues["status"][0] = QueueStatus.OFFLINE
    put_activated(stage.arrays, put_job(stage, S.ACTIVATED))
    seen = harvester.look(now)
    assert [QueueStatus(seen.status[0]).word, seen.activated[0]] == [status, activated]


@pytest.mark.rule("harvester_submitter")
def test_a_push_queue_gets_a_worker_for_each_job_beside_a_queue_for_which_the_server_asks():
    stage = stage_of((job_fetcher, harvester_submitter), PUSH="push", STREAM="pull_ups")
    stage.submit(3, queue=0)
    stage.control.books.harvester.asked[1] = 0, 2, 4
    stage.run(300.0)
    assert stage.arrays.pseudo_queues["n_submitted"].tolist() == [3, 0, 0, 0, 2, 4]
    assert stage.arrays.worker_accounts["n_ever"].tolist() == [3, 0, 0, 0, 2, 4]
    assert not stage.control.books.harvester.asked.any()


@pytest.mark.rule("harvester_submitter", "Harvester.look")
def test_nothing_is_submitted_where_nothing_is_asked_for():
    stage = stage_of((harvester_submitter,), PUSH="push", STREAM="pull_ups")
    stage.run(300.0)
    assert not stage.arrays.worker_accounts["n_ever"].any()


@pytest.mark.rule("Harvester.look")
def test_the_server_asks_streaming_queues_alone():
    stage = stage_of((pilot_streaming,), PUSH="push", PULL="pull", STREAM="pull_ups")
    stage.run(301.0)
    assert stage.control.books.harvester.asked.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]

