"""What task brokerage sees: candidates, their storages, the input at them, the work and output that burden them."""

import numpy as np
import pytest
from builders import Bench, T, scenario, two_sites

from simgrid_broker.compiled import uncompiled
from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.task.nuclei import too_few_files, too_little_input
from simgrid_broker.policy.brokerage.task.question import task_record
from simgrid_broker.scenario import in_force
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.data.replicas import add_replica_of
from simgrid_broker.world.queues.places import input_of_sites
from simgrid_broker.world.snapshot.records import TaskFacts
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import COMPLETE, Burden, candidates, claimed_work, nuclei, output_on_the_way

pytestmark = pytest.mark.rule("world.views.nuclei.candidates", "work_left", "output_on_the_way",
                              "world.views.nuclei.fill", "has_complete_replica", "add_work")


STORAGES = {"A": dict(site="A", total=100, free=60, expired=10, min_free=5), "B": dict(site="B"),
            "C": dict(site="C", total=50, free=50, write_wan="OFF")}


def bench_of(*said, edition="documented", **queues) -> Bench:
    """Nuclei A and C, satellites B and D, each with a queue, of which a test may say its catchall; D has no storage."""
    sites = {"A": {}, "B": dict(nucleus=False), "C": {}, "D": dict(nucleus=False)}
    plan = scenario(sites, {name: dict(atlas_site=name, catchall=queues.get(name, "")) for name in sites}, STORAGES,
                    edition=edition)
    return Bench(plan, *(said or ({},)))


def seen(bench, row=0, rows=()):
    """The nuclei as they are seen for one task."""
    return nuclei(bench.world, row, Burden(bench.world, np.array(rows, np.int64)))


@pytest.mark.parametrize(("task", "queues", "sites"), [
    pytest.param({}, {}, [0, 2], id="the nuclei"),
    pytest.param({}, dict(B="bareNucleus=allow"), [0, 2], id="a bare satellite is for full chains"),
    pytest.param(dict(fullchain=1), {}, [0, 2], id="a full chain has the nuclei"),
    pytest.param(dict(fullchain=3), dict(B="bareNucleus=allow", D="x,bareNucleus=only"), [0, 2, 1, 3],
                 id="T0 and every bare satellite, behind them"),
    pytest.param(dict(fullchain=3), dict(B="bareNucleus=maybe"), [0, 2], id="an unknown value has no effect"),
    pytest.param(dict(nucleus=2), {}, [0, 2], id="T1 a nucleus that the task names"),
    pytest.param(dict(nucleus=1), {}, [0, 2, 1], id="T1 or a satellite"),
])
def test_candidates(task, queues, sites):
    assert candidates(bench_of(task, **queues).world, 0).tolist() == sites


def test_t1_the_first_site_may_be_a_satellite_that_the_task_names():
    plan = scenario({"A": dict(nucleus=False), "B": {}}, {name: dict(atlas_site=name) for name in "AB"},
                    {"B": dict(site="B")})
    assert candidates(Bench(plan, dict(nucleus=0)).world, 0).tolist() == [1, 0]


def test_only_a_site_with_a_queue_for_production_is_a_nucleus():
    plan = scenario({name: dict(nucleus=name != "C") for name in "ABC"}, {
        name: dict(atlas_site=name, type="analysis" if name in "BC" else "production") for name in "ABC"},
        {"A": dict(site="A"), "B": dict(site="B")})
    assert [candidates(Bench(plan, dict(nucleus=named)).world, 0).tolist() for named in (-1, 1, 2)] == [[0]] * 3


def with_endpoints(*queues, **storages):
    """The world of a nucleus A with queues, of which a test says the endpoints, and storages at A."""
    plan = scenario({"A": {}}, {f"Q{number}": dict(atlas_site="A") | queue for number, queue in enumerate(queues)},
                    {name: dict(site="A", **said) for name, said in storages.items()})
    return Bench(plan).world


