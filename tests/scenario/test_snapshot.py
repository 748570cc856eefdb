"""Snapshot files: everything that is wrong is told at once, with file, line, key, value and near names."""

from pathlib import Path

import pytest

from simgrid_broker.errors import SnapshotError
from simgrid_broker.scenario import Snapshot, load_snapshot
from simgrid_broker.scenario.loading.origins import value_at

EXAMPLE = Path(__file__).parents[2] / "scenarios" / "snapshot.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


@pytest.fixture
def changed(tmp_path):
    """Path of the example with pieces of its text replaced."""
    def write(*pairs):
        text = TEXT
        for old, new in pairs:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = tmp_path / "snapshot.yaml"
        path.write_text(text, encoding="utf-8")
        return path
    return write


def line_of(piece):
    """Line of the example in which a piece of text stands."""
    return TEXT[:TEXT.index(piece)].count("\n") + 1


def problems_of(path, overrides=()):
    """What is wrong with a file."""
    with pytest.raises(SnapshotError) as caught:
        load_snapshot(path, overrides)
    return caught.value.problems


NORTH = "{queue: NORTH, share: Production, resource_type: MCORE, running: 100, activated: 20, transferring: 5}"


@pytest.mark.parametrize(("old", "new", "key", "said"), [
    pytest.param(NORTH, NORTH.replace("NORTH", "NORHT"), "jobs[4].queue", "unknown queue; did you mean 'NORTH'",
                 id="unknown queue"),
    pytest.param(NORTH, NORTH.replace("Production", "Prod"), "jobs[4].share", "unknown leaf share", id="unknown share"),
    pytest.param(NORTH, NORTH.replace("MCORE", "MCOR"), "jobs[4].resource_type", "did you mean 'MCORE'",
                 id="unknown resource type"),
    pytest.param(NORTH, NORTH.replace("activated", "activatd"), "jobs[4].activatd", "did you mean 'activated'",
                 id="unknown status"),
    pytest.param(NORTH, NORTH.replace("running: 100", "running: -1"), "jobs[4].running", "greater than or equal to 0",
                 id="negative number"),
    pytest.param(NORTH, NORTH.replace("running: 100", "running: true"), "jobs[4].running", "expected a number",
                 id="true is no number"),
    pytest.param(NORTH, NORTH.replace("running: 100", "running: 268435456"), "jobs[4].running", "with 8 cores each",
                 id="more cores than can be counted"),
    pytest.param("destination: WEST, queued_files: 90,", "destination: WEST, queued_files: 2147483528,",
                 "links[1].queued_files", "with the files of other links to WEST", id="more files than can be counted"),
    pytest.param("{nucleus: WEST, hs06sec: 3e+9", "{nucleus: EST, hs06sec: 3e+9", "work[1].nucleus",
                 "unknown site; did you mean", id="unknown nucleus"),
    pytest.param("{queue: NORTH, share: Production, jobs: 25}", "{queue: N, share: Production, jobs: 25}",
                 "placed[0].queue", "unknown queue", id="placed at an unknown queue"),
    pytest.param("  EAST: {workers_submitted: 10", "  AEST: {workers_submitted: 10", "queues.AEST",
                 "unknown queue", id="workers of an unknown queue"),
    pytest.param("{source: NORTH, destination: WEST, queued_files", "{source: NORTH, destination: W, queued_files",
                 "links[0].destination", "unknown site", id="traffic to an unknown site"),
    pytest.param("      NORTH: {disk: 60%}", "      NORDEN: {disk: 60%}", "tasks.102.input.NORDEN",
                 "unknown site", id="input at an unknown site"),
    pytest.param("      NORTH: {disk: 60%}", "      NORTH: {disk: 160%}", "tasks.102.input.NORTH.disk",
                 "less than or equal to 1", id="more input than there is"),
    pytest.param("    n_finished: 300", "    n_finished: 800", "tasks.102.n_jobs", "must exceed", id="nothing left"),
    pytest.param("    n_jobs_to_broker: 100", "    n_jobs_to_broker: 501", "tasks.102.n_jobs_to_broker",
                 "must not exceed the jobs that are left, 500", id="more jobs than are left"),
    pytest.param("  102:  ", "  x102:  ", "tasks.x102", "expected a jeditaskid", id="no number"),
    pytest.param("destination: WEST, closeness: 2", "destination: NORTH, closeness: 2",
                 "grid.links.pairs[0].destination",
                 "another site", id="rules of a scenario's grid hold"),
    pytest.param("time: 36h", "time: 36h\nlocked: [NORDEN/SCORE]", "locked[0]", "unknown candidate",
                 id="a lock on nothing"),
])
def test_one_mistake(changed, old, new, key, said):
    path = changed((old, new))
    problem = problems_of(path)[0]
    assert (problem.file, problem.key) == (str(path), key) and said in str(problem)
    assert abs(problem.line - line_of(old)) <= 1 or "n_jobs" in key


