"""Records of what held work back: requests without a job, jobs passed over, cycles of the throttler and of Harvester,
and the work that tasks hold on the hour."""

import numpy as np
import pytest
from builders import Stage, T, put_task, scenario

from simgrid_broker.agents.harvester.workers import WORKERS_ASKED, harvester_submitter
from simgrid_broker.agents.jedi.job_generator import THROTTLER, job_generator
from simgrid_broker.agents.run.samples import sampler
from simgrid_broker.ledgers.hourly_sums import HourlySums
from simgrid_broker.policy.harvester import CUT_BY
from simgrid_broker.units import HOUR
from simgrid_broker.world.series import BACKLOG, backlog

UNIFIED = dict(atlas_site="HERE", capability="ucore", corecount=8, maxrss=16_000)
TYPES = dict(SCORE=dict(mincore=1, maxcore=1, maxrampercore=2000), MCORE=dict(mincore=2, maxrampercore=2000))


@pytest.mark.parametrize(("waiting", "ram_mb", "expected"), [
    pytest.param(None, 0, {"no_job": 1}, id="no job waits"),
    pytest.param(1, 0, {"other_type": 1}, id="a job of another type waits"),
    pytest.param(0, 9_000, {"none_suits": 1, "more_memory": 1}, id="a job waits that asks for more memory"),
    pytest.param(0, 100, {}, id="the worker gets the job"),
])
def test_a_request_without_a_job_is_counted_by_its_reason(waiting, ram_mb, expected):
    stage = Stage((sampler,), scenario(queues={"U": UNIFIED}, resource_types=TYPES), dict(n_jobs=5))
    stage.run(1.0)
    if waiting is not None:
        stage.submit(queue=waiting, ram_mb=ram_mb)
    stage.workers(queue=0)
    stage.run(700.0)
    rows = stage.recorded("workers")
    assert {name: int(rows[name].sum()) for name in rows.dtype.names
            if name in ("no_job", "other_type", "none_suits", "more_memory") and rows[name].sum()} == expected


@pytest.mark.parametrize(("params", "asked", "cut_by", "submitted"), [
    pytest.param({}, 3, "", 3, id="nothing cuts what is asked"),
    pytest.param({"maxWorkers": 2}, 3, "maxWorkers", 2, id="workers in all"),
    pytest.param({"nQueueLimitWorker": 1}, 3, "nQueueLimitWorker", 1, id="workers that wait"),
    pytest.param({"maxNewWorkersPerCycle": 2}, 3, "maxNewWorkersPerCycle", 2, id="workers of a cycle"),
])
def test_workers_that_harvester_cuts_are_counted_by_limit(params, asked, cut_by, submitted):
    queues = {"U": UNIFIED | dict(params=params)}
    stage = Stage((harvester_submitter,), scenario(queues=queues, resource_types=TYPES,
                                                   agents=dict(harvester_submitter=HOUR)))
    stage.control.books.harvester.asked[0, 1] = asked
    stage.run(HOUR)
    stage.control.books.record_the_rest()
    row, = stage.recorded("workers_asked")
    word = "" if row["cut_by"] < 0 else CUT_BY[row["cut_by"]]
    assert (word, row["resource_type"], row["wanted"], row["submitted"]) == (cut_by, 1, asked, submitted)
    assert WORKERS_ASKED.dtype == row.dtype


def test_sums_are_of_whole_hours_in_the_order_of_their_keys():
    written, keys = [], []
    sums = HourlySums(BACKLOG, lambda name, rows: written.append((name, rows)),
                      lambda: ((key, (1, 0, 0, 0, 0)) for key in keys))
    for moment, share in ((10.0, 1), (20.0, 0), (30.0, 1), (HOUR, 1)):
        sums.add(moment, (share, 0, 0, 0, 0), (1, 2.0, 0, 0, 0))
    keys.append((0, 0, 0, 0, 0))
    sums.flush()
    keys.clear()
    sums.flush()
    assert [(name, rows[["time_s", "share", "tasks", "jobs"]].tolist()) for name, rows in written] == [
        ("backlog", [(0.0, 0, 1, 2.0), (0.0, 1, 2, 4.0)]), ("backlog", [(HOUR, 0, 1, 0.0), (HOUR, 1, 1, 2.0)])]


@pytest.mark.parametrize(("config", "verdict", "skip", "key"), [
    pytest.param({}, "jobs are lacking", 0, "", id="jobs are made"),
    pytest.param({"JOB_SUBMISSION": False}, "jobs are not generated", 1, "JOB_SUBMISSION", id="generation is off"),
])
def test_cycles_of_the_throttler_are_recorded_with_their_key(config, verdict, skip, key):
    stage = Stage((job_generator,), scenario(gdpconfig=config), dict(n_jobs=3))
    put_task(stage, 0, T.READY)
    stage.control.books.live_tasks.add([0])
    stage.run(HOUR)
    stage.control.books.record_the_rest()
    texts, rows = stage.world.vocabularies["texts"], stage.recorded("throttler")
    assert rows.dtype == THROTTLER.dtype
    assert {texts[row["verdict"]] for row in rows} == {verdict} and set(rows["skip"]) == {skip}
    assert {"" if row["key"] < 0 else texts[row["key"]] for row in rows} == {key}
    assert rows["made"].sum() == (0 if skip else 3) == len(stage.live())


@pytest.mark.parametrize(("said", "status", "expected"), [
    pytest.param(dict(n_jobs=4, corecount=8), T.READY, (4, 32, 0, 0), id="ready input of 8-core jobs"),
    pytest.param(dict(n_jobs=3, corecount=0), T.READY, (3, 24, 0, 0), id="any cores count as eight"),
    pytest.param(dict(split=dict(n_files=20, nfilesperjob=5, events_per_file=1)), T.PENDING, (4, 4, 0, 0),
                 id="five files make a job"),
])
def test_work_of_tasks_is_counted_in_cores(said, status, expected):
    stage = Stage((), scenario(), said)
    put_task(stage, 0, status)
    row, = backlog(stage.arrays, np.array([0]), 7.0, {})
    assert (row["jobs"], row["ready_cores"], row["input_cores"], row["scouts_cores"]) == expected
    assert row["status"] == status and row["time_s"] == 7.0