def test_t5_storages_of_a_nucleus_by_queue_scope_and_name():
    first = dict(endpoints=[dict(storage="Z", order=1), dict(storage="M", order=2), dict(storage="L", is_local=False),
                            dict(storage="R", write=False), dict(storage="B", scope="analysis")])
    world = with_endpoints(dict(type="analysis", endpoints=[dict(storage="A")]), first,
                           dict(endpoints=[dict(storage="A"), dict(storage="M")]),
                           **{name: dict(type="DATADISK" if name in "ZB" else "SCRATCHDISK") for name in "ABLMRZ"})
    names = world.vocabularies["storages"]
    assert [names[number] for number in world.places.nucleus_output[0]] == ["M", "Z", "B", "A"]
    assert names[world.arrays.sites["storage"][0]] == "Z"
    used = input_of_sites(world.places.grid, world.places.reads)[0]
    assert [names[number] for number in used] == ["Z", "M", "L", "R", "B", "A"]


def test_a_nucleus_whose_queues_list_no_storage_has_that_of_the_site():
    world = with_endpoints({}, A=dict(type="SCRATCHDISK"))
    assert world.places.nucleus_output == [(0,)] and world.arrays.sites["storage"].tolist() == [0]


def test_nuclei_as_the_broker_sees_them():
    bench = bench_of(dict(replicas={2: 0.5}, input_bytes_per_job=10.0, n_input_files=4, n_jobs=3),
                     A="bareNucleus=only")
    found = seen(bench)
    assert found.site.tolist() == [0, 2] and found.has_storage.all() and found.active.all()
    assert found.free_bytes.tolist() == [60, 50] and found.expired_bytes.tolist() == [10, 0]
    assert found.min_free_bytes.tolist() == [5, 0] and found.write_wan.tolist() == [True, False]
    assert found.local_input_bytes.tolist() == [0, 15] and found.local_input_files.tolist() == [0, 6]
    assert found.bare.tolist() == [2, 0] and found.satellite.tolist() == [False, False]
    assert not found.complete_replica and found.can_run is None


def test_a_site_without_storage_and_who_is_a_satellite():
    found = seen(bench_of(dict(fullchain=2), D="bareNucleus=allow"))
    assert found.has_storage.tolist() == [True, True, False] and found.satellite.tolist() == [False, False, True]


@pytest.mark.parametrize(("fullchain", "free"), [pytest.param(0, 60, id="a normal task writes to the nucleus"),
                                                 pytest.param(2, 1e15, id="a full chain to the secondary nucleus")])
def test_t5_secondary_nucleus(fullchain, free):
    found = seen(bench_of(dict(fullchain=fullchain), A="secondaryNucleus=B"))
    assert found.free_bytes[0] == free


@pytest.mark.parametrize(("status", "usable"), [
    pytest.param("ON", (True, True), id="D2 ON is fine"),
    pytest.param("OFF", (False, False), id="D2 OFF is not"),
    pytest.param("TEST", (False, False), id="D2 TEST is not"),
    pytest.param("", (False, True), id="D2 no entry is fine for the code alone"),
])
def test_d2_status_of_a_storage(status, usable):
    for edition, expected in zip(EDITIONS, usable, strict=True):
        found = seen(Bench(scenario(storages={"A": dict(site="HERE", read_wan=status, write_wan=status)},
                                    edition=edition)))
        assert (found.read_wan[0], found.write_wan[0]) == (expected, expected)


@pytest.mark.parametrize(("replicas", "tape", "disk", "held"), [
    pytest.param({0: 0.5}, [0], 5, 5, id="on disk"),
    pytest.param({0: 0.5}, [1], 0, 5, id="on tape"),
    pytest.param({0: 1.0}, [1], 0, 10, id="all of it on tape"),
    pytest.param({2: 1.0}, [0], 0, 0, id="elsewhere"),
])
def test_input_on_disk_and_on_tape(replicas, tape, disk, held):
    bench = bench_of(dict(replicas=replicas, input_bytes_per_job=10.0))
    bench.arrays.replicas["tape"][:len(tape)] = tape
    found = seen(bench)
    assert (found.disk_input_bytes[0], found.local_input_bytes[0]) == (disk, held)


