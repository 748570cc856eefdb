"""Every recorded column is written: where everything happens once, each has a value of its own somewhere."""

from pathlib import Path

import pytest
from builders import EVENTFUL
from tables import check_each

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.schema import JOB_TIMES, RECORDED, TASK_TIMES

SCENARIOS = Path(__file__).parents[2] / "scenarios"

NOT_SIMULATED = {
    "jobs": {f"{status}_s" for status in ("waiting", "starting", "merging")},
    "tasks": {f"{status}_s" for status in ("staging", "staged", "topreprocess", "preprocessing", "merging", "toincexec",
                                           "rerefine")},
}
"""Times of statuses that no agent sets: tape, prepared input, merge jobs and growing datasets are not simulated."""

RARE = {
    "jobs": {"throttled_s", "cancelled_s"},
    "tasks": {f"{status}_s" for status in (
        "tobroken", "broken", "scouting", "scouted", "throttled", "paused", "exhausted", "passed", "aborting",
        "toabort", "aborted", "finishing", "toretry", "toreassign", "reassigning")},
}
"""Times of what happens only to tasks with scouts, commands or troubles; the tests of those see them."""

ONLY_ELSEWHERE = {"tasks": {"parent", "diskio", "eventservice", "throttled_total_s", "throttled_by"},
                  "splitting": {"tgtnumeventsperjob", "tgtmaxoutputforng"},
                  "workers": {"cancelled"}}
"""Columns that are 0 in these runs: their campaigns have no parents, which those of `scenarios/full_chain.yaml` have,
no task is throttled, and no worker waits for 48 h."""
NEVER_HERE = {"tasks": {"work_queue", "memory_leak_core", "memory_leak_x2", "mergeramcount", "mergewalltime"}}
"""Columns without any value where all work queues are those of the share tree, and no task has scouts."""


