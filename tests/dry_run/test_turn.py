"""Several task brokerage decisions as in one turn: what nuclei owe, draws, storages of output, and how attempts end."""

import pytest

from simgrid_broker.dry_run import broker, broker_turn
from simgrid_broker.scenario import Snapshot

TASK = dict(brokerage="task_brokerage", corecount=1, n_jobs=10, cputime=10, basewalltime=0, priority=500,
            remaining_work=900.0, next_jobs={"u": 0.0})
SITES = ("ONE", "TWO")


def grid(**queues) -> dict:
    """Two nuclei with plenty of space and a queue each, and what else is said of the queues."""
    described = {name: dict(atlas_site=name if name in SITES else "SAT", capability="score", corecount=1,
                            maxtime="96h") | queues.get(name, {}) for name in (*SITES, *queues)}
    return dict(
        sites={site: dict(cores=0, nucleus=site in SITES) for site in (*SITES, "SAT")},
        storages={f"{site}_DATADISK": dict(site=site, total="9000 TB", free="2000 TB") for site in (*SITES, "SAT")},
        queues=described)


def snapshot(*tasks, nuclei=None, queues=None, **values) -> Snapshot:
    """A snapshot with tasks 1, 2, ..."""
    described = grid(**queues or {})
    return Snapshot.from_dict(dict(
        edition="deployed", grid=described, queues={name: dict(n_pilot=9) for name in described["queues"]},
        shares=[dict(name="Simul", value=1)], nuclei=nuclei or {},
        tasks={number: TASK | task for number, task in enumerate(tasks, 1)}) | values)


def weights(decision) -> list[float]:
    """Factor of the remaining work of each nucleus, relative to the first that owes nothing."""
    return [each.factors["1/RW"] for each in decision.candidates]


def test_work_that_is_assigned_counts_for_tasks_of_its_priority_and_below():
    first, equal, lower, higher = broker_turn(snapshot({}, dict(next_jobs={"u": 0.999999}), dict(priority=499),
                                                       dict(priority=501)))
    assert [each.drawn for each in (first, equal)] == ["ONE", "TWO"]
    assert weights(first) == [1, 1] and weights(equal) == [1 / 900, 1]
    assert weights(lower) == [1 / 900, 1 / 900] and weights(higher) == [1, 1]


def test_work_at_the_start_of_the_turn_by_priority():
    owed = {"ONE": dict(work_from={500: 5000.0, 900: 49.0}), "TWO": dict(work_from={500: 50.0})}
    normal, after, urgent = broker_turn(snapshot({}, {}, dict(priority=900), nuclei=owed))
    assert weights(normal) == [1 / 5000, 1 / 50] and normal.drawn == "ONE"
    assert weights(after) == [1 / 5900, 1 / 50]
    assert weights(urgent) == [1, 1]                   # neither 49 nor the work of lower priority counts


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_all_work_is_taken_from_the_space(edition):
    owed = {"TWO": dict(work=1e13)}                    # 2.9 million GB
    decision, = broker_turn(snapshot({}, nuclei=owed), edition)
    assert {each.name: each.tag for each in decision.candidates} == {"ONE": None, "TWO": "-space"}


@pytest.mark.parametrize(("u", "drawn"), [(0.0, "ONE"), (0.5, "ONE"), (0.51, "TWO"), (0.999, "TWO")])
def test_the_number_of_the_draw(u, drawn):
    assert broker(snapshot(dict(next_jobs={"u": u}))).drawn == drawn


def test_a_task_that_names_its_nucleus_brings_its_work_there():
    first, second = broker_turn(snapshot(dict(nucleus="TWO"), {}))
    assert first.drawn == "TWO" and weights(second) == [1, 1 / 900]


@pytest.mark.rule("output_unmatched")
@pytest.mark.parametrize(("outputs", "error"), [
    pytest.param([], None, id="where the nucleus takes output"),
    pytest.param(["ATLASDATADISK", "ddd:X_DATADISK"], None, id="a type, and what stays where it is made"),
    pytest.param(["ONE_DATADISK"], "no endpoint for the output", id="a storage of one nucleus alone"),
    pytest.param(["ATLASMCTAPE"], "no endpoint for the output", id="no such storage"),
])
def test_storages_for_output(outputs, error):
    decision, = broker_turn(snapshot(dict(outputs=outputs)))
    assert decision.error == error and (decision.drawn is None) is (error is not None)


