"""Batch systems whose slots are kept for one resource type, and slots that open and close."""

import pytest
from builders import Bench, Stage, scenario

from simgrid_broker.agents.harvester.workers import harvester_slots, harvester_submitter, job_fetcher
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.errors import ScenarioError
from simgrid_broker.world.series import Series

TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
UNIFIED = dict(atlas_site="HERE", capability="ucore", corecount=8, maxrss=16_000)
SCORE, MCORE, PLAIN = 0, 1, 2
"""Pseudo-queues."""


def bench_with(partitions, cores=64) -> Bench:
    """A site with a unified queue and a plain one of single-core slots, of which workers of all kinds wait."""
    plan = scenario({"HERE": dict(cores=cores, partitions=partitions)}, {"U": UNIFIED, "P": dict(atlas_site="HERE")},
                    resource_types=TYPES, agents=dict(empty_pilot=1e6))
    bench = Bench(plan, {})
    for queue in (MCORE, SCORE, PLAIN):
        bench.workers(100, queue)
    return bench


def running(bench) -> list[int]:
    """Workers of each pseudo-queue that hold a slot."""
    bench.check()
    return bench.arrays.pseudo_queues["n_running"].tolist()


@pytest.mark.rule("queue_tables.pools_of")
@pytest.mark.parametrize(("partitions", "expected"), [
    pytest.param({}, [0, 8, 0], id="dynamic slots: the oldest take all"),
    pytest.param({"SCORE": 16}, [16, 6, 0], id="16 cores are kept for single-core workers"),
    pytest.param({"MCORE": 16}, [48, 2, 0], id="16 cores are kept for two slots of 8"),
    pytest.param({"SCORE": 0, "MCORE": 32}, [0, 4, 32], id="the queue that is not unified has what is left"),
    pytest.param({"SCORE": 16, "MCORE": 48}, [16, 6, 0], id="nothing is left"),
])
def test_cores_that_are_kept_for_one_type(partitions, expected):
    bench = bench_with(partitions)
    assert running(bench) == expected
    assert bench.arrays.state[0]["total_cores"] == 64


@pytest.mark.rule("queue_tables.pools_of")
def test_an_outage_stops_all_partitions_and_their_end_starts_them():
    bench = bench_with({"SCORE": 16})
    bench.fabric.site_goes_down(0, 10.0)
    bench.run(1e6 + 10)
    assert running(bench) == [0, 0, 0]
    bench.workers(100, SCORE)
    bench.workers(100, MCORE)
    assert running(bench) == [0, 0, 0]
    bench.fabric.site_comes_back(0, bench.now)
    assert running(bench) == [16, 6, 0]


def test_free_cores_of_a_queue_are_those_of_its_partitions():
    plan = scenario({"HERE": dict(cores=64, partitions={"SCORE": 16})}, {"U": UNIFIED, "P": dict(atlas_site="HERE")},
                    resource_types=TYPES)
    bench = Bench(plan, {})
    bench.workers(3, MCORE)
    rows = dict(Series(bench.world).rows(0.0, bench.arrays.hs06_milli * 0.0))["queues"]
    assert rows["free_cores"].tolist() == [40, 24]


def test_a_grid_of_more_partitions_than_queues_and_sites_can_be_brokered():
    site = dict(cores=64, partitions={"SCORE": 16, "MCORE": 48})
    plan = scenario({"HERE": site}, {"U": UNIFIED}, resource_types=TYPES)
    stage = Stage((task_source, task_refiner, statistics, job_generator), plan, dict(label="user"))
    stage.run(200.0)
    assert len(stage.live()) == 1


@pytest.mark.parametrize(("partitions", "expected"), [
    pytest.param({"SCORE": 65}, "must not exceed the 64 cores", id="more than there are"),
    pytest.param({"MCORE": 7}, "a slot has 8 cores", id="smaller than a slot"),
    pytest.param({"SCORE": 60}, "leaves 4 cores", id="what is left is smaller than a slot"),
    pytest.param({"MCOR": 16}, "did you mean 'MCORE'", id="no such type"),
])
def test_partitions_that_are_refused(partitions, expected):
    with pytest.raises(ScenarioError, match=expected):
        bench_with(partitions)


def test_a_partition_without_a_unified_queue_is_refused():
    with pytest.raises(ScenarioError, match="there is none"):
        scenario({"HERE": dict(cores=8, partitions={"SCORE": 4})}, resource_types=TYPES)


# ---- slots that open and close ---------------------------------------------------------------------------------------

