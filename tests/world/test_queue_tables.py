"""CRIC's fields to columns: sentinels, limits per core, unified queues seen as one candidate per resource type."""

import numpy as np
import pytest
from builders import Bench, scenario, two_sites

from simgrid_broker.scenario.model import DEFAULT_RESOURCE_TYPES, ResourceTypeBounds
from simgrid_broker.schema.grid import ACTIVITIES
from simgrid_broker.schema.queues import Queue
from simgrid_broker.world import queue_tables
from simgrid_broker.world.queue_tables import pools_of, pseudo_queues_of, queue_table

INF = float("inf")


def queue_row(**said):
    """The row of one PanDA queue, plain but for what is said."""
    grid = scenario(queues={"Q": dict(atlas_site="HERE") | said}).grid
    return queue_table(grid, pools_of(grid)[0])[0]


@pytest.mark.rule("opportunistic")
@pytest.mark.parametrize(("field", "written", "column", "value"), [
    pytest.param("corepower", 0, "corepower", 10, id="unknown power is 10 HS06 per core"),
    pytest.param("corepower", 12.5, "corepower", 12.5, id="known power"),
    pytest.param("maxrss", 0, "maxrss_mb", INF, id="no memory limit"),
    pytest.param("maxrss", "16 GB", "maxrss_mb", 16_000, id="memory limit in MB"),
    pytest.param("maxtime", 0, "maxtime_s", INF, id="no time limit"),
    pytest.param("maxtime", "96h", "maxtime_s", 345_600, id="time limit in s"),
    pytest.param("mintime", 0, "mintime_s", 0, id="no least time"),
    pytest.param("maxwdir", None, "maxwdir_mb", INF, id="no scratch limit"),
    pytest.param("maxwdir", 0, "maxwdir_mb", 0, id="scratch of 0, for which brokers do not ask"),
    pytest.param("transferringlimit", 0, "transferringlimit", 2000, id="default limit of transferring jobs"),
    pytest.param("transferringlimit", 7, "transferringlimit", 7, id="own limit of transferring jobs"),
    pytest.param("transtimehi", 0, "transtimehi_s", 2 * 86400, id="default limit of urgent jobs that transfer"),
    pytest.param("transtimehi", 1.5, "transtimehi_s", 1.5 * 86400, id="transtimehi is written in days"),
    pytest.param("transtimelo", 0, "transtimelo_s", 6 * 86400, id="default limit of other jobs that transfer"),
    pytest.param("transtimelo", 10, "transtimelo_s", 10 * 86400, id="transtimelo is written in days"),
    pytest.param("timefloor", 30, "timefloor_s", 1800, id="timefloor is written in minutes"),
    pytest.param("corecount", 0, "corecount", 1, id="no corecount is one core"),
    pytest.param("pledgedcpu", -1, "pledgedcpu", -1, id="opportunistic"),
    pytest.param("pledgedcpu", 0, "pledgedcpu", 0, id="no pledge is not opportunistic"),
    pytest.param("maxinputsize", -1, "direct_io", 1, id="input is read from the storage"),
    pytest.param("maxinputsize", 0, "direct_io", 0, id="input is copied"),
    pytest.param("type", "unified", "analysis", 1, id="unified takes analysis"),
    pytest.param("type", "production", "analysis", 0, id="production takes no analysis"),
    pytest.param("type", "analysis", "production", 0, id="analysis takes no production"),
    pytest.param("capability", "ucore", "unified", 1, id="ucore is unified"),
    pytest.param("capability", "mcore", "unified", 0, id="mcore is not unified"),
    pytest.param("catchall", "disableReassign", "disable_reassign", 1, id="an option of catchall"),
    pytest.param("catchall", "a=1, disableReassign=True", "disable_reassign", 1, id="catchall matches by prefix"),
    pytest.param("params", dict(disableReassign=False), "disable_reassign", 0, id="params can say no"),
    pytest.param("maxinputsize", -1, "always_direct_io", 1, id="no job copies its input"),
    pytest.param("direct_access_lan", True, "always_direct_io", 0, id="jobs may copy their input"),
    pytest.param("direct_access_lan", True, "direct_io", 1, id="jobs may read from the storage"),
    pytest.param("catchall", "useJumboJobs", "use_jumbo_jobs", 1, id="for jumbo jobs"),
    pytest.param("catchall", "useJumbo", "use_jumbo_jobs", 0, id="a beginning of the option is not the option"),
    pytest.param("params", dict(useJumboJobs=True), "use_jumbo_jobs", 1, id="for jumbo jobs, in params"),
    pytest.param("catchall", "minEventsForJumbo=500,x", "min_events_for_jumbo", 500, id="events for jumbo jobs"),
    pytest.param("params", dict(minEventsForJumbo="7"), "min_events_for_jumbo", 7, id="the same in params, as text"),
    pytest.param("catchall", "", "min_events_for_jumbo", 0, id="no number of events for jumbo jobs"),
    pytest.param("catchall", "jobChunkSize=100", "job_chunk_size", 100, id="jobs that come at once"),
    pytest.param("catchall", "jobChunkSize=many", "job_chunk_size", 0, id="not a number: ignored"),
    pytest.param("catchall", "jobChunkSize=-5", "job_chunk_size", 0, id="nor is a negative one"),
])
def test_a_field_of_cric_becomes_a_column(field, written, column, value):
    assert queue_row(**{field: written})[column] == value


