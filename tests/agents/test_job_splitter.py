"""The JobSplitter: which files of a task become which jobs at which queues."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from builders import Stage, everyone, scenario

from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.job_splitter import JobSplitter, splitting_of
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.jobs import setupper
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.names import ClosedBy
from simgrid_broker.policy.tasks.cutting import CUT
from simgrid_broker.units import HOUR
from simgrid_broker.world.views import observe

GENERATION = (task_source, task_refiner, statistics, job_generator, setupper)
FILES = dict(n_files=60, events_per_file=100, file_bytes=1e9)
TASK = dict(label="user", cputime=10.0, cpuefficiency=100.0, n_events_per_job=100, input_bytes_per_job=1e9)
"""Files of 100 s at a core of power 10; analysis tasks are ready at once, without a nucleus."""


def stage(said=None, order=(0,), files=None, weight=1.0, **plan):
    """A stage on which every job goes to one of the queues in `order`; with weight 0 each gets one block."""
    made = Stage(GENERATION, scenario(agents=dict(task_refiner=10), **plan), TASK | dict(split=FILES | (files or {}))
                 | (said or {}))
    n = len(made.control.brokers.queues.queue)
    made.control.policies.job_brokerage = lambda *_: replace(
        everyone(n), order=np.array(order), weight=np.full(n, weight))
    return made


def jobs(stage):
    """Columns of the jobs that were made."""
    rows = stage.arrays.jobs[stage.live()]
    return [(int(row["queue"]), int(row["n_chunks"]), ClosedBy(row["closed_by"]).word) for row in rows]


@pytest.mark.parametrize(("files", "queue", "sizes"), [
    pytest.param({}, dict(maxtime=1000), {10: "walltime"}, id="maxtime of the queue"),
    pytest.param(dict(maxwalltime=500 / 3600), dict(maxtime=1000), {5: "walltime"}, id="maxWalltime of the task"),
    pytest.param(dict(nfilesperjob=4), dict(maxtime=1000), {4: "files"}, id="nFilesPerJob"),
    pytest.param(dict(neventsperjob=300), {}, {3: "events"}, id="nEventsPerJob"),
    pytest.param(dict(nmaxfilesperjob=20, file_bytes=1e8), {}, {20: "files"}, id="nMaxFilesPerJob"),
    pytest.param(dict(files_per_lumiblock=6), {}, {6: "boundary"}, id="lumi blocks"),
    pytest.param({}, dict(maxwdir="12 GB"), {10: "size"}, id="scratch disk"),
])
def test_jobs_are_cut_at_a_limit(files, queue, sizes):
    plan = dict(queues=dict(HERE=dict(atlas_site="HERE") | queue))
    found = stage(files=files, **plan)
    found.run(1 * HOUR)
    size, = sizes
    made = jobs(found)
    assert sum(n for _, n, _ in made) == 60
    assert {(n, why) for _, n, why in made[:-1]} == {(size, sizes[size])}
    found.check()


def test_each_queue_gets_jobs_of_its_size():
    plan = dict(queues=dict(SHORT=dict(atlas_site="HERE", maxtime=200), LONG=dict(atlas_site="HERE", maxtime=1000)))
    found = stage(order=(0, 1), weight=0.0, files=dict(n_files=300), **plan)
    found.run(1 * HOUR)
    made = jobs(found)
    assert {(queue, n) for queue, n, _ in made[:-1]} == {(0, 2), (1, 10)}
    assert sum(n for _, n, _ in made) == 300


@pytest.mark.rule("JobSplitter._is_incomplete")
@pytest.mark.parametrize(("gdpconfig", "first"), [
    pytest.param({}, 1260, id="five files for each of 250 jobs, and ten more"),
    pytest.param({"NFILES_All": 250}, 250, id="NFILES of the work queue"),
    pytest.param({"TYPNFILES_user__simul": 1}, 260, id="TYPNFILES: one file"),
])
def test_files_read_in_a_cycle(gdpconfig, first):
    """The last job of a cycle gets the files that it lacks in the next, when more have been read."""
    found = stage(files=dict(n_files=5000, nmaxfilesperjob=7), gdpconfig=gdpconfig)
    cycle = found.control.periods.job_generator
    found.run(1.5 * cycle)
    made = jobs(found)
    assert {n for _, n, _ in made} == {7}
    assert sum(n for _, n, _ in made) == (first - 1) // 7 * 7


@pytest.mark.rule("JobSplitter._is_incomplete")
def test_a_job_larger_than_what_is_read_in_a_cycle_is_made_all_the_same():
    found = stage(files=dict(n_files=500, nmaxfilesperjob=900, file_bytes=1e6), gdpconfig={"NFILES_All": 100},
                  shares=[dict(name="All", value=1, throttled=False)])
    found.run(3 * HOUR)
    assert {n for _, n, _ in jobs(found)} == {100}
    assert sum(n for _, n, _ in jobs(found)) == 500


@pytest.mark.rule("JobSplitter._is_incomplete")
def test_the_last_job_of_a_dataset_gets_the_files_that_are_left():
    found = stage(files=dict(n_files=38, nmaxfilesperjob=7))
    found.run(1.5 * found.control.periods.job_generator)
    assert sorted(n for _, n, _ in jobs(found)) == [3, *[7] * 5]


@pytest.mark.rule("JobSplitter._is_incomplete")
@pytest.mark.parametrize(("retry", "unit", "expected"), [
    pytest.param(-1, 36, True, id="one file is left"), pytest.param(-1, 37, False, id="none is"),
    pytest.param(0, 36, False, id="of files that are tried again"),
])
def test_a_job_that_might_get_more_files_waits(retry, unit, expected):
    found = SimpleNamespace(control=stage(files=dict(n_files=38)).control)
    made = np.zeros(1, CUT)
    made["count"], made["closed_by"] = 1, ClosedBy.END
    last = np.array([(retry, unit)], [("retry", "i8"), ("unit", "i8")])
    assert JobSplitter._is_incomplete(found, 0, last, 1, made) is expected


def test_brokers_see_the_smallest_job():
    found = stage(files=dict(nfilesperjob=4))
    task = observe.task(found.world, 0)
    assert (task.n_events_per_job, task.n_files_per_job, task.input_bytes_per_job) == (400, 4, 4e9)
    found = stage(files=dict(nfilesperjob=4, neventsperjob=1000))
    assert observe.task(found.world, 0).n_events_per_job == 100


@pytest.mark.rule("beside_of")
def test_secondary_files_go_with_the_jobs():
    found = stage(files=dict(nfilesperjob=4, secondary_ratio=1.5, secondary_bytes=2e6, file_bytes=1e6))
    found.run(HOUR)
    rows = found.arrays.jobs[found.live()]
    assert set(rows["n_input_files"].tolist()) == {10} and set(rows["input_bytes"].tolist()) == {4e6 + 6 * 2e6}


@pytest.mark.rule("beside_of")
def test_further_secondary_datasets_of_a_stream():
    more = [dict(np=2, file_size=7e6), dict(nosplit=True, files=3, file_size=1e3),
            dict(er=0.5, events_per_file=100, file_size=10.0)]
    stream = dict(name="task", hs06sec_per_event=1, input=dict(files=400, secondaries=more))
    found = stage(files=dict(nfilesperjob=4, file_bytes=1e6), workload=dict(campaigns=[stream]))
    found.run(HOUR)
    rows = found.arrays.jobs[found.live()]
    assert set(rows["n_input_files"].tolist()) == {4 + 2 + 3 + 2}
    assert set(rows["input_bytes"].tolist()) == {4e6 + 14e6 + 3e3 + 20.0}


@pytest.mark.rule("beside_of")
@pytest.mark.parametrize(("ratio", "beside"), [(1, {5}), (0.5, {3, 2}), (2, {10})])
def test_a_job_reads_the_secondary_files_of_its_boundary(ratio, beside):
    found = stage(files=dict(neventsperjob=200, groupboundaryid=3, files_per_boundary=5, secondary_ratio=ratio,
                             n_files=20))
    found.run(HOUR)
    rows = found.arrays.jobs[found.live()]
    assert set(rows["n_chunks"].tolist()) == {5} and {*(rows["n_input_files"] - 5).tolist()} == beside


def test_parameters_reach_the_splitter():
    said = dict(ngbperjob=9.5, nmaxfilesperjob=3, secondary_ratio=1.5, secondary_bytes=2e9, files_per_boundary=3,
                groupboundaryid=3)
    splitting = splitting_of(stage(files=said).arrays, 0, "deployed")
    assert (splitting.nGBPerJob, splitting.nMaxFilesPerJob, splitting.nFilesPerJob) == (9.5, 3, 0)
    assert (splitting.secondary_bytes, splitting.groupBoundaryID, splitting.respectLB) == (3e9, 3, False)
    assert (splitting.events, splitting.bytes) == (100, 1e9)
