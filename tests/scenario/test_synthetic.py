"""The synthetic workload: amounts, times, luck that belongs to the task, and claims that are not the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from simgrid_broker.names import InputLan
from simgrid_broker.scenario.model import Grid, Incident, Scenario
from simgrid_broker.scenario.work.campaigns import Campaign, UserActivity, Workload
from simgrid_broker.scenario.work.draws import bags, even_time, poisson_times, zipf_ranks
from simgrid_broker.scenario.work.input_files import Spread
from simgrid_broker.scenario.work.synthetic import draw, holders, task_list
from simgrid_broker.units import DAY, HOUR, WEEK

SITES = {
    "HUB": {"tier": 0, "nucleus": True, "cores": 100}, "EDGE": {"tier": 2, "cores": 100},
    "BIG": {"tier": 1, "nucleus": True, "cores": 100}, "BARE": {"tier": 3, "cores": 100},
}
STORAGES = {name: {"site": name, "total": size, "free": "1 TB"}
            for name, size in (("HUB", "2 TB"), ("EDGE", "4 TB"), ("BIG", "8 TB"))}


def campaign(name="plain", **more):
    """A campaign of which nothing matters but what is named."""
    return Campaign(**{"name": name, "hs06sec_per_event": 1000, "jobs_per_task": {"median": 20, "sigma": 0.5}} | more)


def users(name="people", **more):
    """A group of users of which nothing matters but what is named."""
    return UserActivity(**{"name": name, "hs06sec_per_event": 100, "events_per_job": 1000, "offered_cores": 2000,
                           "jobs_per_task": {"median": 20, "sigma": 1, "max": 1000}} | more)


def scenario(*streams, duration=DAY, incidents=(), seed=1, sites=SITES, storages=STORAGES):
    """A small grid with the work named."""
    work = Workload(campaigns=tuple(s for s in streams if isinstance(s, Campaign)),
                    users=tuple(s for s in streams if isinstance(s, UserActivity)))
    return Scenario(name="test", duration=duration, seed=seed, workload=work, incidents=incidents,
                    grid=Grid.model_validate({"sites": sites, "storages": storages}),
                    shares=[{"name": "a", "value": 1}, {"name": "b", "value": 1, "children": [
                        {"name": "b1", "value": 1}, {"name": "b2", "value": 1}]}])


def named(tasks, name):
    """Rows of one stream."""
    return tasks.rows[tasks.rows["name"] == tasks.vocabularies["task_names"].index(name)]


def same(left, right, without=()):
    """Whether two arrays of rows agree in all columns but those named."""
    return len(left) == len(right) and all(
        np.array_equal(left[name], right[name], equal_nan=left[name].dtype.kind == "f")
        for name in left.dtype.names if name not in without)


def core_s(rows, corepower=13.6):
    """Wall time x cores of all jobs of each task, s."""
    cores = np.where(rows["corecount"] == 0, 8, rows["corecount"])
    work = rows["work_hs06s_per_event"] * rows["n_events_per_job"] / rows["cpu_efficiency"] / corepower
    return (work + rows["basewalltime_s"] * cores) * rows["n_jobs"]


# ---- amounts ------------------------------------------------------------------------------------------------------

@pytest.mark.rule("draw")
@pytest.mark.parametrize(("spread", "mean"), [
    pytest.param(5, 5, id="a bare number has no spread"),
    pytest.param({"median": 0, "sigma": 2}, 0, id="nothing stays nothing"),
    pytest.param({"median": 3, "sigma": 0, "max": 2}, 2, id="the limit holds without spread too"),
    pytest.param({"median": 2, "sigma": 1}, 2 * np.exp(0.5), id="log-normal mean"),
    pytest.param({"median": 2, "sigma": 1, "max": 2}, 1.5232, id="half of the draws at the limit"),
])
def test_mean_of_a_spread(spread, mean):
    spread = Spread.model_validate(spread)
    assert spread.mean == pytest.approx(mean, rel=1e-4)
    values = draw(spread, 1, 7, np.arange(40_000), 0)
    assert abs(values.mean() - mean) <= 4 * values.std() / 200         # 4 standard errors: 1 in 16 000 by chance


@pytest.mark.parametrize("stream", [
    pytest.param(campaign(offered_cores=2000), id="campaign"),
    pytest.param(campaign(offered_cores=2000, daily_amplitude=1, weekend_drop=1), id="campaign with a rhythm"),
    pytest.param(campaign(offered_cores=2000, corecount=1, events_per_job=10), id="short jobs on one core"),
    pytest.param(users(), id="users with a rhythm, in bags"),
])
def test_offered_cores_are_offered(stream):
    loads = [core_s(task_list(scenario(stream, duration=WEEK, seed=seed)).rows).sum() / WEEK for seed in range(8)]
    assert abs(np.mean(loads) - 2000) < 4 * np.std(loads, ddof=1) / np.sqrt(8) + 40    # 2 % for rounding to whole jobs


def test_tasks_per_day():
    rows = task_list(scenario(campaign(tasks_per_day=500), duration=8 * DAY)).rows
    assert abs(len(rows) - 4000) < 4 * np.sqrt(4000)


@pytest.mark.parametrize(("more", "waiting"), [
    pytest.param({"backlog": 3}, 3, id="tasks counted"),
    pytest.param({"tasks_per_day": 48, "backlog_time": "2h"}, 4, id="as many as come in the time named"),
    pytest.param({"tasks_per_day": 48, "backlog_time": "2h", "backlog": 3}, 7, id="both"),
])
def test_backlog_waits_at_the_start(more, waiting):
    assert (task_list(scenario(campaign(**more))).rows["arrival_s"] == 0).sum() == waiting


def test_backlog_of_users():
    rows = task_list(scenario(users(backlog_time="1 day"), duration=60)).rows
    expected = users().periods_per_s * DAY * users().tasks_per_period
    assert abs((rows["arrival_s"] == 0).sum() - expected) < 0.4 * expected


@pytest.mark.parametrize(("more", "complaint"), [
    pytest.param({"tasks_per_day": 1, "offered_cores": 1}, "not both", id="two rates"),
    pytest.param({"backlog_time": "1h"}, "backlog_time needs", id="a backlog of a stream that never comes"),
    pytest.param({"hs06sec_per_event": -1}, "greater than or equal to 0", id="negative work"),
    pytest.param({"memory_per_core": "2 parsecs"}, "is not a size", id="a unit of something else"),
    pytest.param({"ramunits": "MB"}, "ramunits", id="an unknown key"),
])
def test_refused_campaigns(more, complaint):
    with pytest.raises(ValidationError, match=complaint):
        campaign(**more)


def test_two_streams_of_one_name_are_refused():
    with pytest.raises(ValidationError, match="twice: plain"):
        Workload(campaigns=(campaign(), campaign()))


# ---- times --------------------------------------------------------------------------------------------------------

@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, DAY - 1))
def test_even_time_never_runs_backwards_and_keeps_the_week(amplitude, drop, peak):
    stream = campaign(daily_amplitude=amplitude, weekend_drop=drop, peak=peak)
    t = np.arange(0, 2 * WEEK, HOUR)
    even = even_time(t, stream)
    assert even[0] == 0 and (np.diff(even) >= -1e-6).all()
    assert even_time(WEEK, stream) == pytest.approx(WEEK) and even_time(2 * WEEK, stream) == pytest.approx(2 * WEEK)


def test_rhythm_of_day_and_week():
    stream = campaign(tasks_per_day=2000, daily_amplitude=0.8, peak="14h", weekend_drop=0.6)
    times = poisson_times(stream, stream.tasks_per_s, 8 * WEEK, seed=1, key=5)
    by_hour = np.bincount((times % DAY // HOUR).astype(int))
    by_day = np.bincount((times % WEEK // DAY).astype(int))
    assert by_hour.argmax() in (12, 13, 14, 15) and by_hour.argmin() in (0, 1, 2, 3, 4)
    assert by_day[5:].mean() / by_day[:5].mean() == pytest.approx(0.4 / 1.24, rel=0.05)


def test_arrivals_are_poisson():
    stream = campaign(tasks_per_day=1000)
    gaps = np.diff(poisson_times(stream, stream.tasks_per_s, 20 * DAY, seed=3, key=1))
    assert gaps.mean() == pytest.approx(86.4, rel=4 / np.sqrt(len(gaps)))
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.05)


def test_no_rate_no_tasks():
    assert len(task_list(scenario(campaign())).rows) == 0


def test_users_submit_in_bursts():
    stream = users(tasks_per_period=8, active_period="1h", daily_amplitude=0, weekend_drop=0)
    rows = task_list(scenario(stream, duration=WEEK)).rows
    counts = np.bincount((rows["arrival_s"] // HOUR).astype(int), minlength=int(WEEK / HOUR))
    assert counts.var() / counts.mean() > 3                            # 1 for a Poisson process


def test_bags_hold_the_mean_number_of_tasks():
    stream = users(tasks_per_period=6, active_period="2h")
    begins = np.zeros(4000)
    arrival, user, index = bags(stream, begins, seed=2, key=9)
    assert len(arrival) / len(begins) == pytest.approx(6, rel=0.06)
    assert len(np.unique(index)) == len(index)
    assert 0 <= arrival.min() and user.max() < stream.users


def test_one_task_a_period():
    assert len(bags(users(tasks_per_period=1), np.zeros(50), seed=2, key=9)[0]) == 50


@pytest.mark.parametrize(("u", "rank"), [
    pytest.param(1e-9, 0, id="first"),
    pytest.param(0.6, 1, id="second of 1, 1/2, 1/3"),
    pytest.param(1 - 1e-16, 2, id="last, at the very end"),
])
def test_zipf(u, rank):
    assert zipf_ranks(np.array([u]), 3, 1) == [rank]


# ---- luck belongs to the task --------------------------------------------------------------------------------------

STREAMS = (campaign("one", offered_cores=3000, backlog_time="6h", input_per_job="1 GB"),
           campaign("two", tasks_per_day=100, daily_amplitude=0.5),
           users("people", backlog_time="3h", input_per_job={"median": "1 GB", "sigma": 1}))


def test_a_run_repeated_is_the_same():
    one, other = (task_list(scenario(*STREAMS)) for _ in range(2))
    for name in one.rows.dtype.names:
        np.testing.assert_array_equal(one.rows[name], other.rows[name])
    assert np.array_equal(one.replica_site, other.replica_site) and one.vocabularies == other.vocabularies


def test_another_seed_is_another_run():
    one, other = (task_list(scenario(*STREAMS, seed=seed)).rows for seed in (1, 2))
    assert len(np.intersect1d(one["arrival_s"][one["arrival_s"] > 0], other["arrival_s"])) == 0


@pytest.mark.parametrize("duration", [60, 5 * HOUR, DAY, 2.5 * DAY])
def test_a_longer_run_keeps_the_earlier_tasks(duration):
    short, long = (task_list(scenario(*STREAMS, duration=d)) for d in (duration, WEEK))
    n = len(short.rows)
    assert same(short.rows, long.rows[:n]) and short.vocabularies == long.vocabularies
    assert np.array_equal(short.replica_site, long.replica_site[:n])
    assert np.array_equal(short.replica_fraction, long.replica_fraction[:n])


@pytest.mark.parametrize("changed", [
    pytest.param((STREAMS[0].model_copy(update={"offered_cores": 500.0}), *STREAMS[1:]), id="another has a lower rate"),
    pytest.param(STREAMS[1:], id="another is gone"),
    pytest.param(STREAMS[::-1], id="another order"),
    pytest.param((campaign("new", tasks_per_day=50), *STREAMS), id="another is new"),
])
def test_a_change_of_one_campaign_leaves_the_others(changed):
    before, after = task_list(scenario(*STREAMS)), task_list(scenario(*changed))
    for name in ("two", "people"):
        codes = ("jeditaskid", "name", "user", "processing_type", "label", "working_group", "campaign", "transpath")
        assert same(named(before, name), named(after, name), without=codes)


def test_a_higher_rate_changes_times_only():
    slow, fast = (task_list(scenario(campaign(tasks_per_day=rate))).rows for rate in (50, 100))
    assert same(slow, fast[:len(slow)], without=("arrival_s", "modification_s"))


def test_a_larger_backlog_keeps_the_stream():
    few, many = (task_list(scenario(campaign(tasks_per_day=50, backlog=n))).rows for n in (2, 5))
    assert same(few[2:], many[5:], without=("jeditaskid",))


def test_a_task_of_the_backlog_is_not_one_of_the_stream_again():
    rows = task_list(scenario(campaign(tasks_per_day=100, backlog=20))).rows
    assert rows["n_jobs"][:20].tolist() != rows["n_jobs"][20:40].tolist()


def test_identifiers_follow_arrival_then_order_of_streams():
    tasks = task_list(scenario(*STREAMS))
    assert (np.diff(tasks.rows["arrival_s"]) >= 0).all()
    assert tasks.rows["jeditaskid"].tolist() == list(range(1, len(tasks.rows) + 1))
    waiting = tasks.rows[tasks.rows["arrival_s"] == 0]
    assert waiting["name"].tolist() == sorted(waiting["name"].tolist())


# ---- single arrivals ----------------------------------------------------------------------------------------------

def test_an_incident_brings_one_more_task():
    arrivals = [Incident(at="3h", what="task_arrival", campaign="one", jobs=77),
                Incident(at="4h", what="task_arrival", campaign="one"),
                Incident(at="2 days", what="task_arrival", campaign="one")]
    plain, more = task_list(scenario(campaign("one", tasks_per_day=9))), task_list(
        scenario(campaign("one", tasks_per_day=9), incidents=arrivals))
    assert len(more.rows) == len(plain.rows) + 2                       # the third comes after the end
    added = more.rows[np.isin(more.rows["arrival_s"], [3 * HOUR, 4 * HOUR])]
    assert added["n_jobs"][0] == 77 and added["n_jobs"][1] != 77
    assert set(more.rows["name"]) == {0}


# ---- claims and truth ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("more", "column", "value"), [
    pytest.param({"cpu_efficiency": 0.5}, "work_hs06s_per_event", 500, id="CPU work is wall time x power x efficiency"),
    pytest.param({"cpu_efficiency": 0.5, "cputime_ratio": 1.5}, "cputime", 750, id="a claim may be too high"),
    pytest.param({"cputime_ratio": 0}, "cputime", 0, id="no claim of CPU time"),
    pytest.param({"ramcount": "3 GB"}, "ramcount", 3000, id="a claim of memory as said"),
    pytest.param({"memory_per_core": 1000, "memory_spread": 0}, "ramcount", 1100, id="as scouts measure, and 10 %"),
    pytest.param({"memory_per_core": 1000, "memory_spread": 0, "baseramcount": 800}, "ramcount", 1000,
                 id="what is asked once per job comes off"),
    pytest.param({"memory_per_core": 1000, "memory_spread": 0, "ramunit": "MB"}, "ramcount", 8800, id="all cores"),
    pytest.param({"memory_per_core": 1000}, "maxpss_mb", 8000, id="true memory is that of all cores"),
    pytest.param({"memory_per_core": 1000, "corecount": 0}, "maxpss_mb", 8000, id="any number of cores is eight"),
    pytest.param({"input_per_event": 5, "input_per_job": 7, "events_per_job": 10}, "input_bytes_per_job", 57,
                 id="input of events and of the job"),
    pytest.param({"iointensity": 3}, "iointensity", 3, id="a claim of input rate as said"),
    pytest.param({"input_per_job": 13.6e6, "basewalltime": 0}, "iointensity", 13.6e3 / (1e6 / 13.6),
                 id="input rate from the sizes, kB/s and core"),
    pytest.param({"gshare": "b1"}, "share", 1, id="a leaf that is named, counted depth-first"),
    pytest.param({}, "share", -1, id="tagging is left to the agents"),
    pytest.param({"jobs_per_task": {"median": 1, "sigma": 5}}, "n_jobs", (1, 10_000_000), id="at least one job"),
    pytest.param({"failure_rate": {"median": 0.5, "sigma": 5}}, "failure_rate", (0, 1), id="a probability at most 1"),
])
def test_columns_of_a_task(more, column, value):
    rows = task_list(scenario(campaign(backlog=200, events_per_job=more.pop("events_per_job", 1000), **more))).rows
    low, high = value if isinstance(value, tuple) else (value, value)
    assert (rows[column] >= low - 1e-6 * abs(low)).all() and (rows[column] <= high + 1e-6 * abs(high)).all()


def test_words_are_in_the_vocabularies():
    tasks = task_list(scenario(campaign(processingtype="pile", workinggroup="AP_X", backlog=1), users()))
    row = named(tasks, "plain")[0]
    assert tasks.vocabularies["processing_types"][row["processing_type"]] == "pile"
    assert tasks.vocabularies["working_groups"][row["working_group"]] == "AP_X"
    assert tasks.vocabularies["users"][named(tasks, "people")[0]["user"]].startswith("people-0")


# ---- where input lies ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("where", "sites", "storages", "expected"), [
    pytest.param("nuclei", SITES, STORAGES, [0, 2], id="nuclei that have a storage"),
    pytest.param("any", SITES, STORAGES, [0, 1, 2], id="all sites that have a storage"),
    pytest.param("nuclei", {"A": {}, "B": {}}, {"B": {"site": "B", "total": 1, "free": 0}}, [1], id="no nucleus"),
    pytest.param("nuclei", {"A": {}, "B": {}}, {}, [0, 1], id="no storage at all"),
])
def test_holders_of_input(where, sites, storages, expected):
    grid = Grid.model_validate({"sites": sites, "storages": storages})
    assert holders(grid, where)[1].tolist() == expected


def test_replicas():
    tasks = task_list(scenario(campaign(backlog=3000, input_per_job="1 GB", replicas={"number": 3, "where": "any"})))
    site, fraction = tasks.replica_site, tasks.replica_fraction
    assert all(len(set(row[:3])) == 3 and row[3] == -1 for row in site.tolist())
    assert (fraction[:, 0] == 1).all() and (fraction[:, 3] == 0).all()
    assert (fraction[:, 1] < 1).mean() == pytest.approx(0.3, abs=0.04)
    assert np.bincount(site[:, 0])[[0, 1, 2]] / 3000 == pytest.approx([2 / 14, 4 / 14, 8 / 14], abs=0.05)


def test_more_replicas_than_sites():
    tasks = task_list(scenario(campaign(backlog=5, input_per_job=1, replicas={"number": 4})))
    assert (tasks.replica_site[:, :2] >= 0).all() and (tasks.replica_site[:, 2:] == -1).all()


def test_no_input_no_replicas():
    assert (task_list(scenario(campaign(backlog=5))).replica_site == -1).all()


def test_another_site_does_not_move_the_input_that_does_not_go_there():
    more = {"NEW": {"tier": 2, "nucleus": True}, **SITES}
    storages = {**STORAGES, "NEW": {"site": "NEW", "total": "2 TB", "free": "1 TB"}}
    work = campaign(backlog=500, input_per_job=1, replicas={"number": 1})
    before = task_list(scenario(work)).replica_site[:, 0]
    after = task_list(scenario(work, sites=more, storages=storages)).replica_site[:, 0]
    assert (before + 1 == after)[after != 0].all() and (after == 0).any()


# ---- task parameters ----------------------------------------------------------------------------------------------

def test_children_come_with_their_parents():
    chain = (campaign("first", tasks_per_day=20, backlog=2), campaign("third", parent="second"),
             campaign("second", parent="first"), campaign("other", tasks_per_day=5))
    tasks = task_list(scenario(*chain))
    first, second, third = (named(tasks, name) for name in ("first", "second", "third"))
    assert not first["parent"].any() and not named(tasks, "other")["parent"].any()
    assert second["parent"].tolist() == first["jeditaskid"].tolist()
    assert third["parent"].tolist() == second["jeditaskid"].tolist()
    assert np.array_equal(third["arrival_s"], first["arrival_s"])


def test_a_parent_changes_nothing_of_the_work_of_a_task():
    alone = named(task_list(scenario(campaign("child", tasks_per_day=20))), "child")
    child = named(task_list(scenario(campaign(tasks_per_day=20), campaign("child", parent="plain"))), "child")
    n = min(len(alone), len(child))
    assert same(alone[:n], child[:n], without=("jeditaskid", "name", "arrival_s", "modification_s", "parent"))


@pytest.mark.parametrize("more", [{"tasks_per_day": 1}, {"offered_cores": 1}, {"backlog": 1}])
def test_a_child_has_no_rate_of_its_own(more):
    with pytest.raises(ValidationError, match="neither a rate nor a backlog"):
        campaign(parent="plain", **more)


def test_task_parameters():
    said = dict(fullChain="require", t1Weight=-1, inputPreStaging=True, taskBrokerOnMaster=True, nucleus="BIG")
    row = task_list(scenario(campaign(backlog=1, secondary_input=0.25, **said))).rows[0]
    names = "fullchain", "t1weight", "inputprestaging", "taskbrokeronmaster", "nucleus", "secondary_fraction"
    assert [row[name] for name in names] == [2, -1, 1, 1, 2, 0.25]
    plain = task_list(scenario(campaign(backlog=1))).rows[0]
    assert [plain[name] for name in names] == [0, 0, 0, 0, -1, 0]


@pytest.mark.parametrize(("part", "low", "high"), [(0, 0, 0), (1, 1, 1), (0.25, 0.2, 0.3)])
def test_replicas_on_tape(part, low, high):
    on_disk, tasks = (task_list(scenario(campaign(backlog=1000, input_per_job=1e9, replicas={"tape": tape})))
                      for tape in (0, part))
    assert low <= tasks.tape()[:, :2].mean() <= high
    assert np.array_equal(tasks.replica_site, on_disk.replica_site)


REQUIREMENTS = dict(maxCoreCount=16, diskIO=50, allowInputLAN="only", useLocalIO=True, mergeOutput=True,
                    eventService=True, nEsConsumers=3, maxAttemptEsJob=4, nJumboJobs=5, minGranularity=10,
                    maxEventsPerJob=90, walltime=2.5)
COLUMNS = dict(maxcorecount=16, diskio=50, allowinputlan=InputLan.ONLY, uselocalio=1, mergeoutput=1, eventservice=1,
               n_es_consumers=3, max_attempt_es=4, n_jumbo_jobs=5, mingranularity=10, maxeventsperjob=90,
               walltime_s_per_mib=2.5, cputime=0)


def test_task_parameters_of_job_brokerage():
    row = task_list(scenario(campaign(backlog=1, **REQUIREMENTS))).rows[0]
    assert {name: row[name] for name in COLUMNS} == COLUMNS
    plain = task_list(scenario(campaign(backlog=1))).rows[0]
    assert plain["cputime"] > 0 and plain["allowinputlan"] == InputLan.USE and plain["n_es_consumers"] == 1
    assert plain["maxcorecount"] == plain["maxeventsperjob"] == math.inf and plain["max_attempt_es"] == 2
    assert not any(plain[name] for name in COLUMNS if name not in (
        "cputime", "allowinputlan", "n_es_consumers", "max_attempt_es", "maxcorecount", "maxeventsperjob"))


def test_task_parameters_of_job_brokerage_change_nothing_of_the_work():
    plain, other = (task_list(scenario(campaign(backlog=5, **said))).rows for said in ({}, REQUIREMENTS))
    assert same(plain, other, without=tuple(COLUMNS))


def test_words_of_job_brokerage():
    tasks = task_list(scenario(campaign(backlog=1, site=("B", "A"), ipConnectivity="http#IPv4")))
    row, words = tasks.rows[0], tasks.vocabularies
    assert words["preassigned"][row["preassigned"]] == "B,A"
    assert words["connectivities"][row["ipconnectivity"]] == "http#IPv4"


@pytest.mark.parametrize(("said", "words"), [
    ({"nEsConsumers": 2}, "need eventService: true"),
    ({"lost_input": 0.6, "broken_input": 0.5}, "together must not exceed 1"),
    ({"maxAttemptEsJob": 1}, "need eventService: true"),
    ({"minGranularity": 10, "maxEventsPerJob": 9}, "must not be below minGranularity, 10"),
    ({"ipConnectivity": "htp"}, "expected full, http or none"), ({"ipConnectivity": "full#IP4"}, "IPv4 or IPv6"),
    ({"allowInputLAN": "yes"}, "'use' or 'only'"),
])
def test_parameters_that_contradict_themselves(said, words):
    with pytest.raises(ValidationError, match=words):
        campaign(**said)


@pytest.mark.parametrize("text", ["", "full", "http", "none", "full#IPv4", "none#IPv6", "http#", "#IPv6"])
def test_networks_that_a_task_can_ask_for(text):
    assert campaign(ipConnectivity=text).ipConnectivity == text