@pytest.mark.parametrize(("parts", "disk", "held"), [
    pytest.param((1.0, 0.5), 10, 10, id="a complete disk replica makes tape irrelevant"),
    pytest.param((0.3, 1.0), 3, 10, id="the best of both"),
    pytest.param((0.5, 0.3), 5, 5, id="less is on tape"),
])
def test_two_replicas_at_one_site(parts, disk, held):
    bench = bench_of(dict(input_bytes_per_job=10.0))
    for part in parts:
        row = add_replica_of(bench.arrays, 0, 0, part)
    bench.arrays.replicas["tape"][row] = 1
    found = seen(bench)
    assert (found.disk_input_bytes[0], found.local_input_bytes[0]) == (disk, held)


@pytest.mark.rule("too_little_input", "too_few_files")
@pytest.mark.parametrize("percent", [1, 7, 10, 29, 57, 70])
@pytest.mark.parametrize("n_jobs", [200, 700, 3300])
def test_d9_a_fraction_exactly_at_the_limit_is_decided_as_written(percent, n_jobs):
    limits = {f"taskbrokerage.INPUT_{what}_FRACTION": percent for what in ("SIZE", "NUM")}
    for edition, at_the_limit in (("documented", True), ("deployed", False)):
        for part, refused in ((percent / 100 - 1 / n_jobs, True), (percent / 100, at_the_limit),
                              (percent / 100 + 1 / n_jobs, False)):
            bench = bench_of(dict(n_jobs=n_jobs, input_bytes_per_job=1e9, n_input_files=1, replicas={0: part}),
                             edition=edition)
            plan = bench.scenario.with_config(limits)
            record = task_record(observe.task(bench.world, 0), True, Gdpconfig(in_force(plan)), edition)
            nucleus = seen(bench).records[0]
            assert [bool(rule(record[0], nucleus)[0]) for rule in (too_little_input, too_few_files)] == [refused] * 2


@pytest.mark.parametrize(("replicas", "complete"), [
    pytest.param({1: 1.0}, True, id="at any site"),
    pytest.param({0: 0.9}, False, id="an incomplete one does not count"),
    pytest.param({2: 1.0}, False, id="nor one that cannot be read over WAN"),
    pytest.param({2: 1.0, 3: 1.0}, True, id="a site without storage sends files"),
    pytest.param({}, True, id="nothing is known of replicas"),
])
def test_t2_a_complete_replica(replicas, complete):
    bench = bench_of(dict(replicas=replicas, input_bytes_per_job=10.0))
    bench.arrays.storages["read_wan_off"][2] = 1
    bench.arrays.replicas["tape"] = 1
    assert seen(bench).complete_replica is complete


@pytest.mark.parametrize(("size", "complete"), [(0.0, True), (1.0, False)])
def test_t2_input_without_bytes_is_complete(size, complete):
    assert seen(bench_of(dict(replicas={0: 0.5}, input_bytes_per_job=size))).complete_replica is complete


@pytest.mark.parametrize("part", [1.0, COMPLETE])
def test_t2_a_complete_replica_at_the_first_storage(part):
    bench = bench_of(dict(replicas={0: part}, input_bytes_per_job=1.0))
    assert seen(bench).complete_replica
    bench.arrays.storages["read_wan_off"][0] = 1
    assert not seen(bench).complete_replica


def test_work_that_a_snapshot_says():
    bench = Bench(None, *[dict(n_jobs=3, n_events_per_job=2, cputime=5.0)] * 3)
    bench.world.facts.update({0: TaskFacts(), 1: TaskFacts(work_hs06s=7.0)})
    assert Burden(bench.world, np.arange(3)).work.whole.tolist() == [30, 7, 30]


def test_the_first_transfer_may_be_output():
    bench = Bench(two_sites(), dict(output_bytes_per_job=7.0, nucleus=0))
    bench.submit(1, queue=1)
    bench.workers(1, queue=1)
    bench.run(1000.0)
    bench.collect()
    assert [numbers.tolist() for numbers in output_on_the_way(bench.world)] == [[1, 0], [7, 0]]