def test_the_storage_that_fits_the_token_decides():
    values = snapshot(dict(outputs=["ATLASMCTAPE"])).with_values({
        "grid.storages.ONE_TAPE": dict(site="ONE", type="MCTAPE", total="9000 TB", free="2000 TB", write_wan="OFF"),
        "grid.storages.TWO_TAPE": dict(site="TWO", type="MCTAPE", total="9000 TB", free="90 TB"),
        **{f"grid.queues.{site}.endpoints": [dict(storage=f"{site}_{kind}", read=True, write=True,
                                                  default_write=kind == "DATADISK") for kind in ("DATADISK", "TAPE")]
           for site in SITES}})
    decision, = broker_turn(values)
    assert {each.name: each.tag for each in decision.candidates} == {
        "ONE": "-destination_blacklist", "TWO": "-space"}


@pytest.mark.parametrize(("changes", "error"), [
    pytest.param({"ONE": dict(status="offline"), "TWO": dict(status="offline")}, "no sites can run jobs",
                 id="no queue"),
    pytest.param({}, None, id="queues of both"),
])
def test_how_an_attempt_ends(changes, error):
    assert broker(snapshot({}, queues=changes)).error == error


def test_input_without_a_complete_replica_ends_the_attempt():
    part = {"ONE_DATADISK": dict(files=60)}
    dataset = dict(n_files=100, bytes="100 GB", replicas=part, files={"f": dict(bytes="1 GB")})
    decision = broker(snapshot(dict(datasets={"data": dataset})))
    assert decision.error == "dataset=data is incomplete/missing at online endpoints with read_wan=ON"


BARE = dict(catchall="bareNucleus=allow")


@pytest.mark.parametrize(("t1weight", "satellite"), [
    pytest.param(0, None, id="its queue can run the jobs"),
    pytest.param(-1, "-job", id="jobs that stay at nuclei do not go to a satellite"),
])
def test_a_bare_satellite_is_a_candidate_but_its_queues_are_not_at_a_nucleus(t1weight, satellite):
    chain = dict(fullChain="capable", t1Weight=t1weight)
    decision = broker(snapshot(chain, queues={"FAR": BARE}))
    assert {each.name: each.tag for each in decision.candidates} == {"ONE": None, "TWO": None, "SAT": satellite}


def test_a_task_without_share_is_matched_by_no_share():
    policy = {"ONE": dict(fairsharepolicy="gshare=Other:0%")}
    for without_share, tag in ((True, "-zeroshare"), (False, None)):
        asked = snapshot(dict(brokerage="job_brokerage", nucleus="ONE", without_share=without_share, next_jobs={}),
                         queues=policy)
        assert broker(asked).candidates[0].tag == tag


@pytest.mark.rule("has_unknown_nucleus")
@pytest.mark.parametrize(("nucleus", "error"), [
    ("ONE", None), ("SAT", "unknown nucleus SAT"), (None, "unknown nucleus None")])
def test_an_attempt_without_a_known_nucleus_ends_before_any_queue_is_looked_at(nucleus, error):
    asked = snapshot(dict(brokerage="job_brokerage", nucleus=nucleus, next_jobs={}))
    decision = broker(asked)
    assert (decision.error, len(decision.candidates)) == (error, 0 if error else 2)
    assert broker(asked, edition="documented").candidates and broker(asked, **{
        "tasks.1.prodsourcelabel": "ptest"}).candidates


@pytest.mark.parametrize("changed", ["seed", "tasks.1.n_nuclei", "tasks.1.luck"])
def test_a_draw_without_a_number_of_its_own_is_that_of_a_run(changed):
    values = [snapshot(dict(next_jobs={})).with_values({changed: number}) for number in range(1, 13)]
    draws = [broker(each).drawn for each in values]
    assert set(draws) == {"ONE", "TWO"} and draws == [broker(each).drawn for each in values]