def test_params_win_over_catchall():
    assert queue_row(params=dict(disableReassign=False), catchall="disableReassign")["disable_reassign"] == 0


@pytest.mark.parametrize("said", [
    pytest.param({"catchall": "per_core_attr"}, id="in catchall"),
    pytest.param({"params": {"per_core_attr": True}}, id="in params"),
    pytest.param({"catchall": "a=1, per_core_attr=1"}, id="among others"),
])
def test_per_core_attributes_are_multiplied_by_the_cores(said):
    row = queue_row(corecount=8, maxrss=2000, minrss=100, maxwdir=1000, **said)
    assert (row["maxrss_mb"], row["minrss_mb"], row["maxwdir_mb"]) == (16_000, 800, 8_000)


FOUR_TYPES = tuple(DEFAULT_RESOURCE_TYPES.values())
"""SCORE (1 core, <= 2000 MB), MCORE (2 or more), SCORE_HIMEM (1, >= 2001 MB), MCORE_HIMEM (2 or more)."""


@pytest.mark.rule("pseudo_queues_of")
@pytest.mark.parametrize(("said", "expected"), [
    pytest.param(dict(corecount=8, maxrss=16_000), [
        (0, 1, 2000, 0), (1, 8, 16_000, 0), (2, 1, 2000, 2001), (3, 8, 16_000, 8 * 2001 - 8 + 1),
    ], id="2 GB per core: nothing is left for high memory, but the candidates exist"),
    pytest.param(dict(corecount=8, maxrss=32_000), [
        (0, 1, 2000, 0), (1, 8, 16_000, 0), (2, 1, 4000, 2001), (3, 8, 32_000, 16_001),
    ], id="4 GB per core"),
    pytest.param(dict(corecount=8, maxrss=0), [
        (0, 1, INF, 0), (1, 8, INF, 0), (2, 1, INF, 2001), (3, 8, INF, 16_001),
    ], id="no limit of the queue: none of its types"),
    pytest.param(dict(corecount=8, maxrss=32_000, minrss=24_000), [
        (0, 1, 2000, 24_000), (1, 8, 16_000, 24_000), (2, 1, 4000, 3000), (3, 8, 32_000, 24_000),
    ], id="least memory is scaled with the cores for types with a lower bound"),
    pytest.param(dict(corecount=8, maxrss=32_000, minrss=16_008), [
        (0, 1, 2000, 16_008), (1, 8, 16_000, 16_008), (2, 1, 4000, 2001), (3, 8, 32_000, 16_008),
    ], id="2001 MB per core of a queue are the lower bound of high memory"),
    pytest.param(dict(corecount=8, maxrss=32_000, minrss=1), [
        (0, 1, 2000, 1), (1, 8, 16_000, 1), (2, 1, 4000, 2001), (3, 8, 32_000, 16_001),
    ], id="a type without a lower bound has the least memory of the queue, 1 MB"),
    pytest.param(dict(corecount=1, maxrss=4000), [(0, 1, 2000, 0), (2, 1, 4000, 2001)],
                 id="one core: no multi-core candidate"),
])
def test_a_unified_queue_is_seen_as_one_candidate_per_type(said, expected):
    row = queue_row(capability="ucore", **said)
    found = pseudo_queues_of(5, row, FOUR_TYPES)
    assert [(p.resource_type, p.corecount, p.maxrss_mb, p.minrss_mb) for p in found] == expected
    assert {p.queue for p in found} == {5}