def test_all_mistakes_at_once(changed):
    path = changed((NORTH, NORTH.replace("NORTH", "NORHT")), ("hs06sec: 9e+9", "hs06sec: much"),
                   ("time: 36h", "time: late"), ("    n_jobs: 2000\n", ""))
    found = problems_of(path)
    assert [problem.key for problem in found] == ["time", "jobs[4].queue", "work[0].hs06sec", "tasks.101.n_jobs"]
    assert str(SnapshotError(found)).startswith("4 problems in the snapshot:")


@pytest.mark.parametrize(("part", "row"), [
    ("jobs", "  - " + NORTH), ("placed", "  - {queue: NORTH, share: Production, jobs: 25}")])
def test_nothing_is_described_twice(changed, part, row):
    assert "described a second time" in str(problems_of(changed((row, f"{row}\n{row}")))[0])


@pytest.mark.parametrize(("override", "said"), [
    ("gdpconfig.NQUEUELIMITSIT=3", "unknown key"),
    ("grid.queues.NORHT.status=offline", "did you mean 'NORTH'"),
    ("tasks.103.priority=1", "unknown name '103'"),
    ("workload.campaigns=3", "unknown key 'workload'"),
    ("time", "write dotted.key=value"),
])
def test_what_the_command_line_cannot_set(override, said):
    problem = problems_of(EXAMPLE, [override])[0]
    assert problem.file == "command line" and said in str(problem)


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "snapshot.yaml").write_text(TEXT, encoding="utf-8")
    problem = problems_of(tmp_path / "snapshots.yaml")[0]
    assert "cannot be read" in str(problem) and problem.nearest == ("snapshot.yaml",)


def test_a_key_of_a_scenario_is_none_of_a_snapshot(changed):
    assert "unknown key" in str(problems_of(changed(("time: 36h", "time: 36h\nduration: 36h")))[0])