@pytest.fixture(scope="module")
def eventful(tmp_path_factory):
    """A run in which jobs fail, are moved, are taken back, and find storages full of old data."""
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(EVENTFUL)
    return simulate(plan, folder=tmp_path_factory.mktemp("eventful") / "run", validate=True)


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """A run in which jobs are cut from files, those of one task by boundaryID, and get less input after failures."""
    less = dict(errorsource="pilotErrorCode", errorcode=1305, retryaction="reduce_input_per_job",
                parameters=dict(steps="1,2,3"))
    plan = load_scenario(SCENARIOS / "splitting.yaml").with_values({
        "duration": 4 * 3600.0, "retry_rules": [less],
        "workload.campaigns.lumi blocks apart.groupBoundaryID": 1,
        "workload.campaigns.lumi blocks apart.input.files_per_boundary": 5})
    return simulate(plan, folder=tmp_path_factory.mktemp("cut") / "run", validate=True)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A run with rows for half of the jobs; workers cannot always be submitted, and take whole nodes.

    Its tasks of users belong to User Analysis and so have classes.
    """
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(
        {"duration": 4 * 3600.0, "warm_up": 0, "record.jobs": 0.5, "agents.sampler": 200,
         "shares.Analysis.name": "User Analysis",
         "grid.sites.NORTH.node": dict(cores=16, whole=True), "grid.queues.SOUTH.submission_failures": 0.3})
    return simulate(plan, folder=tmp_path_factory.mktemp("sampled") / "run", validate=True)


@pytest.fixture(scope="module")
def passed_over(tmp_path_factory):
    """A run in which pilots pass over jobs.

    Workers of CENTRE have less memory than its jobs ask for, and later ask for tests alone; NORTH has a target of the
    mean memory that all jobs exceed; pilots of SOUTH send the time that is left.
    """
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values({
        "edition": "deployed", "duration": 4 * 3600.0, "warm_up": 0, "agents.sampler": 200,
        "workload.campaigns.simulation.ramcount": 1900,
        "grid.sites.CENTRE.memory_per_core": 1500, "grid.sites.CENTRE.node": dict(cores=8),
        "grid.queues.NORTH.workflow": "push", "grid.queues.NORTH.meanrss": 100,
        "grid.queues.SOUTH.sends_time": True, "grid.queues.SOUTH.timefloor": 600, "grid.queues.SOUTH.maxtime": "3h",
        "incidents": [dict(at=3600, what="queue_status", queue="CENTRE", status="test")]})
    return simulate(plan, folder=tmp_path_factory.mktemp("passed_over") / "run", validate=True)


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """A run in which tasks read a container of two datasets, which are staged from tape."""
    tape = dict(site="NORTH", total=1e15, free=2e14, tape=True, drives=1)
    held = dict(files=40, bytes=1e12, container="raw", replicas=[dict(storage="NORTH_TAPE")])
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values({
        "duration": "9h", "grid.storages.NORTH_TAPE": tape, "data.datasets": {"raw.1": held, "raw.2": held},
        "gdpconfig.DATA_CAROUSEL_CONFIG": dict(source_tapes_config=dict(NORTH_TAPE=dict(active=True))),
        "workload.users": [], "workload.campaigns.simulation.container": "raw",
        "workload.campaigns.simulation.whole_container": True,
        "workload.campaigns.simulation.input_per_job": None, "workload.campaigns.simulation.jobs_per_task": None,
        "workload.campaigns.simulation.inputPreStaging": True})
    return simulate(plan, folder=tmp_path_factory.mktemp("staged") / "run", validate=True)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """A run of two recorded jobs of one task."""
    path = tmp_path_factory.mktemp("replayed") / "trace.swf"
    path.write_text("".join(f"{k} {k} 5 600 1 300 -1 1 -1 -1 1 1 1 -1 3 1 -1 -1\n" for k in (1, 2)))
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(
        {"duration": 3600.0, "warm_up": 0, "workload": {"trace": {"file": str(path)}}})
    return simulate(plan, folder=path.parent / "run", validate=True)


def test_columns_have_values(eventful, cut, sampled, passed_over, staged, replayed):
    of_table = {"splitting": cut, "task_actions": cut, "trace": replayed, "staging": staged, "task_datasets": staged,
                **dict.fromkeys(("ended", "workers", "task_classes"), sampled)}
    of_column = {**dict.fromkeys(("read_bytes", "mounted"), staged),
                 **dict.fromkeys(("none_suits", "other_label", "more_memory", "more_time", "above_meanrss"),
                                 passed_over)}

    def check(name, column):
        run = of_column.get(column.name, of_table.get(name, eventful))
        values = run.table(name, [column.name])[column.name]
        assert values.notna().any() != (column.name in NEVER_HERE.get(name, ()))
        empty = values.isna().all() or column.name in ONLY_ELSEWHERE.get(name, ())
        assert column.codes or empty or (values.dropna() != 0).any()
    check_each({f"{name}: {column.name}": (name, column) for name, table in RECORDED.items()
                for column in table.recorded}, check)


@pytest.mark.parametrize(("name", "times"), [("jobs", JOB_TIMES), ("tasks", TASK_TIMES)])
def test_a_time_of_every_status_that_is_simulated(eventful, name, times):
    table = eventful.table(name)
    never = {time for time in times if table[time].isna().all()}
    assert never - RARE.get(name, set()) == NOT_SIMULATED[name]


def test_tables_have_the_columns_of_the_schema_and_no_others(eventful):
    times = {"jobs": JOB_TIMES, "tasks": TASK_TIMES}
    for name, table in RECORDED.items():
        expected = [column.name for column in table.recorded] + list(times.get(name, ()))
        assert eventful.table(name).columns.tolist() == expected


def test_every_transfer_is_recorded_whether_it_has_ended_or_not(eventful):
    transfers, counters = eventful.transfers, eventful.manifest["counters"]
    assert transfers["transfer_id"].is_unique and len(transfers) == counters["transfers_made"]
    under_way = transfers["ended_s"].isna()
    assert 0 < under_way.sum() == counters["transfers"] - counters["transfers_ended"]
    assert (transfers["submitted_s"][under_way] <= eventful.manifest["simulated_s"]).all()
