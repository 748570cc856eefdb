"""Harvester's limits on the workers of a queue, at their boundaries."""

from types import SimpleNamespace

import numpy as np
import pytest

from simgrid_broker.errors import PluginError
from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.harvester import (
    CUT_BY,
    MAX_NEW_WORKERS,
    NO_WORKERS,
    UNCUT,
    WORKERS,
    adjusted,
    count_cuts,
    wanted_by,
)
from simgrid_broker.schema.harvester import HARVESTER
from simgrid_broker.schema.queues import Queue, option_number
from simgrid_broker.views import QUEUE_WORKERS, WorkerStatus
from simgrid_broker.world.pilot_status import WorkerTypes, sum_workers

pytestmark = pytest.mark.rule("workers_to_submit", "policy.harvester.adjust")
FREE = dict(nQueueLimitWorker=9999, nQueueLimitWorkerMin=9999, maxNewWorkersPerCycle=9999)
"""Options with which no limit is met."""


def workers(asked=(0, 0), queued=(0, 0), running=(0, 0), cores=(1, 8), memory=(2000, 16_000), workflow="pull_ups",
            activated=0, status=QueueStatus.ONLINE, type="unified", throttled=False, unified=True, counted=None,
            max_new_workers=MAX_NEW_WORKERS, edition="deployed", cut=False, **params) -> list:
    """New workers of one queue by type; cut: what cut them, None = nothing."""
    queue = Queue(atlas_site="HERE", workflow=workflow, type=type, params=params)
    types = WorkerTypes(np.array([[0, 1]]), np.array([cores]), np.array([memory], float))
    numbers = dict(asked=np.array([asked]), queued=np.array([queued]), running=np.array([running]))
    sums = np.zeros(1, QUEUE_WORKERS)
    sum_workers(numbers["queued"], numbers["running"], types.cores, types.memory, sums)
    view = WorkerStatus(
        **numbers, status=np.array([status]), activated=np.array([activated]), limits=HARVESTER.filled((queue,), {}),
        cores=types.cores, memory=types.memory, throttled=np.array([throttled]), unified=np.array([unified]),
        by_type=np.array([unified]), sums=sums,
        option=lambda key, default: np.array([option_number(queue, key, default)]), counted=counted,
        max_new_workers=max_new_workers)
    with np.errstate(all="raise"):                               # compiled code raises, too
        submitted, found = adjusted(view, {queue.mode: np.array([True])}, edition)
    return [None if k == UNCUT else CUT_BY[k] for k in found["cut_by"][0]] if cut else submitted[0].tolist()


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param(dict(asked=(5, 7)), [5, 7], id="as many as the server asks for"),
    pytest.param(dict(asked=(5, 7), throttled=True), [0, 0], id="none while too many workers are missed"),
    pytest.param(dict(asked=(5, 7), queued=(3, 3)), [5, 7], id="on top of those that wait"),
    pytest.param(dict(asked=(0, 0), queued=(3, 3)), [0, 0], id="none if it asks for none"),
    pytest.param(dict(asked=(0, 0), queued=(0, 3), nQueueLimitWorkerMin=3), [0, 0], id="none of none at the limit"),
    pytest.param(dict(asked=(5, 7), nQueueLimitWorkerMin=12), [5, 7], id="the limit is just enough"),
    pytest.param(dict(asked=(5, 7), nQueueLimitWorkerMin=11), [5, 6], id="one less: larger remainders are rounded up"),
    pytest.param(dict(asked=(5, 7), nQueueLimitWorkerMin=11, queued=(0, 10)), [1, 0], id="a type near the limit"),
    pytest.param(dict(asked=(5, 7), nQueueLimitWorkerMin=11, queued=(0, 11)), [0, 0], id="at the limit"),
    pytest.param(dict(asked=(50, 0), running=(100, 0), nQueueLimitWorkerMin=1), [40, 0], id="a part of the running"),
    pytest.param(dict(asked=(50, 0), running=(99, 0), nQueueLimitWorkerMin=1), [39, 0], id="rounded down"),
    pytest.param(dict(asked=(50, 0), running=(100, 0), nQueueLimitWorkerMin=1, nQueueLimitWorkerRatio=45), [45, 0],
                 id="another ratio"),
    pytest.param(dict(asked=(50, 0), running=(1000, 0), nQueueLimitWorkerMin=1, nQueueLimitWorker=30), [30, 0],
                 id="a fixed ceiling"),
    pytest.param(dict(asked=(50, 0), running=(1000, 0), nQueueLimitWorkerMin=1, nQueueLimitWorkerMax=30), [30, 0],
                 id="its other name"),
    pytest.param(dict(asked=(50, 0), nQueueLimitWorkerMin=40, nQueueLimitWorker=30), [30, 0],
                 id="the ceiling holds for the least number, too"),
    pytest.param(dict(asked=(9, 9), running=(5, 5), maxWorkers=11), [1, 0], id="one worker is left in all"),
    pytest.param(dict(asked=(9, 9), running=(5, 6), maxWorkers=11), [0, 0], id="none is left"),
    pytest.param(dict(asked=(9, 3), maxNewWorkersPerCycle=4), [2, 2], id="in a cycle: types in proportion, cut before"),
    pytest.param(dict(asked=(9, 3)) | FREE | dict(maxNewWorkersPerCycle=12), [9, 3], id="all in one cycle"),
    pytest.param(dict(asked=(900, 300)) | FREE, [750, 250], id="1000 of a queue in any cycle"),
    pytest.param(dict(asked=(200, 0)), [100, 0], id="the template: 100 may wait"),
    pytest.param(dict(asked=(200, 0), running=(500, 0)), [150, 0], id="the template: 150 in a cycle"),
    pytest.param(dict(asked=(200, 0), running=(500, 0), type="analysis"), [50, 0], id="analysis has another template"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerCores=12, queued=(0, 1)), [4, 1],
                 id="cores: what is left, rounded up to workers"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerCores=8, queued=(0, 1)), [9, 9],
                 id="no cores left: the numbers asked for stay"),
    pytest.param(dict(asked=(9, 3), nQueueLimitWorkerCores=8, queued=(0, 1), maxNewWorkersPerCycle=4), [3, 1],
                 id="and are scaled with all types"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerCores=8, queued=(0, 1), edition="documented"), [0, 0],
                 id="as documented none are submitted"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorkerCores=100, queued=(0, 1), unified=False), [1, 0],
                 id="a plain queue: cores divided by the MB of a worker"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorkerMemory=16_008, queued=(0, 1), unified=False), [8, 0],
                 id="and memory by its cores"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorkerCores=12, queued=(0, 1), unified=False, edition="documented"),
                 [4, 0], id="as documented by its cores"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorker=0, unified=False), [9, 0], id="0 is no limit of a type"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorker=0, unified=False, edition="documented"), [9, 0],
                 id="0 is none as documented"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorker=1, unified=False, edition="documented"), [1, 0], id="1 is one"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorker=5, queued=(5, 0), unified=False), [9, 0],
                 id="a plain queue with as many as may wait: the number asked for stays"),
    pytest.param(dict(asked=(9, 0), maxWorkers=5, running=(5, 0), unified=False), [9, 0], id="and with maxWorkers"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorkerMin=3, maxNewWorkersPerCycle=5, unified=False), [3, 0],
                 id="the least limit counts, whatever its place"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerMemory=16_000, queued=(0, 1)), [9, 9], id="no memory left"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerMemory=16_001, queued=(0, 1)), [1, 1], id="one MB left"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerCores=9, queued=(0, 1)), [1, 1], id="one core left"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerMemory=100, memory=(0, 0)), [9, 9], id="workers without memory"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorker=0), [0, 0], id="but of all types"),
    pytest.param(dict(asked=(9, 3), max_new_workers=4), [2, 2], id="Harvester's own limit of a cycle"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerCoresRatio=50, nQueueLimitWorkerCoresMin=1, running=(0, 2)),
                 [8, 1], id="cores in proportion to those in use"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerMemory=16_000, queued=(0, 0)), [8, 1], id="memory"),
    pytest.param(dict(asked=(9, 9), nQueueLimitWorkerMemoryRatio=50, nQueueLimitWorkerMin=3), [2, 1],
                 id="memory that may wait: 1000 MB for each worker that may"),
    pytest.param(dict(asked=(9, 9), cores=(0, 8)), [0, 9], id="a queue without a type"),
])
def test_streaming(options, expected):
    assert workers(**options) == expected


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param(dict(asked=(5, 7)), [None, None], id="nothing"),
    pytest.param(dict(asked=(5, 7), throttled=True), ["status or throttler"] * 2, id="the throttler"),
    pytest.param(dict(asked=(5, 7), nQueueLimitWorkerMin=12), [None, None], id="just enough together"),
    pytest.param(dict(asked=(5, 7), nQueueLimitWorkerMin=11), ["limits of all types together"] * 2, id="together"),
    pytest.param(dict(asked=(9, 3), maxNewWorkersPerCycle=4),
                 ["maxNewWorkersPerCycle", "limits of all types together"], id="a type alone, then together"),
    pytest.param(dict(asked=(400, 9), queued=(10, 380), running=(500, 500)),
                 ["nQueueLimitWorker", "limits of all types together"], id="a type alone, then by a narrower limit"),
    pytest.param(dict(asked=(400, 9), queued=(10, 380), running=(500, 500), maxWorkers=1395),
                 ["maxWorkers", "limits of all types together"], id="and by the narrowest of two"),
    pytest.param(dict(asked=(7, 0), nQueueLimitWorkerMin=7, unified=False), [None, None], id="just enough for one"),
    pytest.param(dict(asked=(9, 0), nQueueLimitWorkerMin=7, maxWorkers=7), ["maxWorkers", None], id="the last of two"),
])
def test_the_limit_that_cuts_workers_is_named(options, expected):
    assert workers(cut=True, **options) == expected