def test_a_snapshot_can_extend_a_file_and_be_json(tmp_path):
    (tmp_path / "base.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "over.json").write_text('{"extends": "base.yaml", "time": 60, "tasks": {"102": {"priority": 9}}}')
    found = load_snapshot(tmp_path / "over.json")
    assert (found.time, found.tasks["102"].priority, found.tasks["102"].nucleus) == (60, 9, "WEST")
    assert found.origin("tasks.102.priority").file.endswith("over.json")


def test_to_dict_and_back():
    snapshot = load_snapshot(EXAMPLE)
    assert Snapshot.from_dict(snapshot.to_dict()) == snapshot


@pytest.mark.parametrize(("said", "broker"), [
    pytest.param({}, "task_brokerage", id="production without a nucleus"),
    pytest.param({"nucleus": "WEST"}, "job_brokerage", id="production with a nucleus"),
    pytest.param({"prodsourcelabel": "user"}, "analysis_brokerage", id="analysis"),
    pytest.param({"brokerage": "job_brokerage"}, "job_brokerage", id="as it is told"),
])
def test_which_broker_is_asked(said, broker):
    task = load_snapshot(EXAMPLE).with_values({f"tasks.101.{key}": value for key, value in said.items()}).tasks["101"]
    assert task.broker == broker


DATASET = {"n_files": 1, "files": {"a": {"bytes": 1}}}


@pytest.mark.parametrize(("changed", "key"), [
    pytest.param({"input": {"CENTRE": {"disk": 1}}, "datasets": {"d": DATASET}}, "input", id="input said twice"),
    pytest.param({"datasets": {"d": DATASET | {"secondary": True}}}, "datasets", id="no primary input"),
    *(pytest.param({"datasets": {"d": DATASET | {"attributes": f"ratio={ratio}"}}}, "datasets.d.attributes",
                   id=f"a ratio of {ratio}") for ratio in ("abc", "1e999", "-1", "nan")),
    pytest.param({"datasets": {"d": DATASET | {"replicas": {"CENTRE_DATADISK": {"files": 2}}}}},
                 "datasets.d.replicas.CENTRE_DATADISK.files", id="more files than there are"),
    pytest.param({"datasets": {"d": {"files": {"a": {"first_event": 2, "last_event": 1}}}}},
                 "datasets.d.files.a.last_event", id="events upside down"),
    pytest.param({"next_jobs": {"u": 0.5}}, "next_jobs.u", id="a number that draws nothing"),
    pytest.param({"splitting": {"nGBPerJob": 5}}, "splitting.nGBPerJob", id="a parameter that nothing reads")])
def test_what_a_task_says_of_its_input_agrees(changed, key):
    plain = load_snapshot(EXAMPLE).with_values({"tasks.102.input": {}})
    with pytest.raises(SnapshotError) as caught:
        plain.with_values({f"tasks.102.{name}": value for name, value in changed.items()})
    assert [problem.key for problem in caught.value.problems] == [f"tasks.102.{key}"]


@pytest.mark.parametrize(("changed", "key"), [
    pytest.param({"statistics_at": 129601}, "statistics_at", id="statistics of the future"),
    pytest.param({"queues.NORTH.laststart": 129601}, "queues.NORTH.laststart", id="a start to come"),
    pytest.param({"queues.NORTH.workers": {"SCORE": {"submitted": 2**31 - 1}}}, "queues.NORTH.workers_submitted",
                 id="more workers than can be counted")])
def test_numbers_of_queues_that_cannot_be(changed, key):
    with pytest.raises(SnapshotError) as caught:
        load_snapshot(EXAMPLE).with_values(changed)
    assert [problem.key for problem in caught.value.problems] == [key]


def test_a_lenient_snapshot_is_read_as_panda_reads_its_tables(changed):
    gone = "  - {queue: NORHT, share: Production, resource_type: MCORE, running: 1}\n" \
           "  - {queue: NORTH, share: Gone, resource_type: HUGE, running: 3}\n"
    path = changed(("  - " + NORTH, gone + "  - " + NORTH))
    assert len(problems_of(path, ["tasks.102.ramcount=-1"])) == 4
    snapshot = load_snapshot(path, ["strict=false", "tasks.102.ramcount=-1", "tasks.102.nucleus=NIRVANA"])
    assert snapshot.tasks["102"].ramcount == -1 and not snapshot.grid.sites["NIRVANA"].nucleus
    assert [(row.queue, row.share, row.resource_type) for row in snapshot.jobs[4:6]] == [
        ("NORTH", "Gone", None), ("NORTH", "Production", "MCORE")] and snapshot.shares[-1].name == "Gone"
    assert snapshot.import_remarks == (
        "1 x an unknown queue is left out: jobs[4].queue = 'NORHT'",
        "1 x an unknown leaf share is read as one without a target: jobs[5].share = 'Gone'",
        "1 x an unknown resource type is left out: jobs[5].resource_type = 'HUGE'",
        "1 x an unknown site is read as one without queues and storages: tasks.102.nucleus = 'NIRVANA'",
        "1 x numbers are out of range, and are read as they are: ramcount = -1")
    assert "did you mean" in str(problems_of(path, ["strict=true"])[0])


HARSH = {
    "tasks.102.ramunit": ("Gigabytes", "MB", "words are unknown, and are read as PanDA reads all others"),
    "grid.queues.NORTH.status": ("broken", "paused", "words are unknown, and are read as PanDA reads all others"),
    "grid.queues.NORTH.workflow": ("pul_ups", None, "an unknown worker mode is read as none"),
    "grid.queues.NORTH.gpus": ([{"vram": -1}], ({"vram": None},), "values without a meaning are left out"),
    "grid.queues.NORTH.catchall": (7, "7", "numbers are written for text, and are read as such"),
    "tasks.102.priority": (0.5, 0, "numbers are not whole, and are read without their fractions"),
    "tasks.102.datasets": ({"d": DATASET | {"replicas": {"CENTRE_DATADISK": {"files": 2}}}}, ...,
                           "must not exceed the 1 of the dataset"),
    "queues.NORTH.slot_requests": ([{"slots": None}, {"slots": 3}], ({"slots": 3},),
                                   "rows without a value that they need are left out")}
"""Values that only a lenient snapshot accepts, as which it reads them, and its remark."""


@pytest.mark.parametrize("key", HARSH)
def test_values_that_panda_reads_are_refused_with_their_names_unless_a_snapshot_is_lenient(key):
    plain = load_snapshot(EXAMPLE).with_values({"tasks.102.input": {}})
    value, reading, remark = HARSH[key]
    with pytest.raises(SnapshotError) as caught:
        plain.with_values({key: value})
    assert caught.value.problems[0].key.startswith(key)
    snapshot = plain.with_values({"strict": False, key: value})
    at = value_at(snapshot.to_dict(), tuple(key.split(".")))
    if isinstance(reading, tuple):
        assert [{name: row[name] for name in part} for part, row in zip(reading, at, strict=True)] == list(reading)
    else:
        assert reading is ... or at == reading
    assert any(f"1 x {remark}: {key}" in said for said in snapshot.import_remarks), snapshot.import_remarks


def test_queues_of_other_types_and_no_shares_in_a_lenient_snapshot():
    plain = load_snapshot(EXAMPLE)
    special = plain.with_values({"strict": False, "grid.queues.NORTH.type": "special"})
    assert "NORTH" not in special.grid.queues and all(row.queue != "NORTH" for row in special.jobs)
    none = plain.with_values({"strict": False, "shares": []})
    assert {"Undefined", "Production"} <= {share.name for share in none.shares}
    for missing in ({"grid.queues": {}}, {"resource_types": {}}):           # tables without which there is no grid
        with pytest.raises(SnapshotError, match="at least one"):
            plain.with_values({"strict": False, **missing})


def test_numbers_out_of_range_and_nulls_of_a_lenient_snapshot_are_read_as_the_nearest_that_have_a_meaning():
    # 0 as a limit of a slot is no limit, so that one below its range is the smallest, into which no job fits
    wrong = {"grid.queues.NORTH.maxrss": -1, "grid.queues.NORTH.maxinputsize": -7,
             "queues.NORTH.workers": {"SCORE": {"submitted": 2**31, "running": None}}}
    plain = load_snapshot(EXAMPLE)
    with pytest.raises(SnapshotError):
        plain.with_values(wrong)
    snapshot = plain.with_values({"strict": False, **wrong})
    queue, workers = snapshot.grid.queues["NORTH"], snapshot.queues["NORTH"].workers["SCORE"]
    assert (queue.maxrss, queue.maxinputsize, workers.submitted, workers.running) == (1, 0, 2**31 - 1, 0)
    remarks = [remark for remark in snapshot.import_remarks if "meaning" in remark or "nulls" in remark]
    assert len(remarks) == 2 and remarks[0].startswith("3 x numbers are out of range") and "running" in remarks[1]
