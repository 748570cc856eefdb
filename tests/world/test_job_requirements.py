"""What job brokerage sees of what tasks ask for and of what queues demand."""

from math import inf, nan

import numpy as np
import pytest
from builders import Bench, scenario, two_sites

from simgrid_broker.names import EDITIONS, InputLan
from simgrid_broker.policy.brokerage.production.candidates import initial_list
from simgrid_broker.world.views import observe

TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
QUEUES = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8), "P": dict(atlas_site="THERE")}


def seen(**said):
    """The view of a task at two sites, with a unified queue U and a plain one P."""
    return observe.task(Bench(two_sites(queues=QUEUES, resource_types=TYPES), said).world, 0)


@pytest.mark.parametrize(("said", "fields"), [
    pytest.param({}, dict(allowinputlan="use", uselocalio=False, ipconnectivity="", event_service=False,
                          n_es_consumers=1, max_attempt_es=2, jumbo_events=-1, merge_output=False, maxcorecount=inf,
                          min_granularity=nan, cputimeunit="HS06sPerEvent", walltime_s_per_mib=nan, diskio=nan),
                 id="a plain task"),
    pytest.param(dict(allowinputlan=InputLan.ONLY, uselocalio=1), dict(allowinputlan="only", uselocalio=True),
                 id="direct reading only"),
    pytest.param(dict(allowinputlan=InputLan.NONE), dict(allowinputlan=""), id="no direct reading"),
    pytest.param(dict(ipconnectivity="http#IPv4"), dict(ipconnectivity="http#IPv4"), id="network"),
    pytest.param(dict(eventservice=1, n_es_consumers=2, max_attempt_es=4),
                 dict(event_service=True, n_es_consumers=2, max_attempt_es=4, jumbo_events=-1), id="event service"),
    pytest.param(dict(eventservice=1, n_jumbo_jobs=3, n_jobs=10, n_events_per_job=7),
                 dict(jumbo_events=70), id="all events of a task that has just come are ready for jumbo jobs"),
    pytest.param(dict(mingranularity=5), dict(min_granularity=5, max_events_per_job=inf),
                 id="any number of events"),
    pytest.param(dict(mingranularity=5, maxeventsperjob=50),
                 dict(min_granularity=5, max_events_per_job=50), id="dynamic number of events"),
    pytest.param(dict(walltime_s_per_mib=2.5), dict(cputimeunit="", walltime_s_per_mib=2.5, walltimeunit=""),
                 id="wall time instead of CPU time"),
    pytest.param(dict(mergeoutput=1, maxcorecount=16, diskio=50), dict(merge_output=True, maxcorecount=16, diskio=50.0),
                 id="merging, cores, disk traffic"),
])
def test_what_a_task_asks_for(said, fields):
    view = seen(**said)
    assert {name: getattr(view, name) for name in fields} == fields


def test_ready_events_become_fewer():
    bench = Bench(scenario(), dict(eventservice=1, n_jumbo_jobs=1, n_jobs=10, n_events_per_job=7))
    bench.arrays.tasks[["n_finished", "n_failed"]] = (2, 1)
    assert observe.task(bench.world, 0).jumbo_events == 49


@pytest.mark.parametrize(("named", "queues", "single", "listed"), [
    pytest.param("", (), False, False, id="no queue is named"),
    pytest.param("P", (1,), True, False, id="a queue with one candidate"),
    pytest.param("U", (0,), False, True, id="a unified queue is its pseudo-queues"),
    pytest.param("P,U", (1, 0), False, True, id="two queues"),
])
def test_queues_that_a_task_names(named, queues, single, listed):
    bench = Bench(two_sites(queues=QUEUES, resource_types=TYPES), dict(preassigned=named))
    view = observe.task(bench.world, 0)
    assert view.preassigned == queues
    for edition in EDITIONS:
        found = initial_list(view, observe.queues(bench.world), edition)
        assert (found.single, found.listed) == (single, listed)


def test_what_queues_demand():
    said = {
        "A": dict(atlas_site="HERE", jobseed="es", wnconnectivity="http#IPv6", maxinputsize=-1, maxdiskio=30,
                  catchall="useJumboJobs=True,minEventsForJumbo=5000,jobChunkSize=40"),
        "B": dict(atlas_site="THERE", jobseed="", direct_access_lan=True),
    }
    view = observe.queues(Bench(two_sites(queues=said)).world)
    assert view.jobseed == ("es", "") and view.wnconnectivity == ("http#IPv6", "full")
    columns = dict(always_direct_io=[1, 0], direct_io=[1, 1], use_jumbo_jobs=[1, 0], min_events_for_jumbo=[5000, 0],
                   job_chunk_size=[40, 0])
    assert {name: getattr(view, name).astype(int).tolist() for name in columns} == columns
    assert np.array_equal(view.maxdiskio, [30, np.nan], equal_nan=True)


@pytest.mark.parametrize(("storages", "storage", "storage_site"), [
    pytest.param({"H": dict(site="HERE"), "T": dict(site="THERE")}, [0, 1], [0, 1], id="each site has its own"),
    pytest.param({"H": dict(site="HERE")}, [0, -1], [0, 1], id="a site without storage"),
])
def test_storage_of_queues(storages, storage, storage_site):
    view = observe.queues(Bench(two_sites(storages=storages)).world)
    assert (view.storage.tolist(), view.storage_site.tolist()) == (storage, storage_site)


def test_output_that_goes_to_another_site():
    plan = two_sites(there=dict(storage="H"), storages={"H": dict(site="HERE")})
    view = observe.queues(Bench(plan).world)
    assert (view.storage.tolist(), view.storage_site.tolist()) == ([0, 0], [0, 0])


def test_a_view_holds_copies():
    bench = Bench(scenario(queues={"A": dict(atlas_site="HERE", catchall="jobChunkSize=3")}))
    view = observe.queues(bench.world)
    bench.arrays.queues["job_chunk_size"] = 9
    assert np.array_equal(view.job_chunk_size, [3])