def test_output_on_its_way():
    bench = Bench(two_sites(), dict(n_jobs=3, output_bytes_per_job=7.0, nucleus=0, input_bytes_per_job=5.0,
                                    replicas={0: 1.0}))
    bench.submit(3, queue=1)
    assert [numbers.tolist() for numbers in output_on_the_way(bench.world)] == [[0, 0], [0, 0]]    # input is no output
    bench.run(10.0)
    bench.workers(3, queue=1)
    bench.run(1000.0)
    bench.collect()
    assert [numbers.tolist() for numbers in output_on_the_way(bench.world)] == [[3, 0], [21, 0]]
    found = seen(bench)
    assert (found.queued_output_files.tolist(), found.unavailable_bytes.tolist()) == ([3], [21])
    bench.run(2000.0)
    assert [numbers.tolist() for numbers in output_on_the_way(bench.world)] == [[0, 0], [0, 0]]


@pytest.mark.parametrize(("status", "counts"), [(T.READY, True), (T.RUNNING, True), (T.PENDING, True), (T.DONE, False),
                                                (T.ASSIGNING, False)], ids=lambda value: getattr(value, "word", ""))
def test_work_that_burdens_a_nucleus(status, counts):
    bench = Bench(two_sites(), dict(n_jobs=10, n_events_per_job=2, cputime=50.0, nucleus=1), dict(n_jobs=3, nucleus=0),
                  {})
    tasks = bench.arrays.tasks
    tasks["status"][:], tasks["n_finished"][0] = status, 4
    total = Burden(bench.world, np.arange(3)).work.total
    assert total.tolist() == ([3 * 300.0, 6 * 2 * 50.0] if counts else [0.0, 0.0])


def test_work_of_a_task_that_claims_nothing():
    tasks = Bench(None, dict(n_events_per_job=2), dict(n_events_per_job=2, cputime=1.0)).arrays.tasks
    assert [uncompiled(claimed_work)(task, 3) for task in tasks] == [3 * 2 * 300.0, 3 * 2 * 1.0]


def assigned(bench, burden, row, nucleus):
    """Let a task get its nucleus."""
    bench.arrays.tasks["nucleus"][row] = nucleus
    burden.add(row)


def test_work_grows_with_every_assignment_but_not_what_there_was_at_first():
    bench = Bench(scenario(edition="deployed"), dict(cputime=5.0, nucleus=0), dict(cputime=7.0))
    bench.arrays.tasks["status"][:] = T.READY
    burden = Burden(bench.world, np.array([0, 1]))
    assigned(bench, burden, 1, 0)
    assert burden.work.total[0] == 12 and burden.of(1)[:, 0].tolist() == [5, 12]


def test_parts_of_a_unit_of_work_count_from_the_first_assignment_on():
    bench = Bench(None, dict(cputime=0.75), dict(cputime=0.75))
    bench.arrays.tasks["status"][:] = T.READY
    burden = Burden(bench.world, np.array([0, 1]))
    for row in (0, 1):
        assigned(bench, burden, row, 0)
    assert burden.work.total[0] == pytest.approx(1.5)


def test_d15_work_of_the_share_at_a_priority_or_above():
    said = [dict(cputime=5.0, nucleus=0, priority=10), dict(cputime=7.0, nucleus=0, priority=9),
            dict(cputime=11.0, nucleus=0, share=1, priority=99),
            dict(cputime=13.0, nucleus=0, priority=99, label="test"), dict(priority=10)]
    found = {}
    for edition in EDITIONS:
        bench = Bench(scenario(shares=[dict(name="X", value=1), dict(name="Y", value=1)], edition=edition), *said)
        bench.arrays.tasks["status"][:4] = T.RUNNING
        view = seen(bench, 4, range(5))
        found[edition] = view.remaining_work_hs06s[0], view.priority_work_hs06s[0]
    assert found == {"documented": (36, 36), "deployed": (23, 5)}                  # of its label; of its share too