@pytest.mark.rule("pseudo_queues_of")
@pytest.mark.parametrize(("bounds", "corecount", "slot"), [
    pytest.param(dict(mincore=2), 8, 8, id="open above: the queue's cores"),
    pytest.param(dict(mincore=8), 8, 8, id="as many as are asked for"),
    pytest.param(dict(mincore=9), 8, None, id="more than the queue has: no candidate"),
    pytest.param(dict(mincore=2, maxcore=4), 8, 4, id="no more than the type's most cores"),
    pytest.param(dict(), 8, 8, id="a type without bounds"),
    pytest.param(dict(maxcore=1), 8, 1, id="no least number: one"),
    pytest.param(dict(mincore=2, maxcore=1), 8, 2, id="never less than the type's least cores"),
])
def test_cores_of_a_candidate(bounds, corecount, slot):
    found = pseudo_queues_of(0, queue_row(capability="ucore", corecount=corecount), [ResourceTypeBounds(**bounds)])
    assert [p.corecount for p in found] == ([] if slot is None else [slot])


@pytest.mark.rule("pseudo_queues_of")
def test_a_queue_that_is_not_unified_is_its_own_candidate_for_every_type():
    row = queue_row(capability="mcore", corecount=8, maxrss=16_000, minrss=100)
    assert pseudo_queues_of(0, row, FOUR_TYPES) == [(0, -1, 8, 16_000, 100)]


def test_a_queue_with_cores_of_its_own_has_a_batch_system_of_its_own():
    grid = scenario({"HERE": dict(cores=100, memory_per_core=3000), "THERE": dict(cores=50)}, {
        "A": dict(atlas_site="HERE"), "B": dict(atlas_site="HERE", cores=10), "C": dict(atlas_site="THERE"),
        "D": dict(atlas_site="HERE")}).grid
    numbers, pools = pools_of(grid)
    assert numbers == {"A": 0, "B": 1, "C": 2, "D": 0}
    assert [pool[:3] for pool in pools] == [("HERE", 100, 3000), ("B", 10, 3000), ("THERE", 50, 4000)]


def world_of(queues, site=None):
    """Arrays of a world of one site with these queues and the four types of the documents."""
    types = {name: bounds.model_dump() for name, bounds in DEFAULT_RESOURCE_TYPES.items()}
    return Bench(scenario({"HERE": site or {}}, queues, resource_types=types)).arrays


def test_pools_know_their_pseudo_queues():
    arrays = world_of({"A": dict(atlas_site="HERE", capability="ucore", corecount=8),
                       "B": dict(atlas_site="HERE", cores=4), "C": dict(atlas_site="HERE")}, dict(cores=64))
    assert arrays.pseudo_queues["queue"].tolist() == [0, 0, 0, 0, 1, 2]
    members = [arrays.pool_members[pool["first"]:pool["last"]].tolist() for pool in arrays.pools]
    assert members == [[0, 1, 2, 3, 5], [4]]
    assert arrays.pools["free_cores"].tolist() == [64, 4]
    assert arrays.pools["free_mb"].tolist() == [64 * 4000, 4 * 4000]
    assert arrays.state[0]["total_cores"] == 68


@pytest.mark.parametrize(("maxrss", "asked"), [
    pytest.param(16_000, [2000, 16_000, 2000, 16_000], id="the limit of the slot"),
    pytest.param(0, [4000, 32_000, 4000, 32_000], id="no limit: what the batch system has per core"),
    pytest.param(64_000, [2000, 16_000, 8000, 32_000], id="never more than the whole batch system has"),
])
def test_memory_that_a_worker_asks_for(maxrss, asked):
    arrays = world_of({"A": dict(atlas_site="HERE", capability="ucore", corecount=8, maxrss=maxrss)})
    assert arrays.pseudo_queues["worker_mb"].tolist() == asked


@pytest.mark.parametrize(("said", "number"), [
    pytest.param({}, 1, id="the first of the site"),
    pytest.param(dict(storage="THIRD"), 2, id="the one that is named"),
])
def test_storage_that_takes_the_output_of_a_site(said, number):
    grid = scenario({"THERE": dict(nucleus=False), "HERE": said}, storages={
        "FIRST": dict(site="THERE"), "SECOND": dict(site="HERE"), "THIRD": dict(site="HERE")}).grid
    assert queue_tables.site_table(grid)["storage"].tolist() == [0, number]