@pytest.mark.parametrize(("wanted", "sums"), [
    pytest.param(4, [1, 4, 3], id="wanted"), pytest.param(0, [0, 0, 0], id="kept though none are wanted")])
def test_a_cycle_counts_where_workers_are_wanted(wanted, sums):
    found, counted = np.zeros((1, 1), WORKERS), np.zeros((1, 1, len(CUT_BY) + 1, 3))
    found["exists"], found["wanted"], found["cut_by"] = True, wanted, UNCUT
    assert count_cuts(found, np.array([[3]]), counted) == 3 and counted[0, 0, 0].tolist() == sums


@pytest.mark.parametrize("wanted", [
    pytest.param(np.array([1, 2]), id="another shape"), pytest.param(np.array([["a", "b"]]), id="no numbers"),
    pytest.param(np.array([[3, -1]]), id="a negative number"),
])
def test_modes_that_want_no_numbers_of_workers_are_refused(wanted):
    mode = SimpleNamespace(name="mine", wanted=lambda _: wanted)
    status = SimpleNamespace(cores=np.ones((1, 2)), asked=None)
    with pytest.raises(PluginError, match="'mine' .worker mode. must want numbers"):
        wanted_by(mode, status)


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param(dict(activated=30), [0, 30], id="one worker a job, of the largest slot"),
    pytest.param(dict(activated=30, queued=(0, 10)), [0, 20], id="less those that wait"),
    pytest.param(dict(activated=10, queued=(0, 10)), [0, 0], id="all have one"),
    pytest.param(dict(activated=0), [0, 1], id="one without any job"),
    pytest.param(dict(activated=0, running=(0, 5)), [0, 1], id="one waits even if others run"),
    pytest.param(dict(activated=0, queued=(0, 1)), [0, 0], id="but not two"),
    pytest.param(dict(activated=0, noPilotsWhenNoActiveJobs=True), [0, 0], id="none without any job"),
    pytest.param(dict(activated=1, noPilotsWhenNoActiveJobs=True), [0, 1], id="one for one job"),
    pytest.param(dict(activated=0, noPilotsWhenNoActiveJobs=False), [0, 1], id="the option is off"),
    pytest.param(dict(activated=9, activateWorkerFactor=0.5), [0, 4], id="half a worker a job, rounded down"),
    pytest.param(dict(activated=1, activateWorkerFactor=0.5), [0, 1], id="but one"),
    pytest.param(dict(activated=9, nCoreFactor=4), [0, 2], id="four jobs a worker"),
    pytest.param(dict(activated=9, activateWorkerFactor="auto", nCoreFactor=3), [0, 3], id="one Harvester"),
    pytest.param(dict(activated=70), [0, 50], id="the template: 50 in a cycle"),
    pytest.param(dict(activated=500, maxNewWorkersPerCycle=999), [0, 100], id="the template: 100 may wait"),
    pytest.param(dict(activated=9999, maxNewWorkersPerCycle=9999, running=(0, 9000)), [0, 1000],
                 id="the template: 1000 at most"),
    pytest.param(dict(activated=float("nan")), [0, 1], id="one if PanDA says nothing of the queue"),
    pytest.param(dict(activated=float("nan"), running=(0, 1)), [0, 0], id="unless one runs"),
    pytest.param(dict(activated=float("inf"), maxNewWorkersPerCycle=999), [0, 100], id="as many as may wait without "
                 "any statistics"),
    pytest.param(dict(activated=5, counted=np.array([[True, True]])), [5, 5], id="of each type that counts jobs"),
    pytest.param(dict(activated=5, asked=(7, 7)), [0, 5], id="what the server asks for is not read"),
    pytest.param(dict(activated=9, asked=(7, 3), queued=(0, 5), nQueueLimitWorker=5, unified=False), [0, 3],
                 id="but where as many wait as may"),
    pytest.param(dict(activated=5, cores=(8, 8), memory=(9, 8)), [5, 0], id="of equal cores the most memory"),
    pytest.param(dict(activated=5, cores=(8, 8), memory=(8, 8)), [5, 0], id="of equal memory the first"),
])
def test_pull(options, expected):
    assert workers(workflow="pull", **options) == expected


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param(dict(asked=(3, 4), activated=99), [3, 4], id="one for each fetched job"),
    pytest.param(dict(asked=(7, 3), queued=(0, 5), nQueueLimitWorker=5, unified=False), [5, 0],
                 id="none where as many wait as may"),
    pytest.param(dict(asked=(300, 0)), [100, 0], id="the template: 100 in a cycle"),
    pytest.param(dict(asked=(300, 0), maxNewWorkersPerCycle=999, nQueueLimitWorkerRatio=10, nQueueLimitWorkerMin=1),
                 [300, 0], id="without ratio"),
])
def test_push(options, expected):
    assert workers(workflow="push", **options) == expected


@pytest.mark.parametrize("status", list(QueueStatus))
def test_status_of_the_queue(status):
    assert workers(asked=(1, 1), status=status) == ([0, 0] if status in NO_WORKERS else [1, 1])