def stage_with(*rows, cores=0, partitions=(), agents=(harvester_slots,), **queue) -> Stage:
    """A unified queue with rows of Harvester_Slots at a site of some cores; workers of both types wait."""
    plan = scenario({"HERE": dict(cores=cores, partitions=dict(partitions))},
                    {"U": UNIFIED | dict(workflow="push", slot_requests=list(rows)) | queue}, resource_types=TYPES,
                    agents=dict(empty_pilot=1000))
    return Stage(agents, plan, dict(n_jobs=100, work_hs06s_per_event=20_000.0))


def cores_at(stage, *moments) -> list[tuple[int, int]]:
    """Cores of the site, and those in use, just after each moment."""
    found = []
    for moment in moments:
        stage.run(moment + 0.5)
        stage.check()
        pools = stage.arrays.pools
        found.append((int(pools["cores"].sum()), int((pools["cores"] - pools["free_cores"]).sum())))
    assert stage.world.state["total_cores"] == found[-1][0]
    return found


@pytest.mark.rule("harvester_slots", "open_slots", "close_slots")
def test_slots_open_at_their_moment_and_close_when_they_expire():
    stage = stage_with(dict(slots=4, opens=100, expires=500))
    stage.workers(2, MCORE)
    assert cores_at(stage, 99, 100, 499, 500) == [(0, 0), (32, 16), (32, 16), (16, 16)]
    stage.workers(10, SCORE)
    assert cores_at(stage, 1098, 1100) == [(16, 16), (0, 0)]         # the workers leave, and their slots with them


@pytest.mark.rule("close_slots")
def test_slots_whose_memory_is_in_use_close_later():
    stage = stage_with(dict(slots=2, opens=100, expires=500), maxrss=47_000)
    stage.workers(1, MCORE)
    assert cores_at(stage, 100, 500) == [(16, 8), (12, 8)]           # 17 of 64 GB are free, with 4 GB for each core
    assert cores_at(stage, 1101) == [(0, 0)]


@pytest.mark.rule("openings")
@pytest.mark.parametrize(("row", "cores"), [
    pytest.param(dict(slots=4), 32, id="slots of the queue"),
    pytest.param(dict(slots=4, resource_type="MCORE"), 32, id="of a multi-core type"),
    pytest.param(dict(slots=4, resource_type="SCORE"), 4, id="of single cores"),
    pytest.param(dict(slots=0), 0, id="none"),
])
def test_slots_have_the_size_of_their_type(row, cores):
    stage = stage_with(row | dict(opens=0))
    assert cores_at(stage, 0) == [(cores, 0)]


@pytest.mark.rule("openings")
def test_slots_of_a_type_open_in_its_partition():
    stage = stage_with(dict(slots=4, resource_type="SCORE", opens=100), cores=24, partitions={"SCORE": 8})
    stage.workers(9, MCORE)
    stage.workers(99, SCORE)
    stage.run(101.0)
    assert stage.arrays.pseudo_queues["n_running"].tolist() == [12, 2]


@pytest.mark.rule("harvester_slots")
def test_a_row_without_a_moment_opens_nothing_and_is_forgotten_when_it_expires():
    stage = stage_with(dict(slots=4, expires=200), dict(slots=7))
    found = []
    for moment in (199, 200):
        stage.run(moment + 0.5)
        found.append([row.slots for row in stage.world.slots[0]])
    assert found == [[4, 7], [7]] and cores_at(stage, 201) == [(0, 0)]


@pytest.mark.rule("harvester_slots")
def test_jobs_that_were_assigned_before_run_as_soon_as_the_slots_open():
    agents = (harvester_slots, job_fetcher, harvester_submitter)
    stage = stage_with(dict(slots=10, resource_type="SCORE", opens=3600), agents=agents)
    stage.submit(30, queue=SCORE)
    counts = []
    for moment in (3599.0, 3601.0):
        stage.run(moment)
        counts.append([stage.statuses().count(word) for word in ("starting", "running")])
    assert counts == [[30, 0], [20, 10]]
    stage.run(3600.0 + 2 * 2000.0 + 1)
    assert stage.statuses().count("running") == 10


@pytest.mark.parametrize(("row", "site", "expected"), [
    pytest.param(dict(opens=9, expires=9), {}, "must be before they expire", id="no time"),
    pytest.param(dict(opens=9), dict(node=dict(cores=8)), "those of its nodes", id="cores of nodes"),
])
def test_slots_that_are_refused(row, site, expected):
    with pytest.raises(ScenarioError, match=expected):
        scenario({"HERE": dict(cores=8) | site}, {"U": UNIFIED | dict(slot_requests=[dict(slots=1) | row])},
                 resource_types=TYPES)