def test_a_site_without_storage():
    grid = scenario({"THERE": dict(nucleus=False), "HERE": {}}, storages={"FIRST": dict(site="HERE")}).grid
    assert queue_tables.site_table(grid)["storage"].tolist() == [-1, 0]


@pytest.mark.parametrize(("status", "off"), [("ON", 0), ("OFF", 1), ("TEST", 1), ("", 2)])
def test_status_of_a_storage(status, off):
    for activity in ACTIVITIES:
        row = Bench(scenario(storages={"A": {"site": "HERE", activity: status}})).arrays.storages[0]
        assert {name: row[f"{name}_off"] for name in ACTIVITIES} == dict.fromkeys(ACTIVITIES, 0) | {activity: off}


def test_links_stand_source_by_source():
    plan = two_sites(link=dict(bandwidth=5e6)).with_values({"grid.links.pairs[0].bandwidth": 7e6})
    links = Bench(plan).arrays.links
    assert links["bandwidth"].tolist() == [1e6, 7e6, 5e6, 1e6]      # HERE-HERE, HERE-THERE, THERE-HERE, THERE-THERE
    assert np.isinf(links["due_s"]).all() and (links["active_head"] == -1).all()


def test_codes_of_a_world_have_words():
    words = Bench(scenario(queues={"A": dict(atlas_site="HERE", capability="ucore"), "B": dict(atlas_site="HERE")}),
                  dict(user="eve")).world.vocabularies
    assert words["pseudo_queues"] == ("A/SCORE", "B")
    assert words["candidates"] == ("A", "B", "HERE") and words["brokered"] == ("A/SCORE", "B", "HERE")
    assert words["shares"] == ("All",) and words["users"] == ("eve",)


@pytest.mark.parametrize(("said", "bare"), [
    pytest.param({}, 0, id="no option"),
    pytest.param(dict(catchall="a=1, bareNucleus=only"), 2, id="only"),
    pytest.param(dict(catchall="bareNucleus=allow"), 1, id="allow"),
    pytest.param(dict(catchall="bareNucleus=yes"), 0, id="another value"),
    pytest.param(dict(catchall="bareNucleus"), 0, id="no value"),
    pytest.param(dict(catchall="bareNucleus=only", params={"bareNucleus": "allow"}), 1, id="params win"),
])
def test_a_queue_of_a_bare_nucleus(said, bare):
    grid = scenario(queues={"Q": dict(atlas_site="HERE") | said}).grid
    assert queue_tables.queue_table(grid, {"Q": 0})["bare_nucleus"].tolist() == [bare]
    assert queue_tables.site_table(grid)["bare_nucleus"].tolist() == [bare]


@pytest.mark.parametrize(("first", "bare", "secondary"), [
    pytest.param("bareNucleus=allow,secondaryNucleus=THERE", 1, 1, id="what it says"),
    pytest.param("", 0, -1, id="or does not say"),
])
def test_of_several_queues_the_first_of_production_makes_the_nucleus(first, bare, secondary):
    plan = scenario({"HERE": {}, "THERE": {}}, {
        "ANALY": dict(atlas_site="HERE", type="analysis", catchall="bareNucleus=only,secondaryNucleus=HERE"),
        "FIRST": dict(atlas_site="HERE", catchall=first),
        "SECOND": dict(atlas_site="HERE", catchall="bareNucleus=only,secondaryNucleus=HERE")})
    sites = queue_tables.site_table(plan.grid)
    assert sites["bare_nucleus"].tolist() == [bare, 0] and sites["secondary_nucleus"].tolist() == [secondary, -1]


@pytest.mark.parametrize(("said", "cores"), [
    pytest.param(dict(capability="score"), 1, id="a single-core queue has one core"),
    pytest.param(dict(capability="score", corecount=4), 4, id="unless it says another number"),
    pytest.param(dict(capability="mcore"), 8, id="others have eight"),
])
def test_cores_of_a_queue_that_says_nothing(said, cores):
    assert Queue(atlas_site="HERE", **said).corecount == cores


def test_a_pull_queue_with_slots_below_all_types_has_no_candidate():
    queues = dict(Q=dict(atlas_site="HERE", capability="ucore", corecount=1, workflow="pull"),
                  R=dict(atlas_site="HERE"))
    plan = scenario(queues=queues, resource_types=dict(MCORE=dict(mincore=8)))
    assert Bench(plan).arrays.pseudo_queues["queue"].tolist() == [1]
