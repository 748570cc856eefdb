"""PanDA job records: the four kinds of files, names of columns, units, what is unknown, and malformed files."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panda_job import JOB, job, written

from simgrid_broker.errors import InputFileError, ScenarioError
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.importers.panda import read_panda_jobs
from simgrid_broker.scenario.importers.traces import read_trace
from simgrid_broker.scenario.model import Grid, Scenario
from simgrid_broker.schema.jobs import FIELDS, NUMBERS, RecordColumns

KINDS = ("json", "index", "csv", "parquet")

GRID = Grid(sites={"East": {"stage_latency": 5, "stage_in_rate": 1e6}, "West": {}},
            queues={"A": {"atlas_site": "East", "corepower": 12}, "B": {"atlas_site": "West", "corepower": 8}})
"""Two sites with a queue each."""


def read(folder, *jobs, kind="json", **options):
    """Table of these records, and remarks."""
    tally = Tally()
    return read_panda_jobs(written(folder, *jobs, kind=kind), tally, **options), tally.remarks()


def replayed(folder, *jobs, grid=GRID, **options):
    """Tasks of these records, each one of its own, and remarks."""
    return read_trace(written(folder, *jobs), grid=grid, group_by=("record",), **options)


def problems_of(call):
    """The problems of the InputFileError that `call` raises."""
    with pytest.raises(InputFileError) as caught:
        call()
    return caught.value.problems


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_job_in_every_kind_of_file(tmp_path, kind):
    table, remarks = read(tmp_path, job(), job(pandaid=2, corecount=None), kind=kind)
    assert table.pandaid.tolist() == ["1", "2"]
    assert table.run_s.tolist() == [3600, 3600] and table.wait_s.tolist() == [600, 600]
    assert table.cores.tolist() == [8, 1] and table.cpuconsumptiontime.tolist() == [14_400, 14_400]
    assert table.gshare.tolist() == ["", ""] and table.inputfilebytes.isna().all()
    assert remarks == []


@pytest.mark.parametrize(("fields", "column", "expected"), [
    pytest.param({"corecount": 0}, "cores", 1, id="no cores are one"),
    pytest.param({"hs06": 96}, "corepower", 12, id="hs06 is of the slot"),
    pytest.param({"hs06": 0}, "corepower", np.nan, id="hs06 of 0 is unknown"),
    pytest.param({"hs06sec": 96 * 3600}, "corepower", 12, id="hs06sec is wall time x power of the slot"),
    pytest.param({"cpuconsumptiontime": None}, "cpuconsumptiontime", np.nan, id="unknown CPU time is not 0"),
    pytest.param({"cpuconsumptiontime": 0}, "cpuconsumptiontime", 0, id="a CPU time of 0 was measured"),
    pytest.param({"pilottiming": "0|5|1181|7|3|8"}, "payload_s", 1181, id="payload in pilottiming"),
    pytest.param({"pilottiming": "0|5|1181|7|3|8"}, "stage_out_s", 7, id="stage-out in pilottiming"),
    pytest.param({"pilottiming": "0|||7|3"}, "payload_s", np.nan, id="parts of pilottiming may be unknown"),
    pytest.param({"pilottiming": "0|5|4000|7|3"}, "payload_s", np.nan, id="a payload longer than its job"),
    pytest.param({"starttime": "2025-01-27 01:59:59"}, "wait_s", np.nan, id="started before its creation"),
    pytest.param({"starttime": None, "durationsec": 77}, "run_s", 77, id="duration of a job without start"),
    pytest.param({"starttime": None}, "run_s", np.nan, id="never started"),
    pytest.param({"endtime": "2025-01-27 02:10:00"}, "run_s", np.nan, id="no time passed"),
    pytest.param({"starttime": "2025-01-27T02:10:00.500Z"}, "run_s", 3599.5, id="time of the index"),
    pytest.param({"starttime": "2025-01-27 02:10:00.500000000"}, "run_s", 3599.5, id="nanoseconds"),
    pytest.param({"starttime": "2025-01-27T03:10:00.5+01:00"}, "run_s", 3599.5, id="another zone"),
    pytest.param({"creationtime": 0, "starttime": 40, "endtime": 100}, "run_s", 60, id="seconds"),
])
def test_what_a_field_becomes(tmp_path, fields, column, expected):
    table, _ = read(tmp_path, job(**fields))
    assert table[column].tolist() == [pytest.approx(expected, nan_ok=True)]


def test_upper_case_other_names_and_given_columns(tmp_path):
    theirs = {"PANDAID": 7, "creationTime": 0, "start_time": 5, "wall_time": 9, "where_it_ran": "B", "x": 1}
    table, remarks = read(tmp_path, theirs, kind="csv", columns=RecordColumns(computingsite="Where_it_ran"))
    assert table.pandaid[0] == "7" and table.computingsite[0] == "B" and table.run_s[0] == 9 and table.wait_s[0] == 5
    assert remarks == ["columns that are not used: x"]


def test_an_identifier_keeps_all_its_digits(tmp_path):
    table, _ = read(tmp_path, job(pandaid=6_491_382_496), job(pandaid=6_491_382_497, jeditaskid=None),
                    job(pandaid=3, jeditaskid=40_000_000), kind="parquet")
    assert table.pandaid.tolist() == ["6491382496", "6491382497", "3"]
    assert table.jeditaskid.tolist() == ["", "", "40000000"]


def test_columns_that_are_missing_are_all_named_with_the_nearest(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("panda_job_id,creation,start,endtime\n1,2,3,4\n")
    problems = problems_of(lambda: read_panda_jobs(path, Tally()))
    assert [problem.line for problem in problems] == [1, 1, 1]
    assert [next(name for name in FIELDS if name in problem.expected) for problem in problems] == [
        "pandaid", "creationtime", "starttime"]
    assert "starttime and endtime, or durationsec" in problems[2].expected
    assert any("start" in problem.nearest for problem in problems)


def test_a_given_column_that_the_file_lacks(tmp_path):
    problem, = problems_of(lambda: read(tmp_path, job(my_site="A"), columns=RecordColumns(computingsite="my_sit")))
    assert (problem.key, problem.value, problem.nearest) == ("columns.computingsite", "my_sit", ("my_site",))


@pytest.mark.parametrize(("kind", "place"), [("json", (16, "starttime")), ("csv", (3, "starttime")),
                                             ("parquet", (None, "record 2: starttime"))])
def test_a_field_that_cannot_be_read_is_named_with_its_place(tmp_path, kind, place):
    problem, = problems_of(lambda: read(tmp_path, job(), job(pandaid=2, starttime="noon"), kind=kind))
    assert (problem.line, problem.key) == place and problem.value == "noon"


@pytest.mark.parametrize("text", ["[]", "{}", '{"jobs": []}', '{"jobs": 3}', "[3]", "pandaid\n", "a,b\n1\n", "PAR1 no",
                                  '{"jobs": [', "a,a\n1,2\n"])
def test_files_without_records_are_refused(tmp_path, text):
    path = tmp_path / "jobs"
    path.write_text(text)
    assert problems_of(lambda: read_panda_jobs(path, Tally()))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.fixed_dictionaries({
    "pandaid": st.integers(1, 2**40), "creationtime": st.integers(0, 10**9), "starttime": st.integers(0, 10**9),
    "endtime": st.integers(0, 10**9), "corecount": st.integers(0, 128),
    **{name: st.none() | st.floats(-1e3, 1e12) for name in ("cpuconsumptiontime", "hs06", "maxpss", "inputfilebytes")},
    "computingsite": st.sampled_from(["A", "B", "a queue, with a comma"])}), min_size=1, max_size=6))
def test_known_values_are_read_as_they_are_and_unknown_ones_stay_unknown(tmp_path_factory, kind, jobs):
    folder = tmp_path_factory.mktemp("jobs")
    table, _ = read(folder, *jobs, kind=kind)
    for name in ("cpuconsumptiontime", "hs06", "maxpss", "inputfilebytes"):
        assert table[name].tolist() == pytest.approx([np.nan if one[name] is None else one[name] for one in jobs],
                                                     nan_ok=True)
    assert table.computingsite.tolist() == [one["computingsite"] for one in jobs]
    lasted = np.array([one["endtime"] - one["starttime"] for one in jobs], float)
    assert table.run_s.tolist() == pytest.approx(np.where(lasted > 0, lasted, np.nan).tolist(), nan_ok=True)
    assert not (table.wait_s < 0).any() and (table.cores >= 1).all()


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["jobs", "hits", "_source", "job", *JOB, *NUMBERS[:4]]), inner, max_size=5),
    max_leaves=12).map(json.dumps))
def test_any_text_is_read_or_refused_with_its_problems(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "jobs"
    path.write_text(text, encoding="utf-8")
    try:
        table = read_panda_jobs(path, Tally())
    except InputFileError as error:
        assert error.problems
    else:
        assert len(table) and (table.pandaid != "").all()


def test_a_job_keeps_its_own_work_without_what_its_queue_added(tmp_path):
    tasks, _ = replayed(tmp_path, job(pilottiming="0|60|2700|60|30"))
    row, = tasks.trace
    assert row["cpu_efficiency"] == pytest.approx(14_400 / 2700 / 8)
    assert row["work_hs06s"] == pytest.approx(14_400 * 12)
    assert (row["run_s"], row["recorded_cputime_s"], row["record"]) == (3600, 14_400, 1)


def test_staging_and_overhead_of_the_queue_are_not_part_of_the_payload(tmp_path):
    slow = Grid.model_validate(GRID.model_dump() | {"queues": {"A": {
        "atlas_site": "East", "corepower": 12, "payload_overhead": 300, "cpu_efficiency": 0.8}}})
    tasks, remarks = replayed(tmp_path, job(inputfilebytes=95e6), grid=slow)
    payload = 3600 - (5 + 95) - 300
    assert tasks.trace["cpu_efficiency"] == pytest.approx([14_400 / (8 * payload) / 0.8])
    assert tasks.trace["work_hs06s"] == pytest.approx([14_400 * 12])
    assert any("less staging and payload_overhead" in remark and remark.endswith(": 1") for remark in remarks)


@pytest.mark.parametrize(("fields", "work"), [
    pytest.param({}, 14_400 * 12, id="CPU time at the power of its queue"),
    pytest.param({"hs06": 80}, 14_400 * 10, id="recorded power wins over the grid's"),
    pytest.param({"work": 5e4}, 5e4, id="recorded work wins"),
    pytest.param({"work": 5e5, "jobstatus": "failed"}, 14_400 * 12, id="a failed job did not do all of its work"),
    pytest.param({"computingsite": "nowhere"}, 14_400 * 9, id="a queue that the grid lacks"),
    pytest.param({"cpuconsumptiontime": None}, 8 * 3600 * 12, id="unknown CPU time: all of the wall time"),
    pytest.param({"cpuconsumptiontime": 0}, 8 * 3600 * 12, id="no CPU time: all of the wall time"),
])
def test_work_of_a_job(tmp_path, fields, work):
    tasks, _ = replayed(tmp_path, job(**fields), corepower=9)
    assert tasks.trace["work_hs06s"] == pytest.approx([work])


def test_work_of_a_task_is_the_median_of_its_jobs_per_event(tmp_path):
    jobs = [job(pandaid=k, jeditaskid=5, nevents=events, cpuconsumptiontime=cpu)
            for k, (events, cpu) in enumerate([(100, 1000), (100, 1100), (200, 5000)], start=1)]
    failed = job(pandaid=7, jeditaskid=5, nevents=100, cpuconsumptiontime=50, jobstatus="failed")
    tasks, remarks = replayed(tmp_path, *jobs, failed, job(pandaid=9), work="task")
    found = dict(zip(tasks.trace["record"].tolist(), (tasks.trace["work_hs06s"] / 12).tolist(), strict=True))
    assert found == {k: pytest.approx(cpu) for k, cpu in {1: 1100, 2: 1100, 3: 2200, 7: 50, 9: 14_400}.items()}
    assert "jobs without a task, or that did not finish, keep their own work: 2 (7, 9)" in remarks


def test_jobs_of_a_task_stay_together_and_owners_become_numbers(tmp_path):
    jobs = [job(pandaid=k, jeditaskid=k % 2 + 1, gshare="Production", processingtype="simul") for k in range(6)]
    tasks, _ = read_trace(written(tmp_path, *jobs), grid=GRID, leaves=("Analysis", "Production"))
    assert tasks.rows["n_jobs"].tolist() == [3, 3] and tasks.rows["share"].tolist() == [1, 1]
    assert tasks.vocabularies["users"] == ("U1",) and tasks.vocabularies["processing_types"] == ("simul",)
    assert tasks.vocabularies["labels"] == ("managed",)


def test_a_share_that_the_scenario_lacks_is_tagged_and_remarked(tmp_path):
    tasks, remarks = replayed(tmp_path, job(gshare="Elsewhere"), leaves=("Analysis",))
    assert tasks.rows["share"].tolist() == [-1]
    assert "jobs whose recorded share is no leaf of the scenario are tagged: 1 (Elsewhere)" in remarks


def test_jobs_that_have_not_ended_are_left_out(tmp_path):
    tasks, remarks = replayed(tmp_path, job(), job(pandaid=2, jobstatus="running"))
    assert tasks.trace["record"].tolist() == [1]
    assert "records left out because the job had not ended: 1 (2)" in remarks


@pytest.mark.parametrize(("options", "key"), [({"columns": RecordColumns(pandaid="x")}, "columns"),
                                              ({"work": "task"}, "work")])
def test_keys_of_panda_records_are_refused_for_other_formats(tmp_path, options, key):
    path = tmp_path / "trace.swf"
    path.write_text("1 0 -1 100 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(ScenarioError, match=f"workload.trace.{key}: has an effect on PanDA job records only"):
        read_trace(path, **options)
    read_trace(path, columns=RecordColumns(**RecordColumns().model_dump()))            # as a manifest has it


def test_a_column_that_is_no_field_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(ScenarioError, match="did you mean 'computingsite'"):
        Scenario.from_dict({"name": "a", "duration": "1h", "workload": {"trace": {
            "file": "x.json", "columns": {"computingsit": "A"}}}})
