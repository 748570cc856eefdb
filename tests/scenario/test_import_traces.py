"""Traces in SWF and GWF: what is read, what a record becomes, and how malformed files are told."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.errors import InputFileError, ScenarioError
from simgrid_broker.scenario.importers.archives import numbered_names
from simgrid_broker.scenario.importers.files import N_PROBLEMS
from simgrid_broker.scenario.importers.traces import guessed_format, read_trace, trace_tasks
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.campaigns import DEFAULT_GROUPING, Trace

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real files is not here")


def swf(job=1, submit=0, run=100, processors=1, *, requested=-1, seconds=-1, used_kb=-1, asked_kb=-1, status=1, user=3,
        group=4):
    """One SWF line of a plain job, but for what is named."""
    return (f"{job} {submit} -1 {run} {processors} -1 {used_kb} {requested} {seconds} {asked_kb} {status} {user} "
            f"{group} -1 -1 1 -1 -1")


def gwf(job="1", submit=0, run=100, processors=1, user="U12", group="G1", n_fields=29, sep="\t"):
    """One GWF line of a plain job, cut to `n_fields`."""
    fields = [job, submit, -1, run, processors, -1, -1, -1, -1, -1, 1, user, group, *[-1] * 5, "UNITARY", *[-1] * 10]
    return sep.join(map(str, fields[:n_fields]))


def written(tmp_path, *lines, name="trace.swf"):
    """A file of these lines."""
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def read(tmp_path, *lines, name="trace.swf", group_by=("record",), **options):
    """Tasks and remarks of a file of these lines; each is a task of its own unless they are grouped."""
    return read_trace(written(tmp_path, *lines, name=name), group_by=group_by, **options)


def problems_of(call):
    """The problems of the InputFileError that `call` raises."""
    with pytest.raises(InputFileError) as caught:
        call()
    return caught.value.problems


@pytest.mark.parametrize(("record", "options", "column", "expected"), [
    pytest.param({}, {}, "n_jobs", 1, id="one job a task"),
    pytest.param({}, {}, "work_hs06s_per_event", 1000, id="work is run time x processors x corepower"),
    pytest.param({"processors": 8}, {"corepower": 2}, "work_hs06s_per_event", 1600, id="eight processors of power 2"),
    pytest.param({"run": 99.5}, {}, "work_hs06s_per_event", 995, id="decimals are read"),
    pytest.param({}, {}, "cputime", 1000, id="without a requested time the true one is claimed"),
    pytest.param({"seconds": 300}, {}, "cputime", 3000, id="the requested time is claimed"),
    pytest.param({"processors": 0, "requested": 6}, {}, "corecount", 6, id="no processors: those requested"),
    pytest.param({"processors": -1, "requested": -1}, {}, "corecount", 1, id="unknown processors: one"),
    pytest.param({"processors": 4, "requested": 6}, {}, "corecount", 4, id="processors had win over requested ones"),
    pytest.param({}, {}, "maxpss_mb", 2000, id="unknown memory gets the default"),
    pytest.param({"processors": 2}, {"memory_per_core": 500}, "maxpss_mb", 1000, id="default memory is per core"),
    pytest.param({"used_kb": 64000, "processors": 2}, {}, "maxpss_mb", 128, id="used memory is kB per processor"),
    pytest.param({"asked_kb": 64000}, {}, "maxpss_mb", 64, id="unknown use: the memory requested"),
    pytest.param({"used_kb": 1000, "asked_kb": 64000}, {}, "ramcount", 64, id="the memory requested is claimed"),
    pytest.param({"used_kb": 64000, "asked_kb": 1000}, {}, "ramcount", 64, id="a job claims at least what it used"),
    pytest.param({}, {}, "max_attempt", 1, id="one attempt"),
    pytest.param({"status": 0}, {}, "failure_rate", np.nan, id="no failures are added to a recorded job"),
    pytest.param({}, {}, "cpu_efficiency", 1, id="efficiency 1"),
    pytest.param({}, {}, "share", -1, id="tagging finds the share"),
    pytest.param({}, {"share": 2}, "share", 2, id="or it is given"),
])
def test_what_a_record_becomes(tmp_path, record, options, column, expected):
    tasks, _ = read(tmp_path, swf(**record), **options)
    assert tasks.rows[column].tolist() == [pytest.approx(expected, nan_ok=True)]


@pytest.mark.parametrize(("comment", "names"), [
    pytest.param("Partition:  4 liv.ac.uk", {4: "liv.ac.uk"}, id="a partition of LCG"),
    pytest.param("Queue: 1 - Normal jobs - not preemptible", {}, id="a queue is no partition"),
    pytest.param("Partition: 1 - Normal jobs - not preemptible", {1: "Normal jobs"}, id="a description behind a dash"),
    pytest.param("Partition: 0  batch    batch", {0: "batch"}, id="two columns"),
    pytest.param("Partition: batch", {}, id="no number"),
])
def test_names_of_partitions_in_the_header(comment, names):
    assert numbered_names((comment,), "Partition") == names


def test_partitions_of_one_name_are_told_apart():
    assert numbered_names(("Partition: 1 a", "Partition: 2 a", "Partition: 1 b"), "Partition") == {1: "a", 2: "a-2"}


def test_names_of_tasks(tmp_path):
    tasks, _ = read(tmp_path, swf(user=3, group=4), swf(user=-1, group=-1, submit=1))
    rows, names = tasks.rows, tasks.vocabularies
    assert [names["users"][k] for k in rows["user"]] == ["U3", ""]
    assert [names["working_groups"][k] for k in rows["working_group"]] == ["G4", ""]
    assert {names["labels"][k] for k in rows["label"]} == {"user"}
    assert {names["processing_types"][k] for k in rows["processing_type"]} == {"trace"}


def test_comments_stand_anywhere_and_the_order_is_mended(tmp_path):
    tasks, remarks = read(tmp_path, "; Version: 2.2", swf(submit=50), "  ; a note", "", swf(submit=10, run=7), ";")
    assert tasks.rows["arrival_s"].tolist() == [0, 40]
    assert tasks.rows["work_hs06s_per_event"].tolist() == [70, 1000]
    assert tasks.rows["jeditaskid"].tolist() == [1, 2]
    assert any("were sorted: 1" in remark for remark in remarks)
    assert any("submitted at 10 s" in remark for remark in remarks)


def test_jobs_of_one_instant_keep_the_order_of_the_file(tmp_path):
    tasks, _ = read(tmp_path, *(swf(submit=0, run=run) for run in (5, 3, 9)))
    assert tasks.rows["work_hs06s_per_event"].tolist() == [50, 30, 90]


@pytest.mark.parametrize(("line", "word"), [
    pytest.param(swf(job=7, run=-1), "never ran", id="run time unknown"),
    pytest.param(swf(job=7, run=0), "never ran", id="run time 0"),
    pytest.param(swf(job=7, submit=-1), "submit time is unknown", id="submit time unknown"),
    pytest.param(swf(job=7, processors=32768), "more than 32767 processors", id="too many processors for the tables"),
])
def test_what_cannot_be_replayed_is_left_out_and_counted(tmp_path, line, word):
    tasks, remarks = read(tmp_path, swf(), line, swf(job=3))
    assert len(tasks.rows) == 2
    assert [remark for remark in remarks if word in remark and remark.endswith(": 1 (job 7)")]


def test_parts_of_a_checkpointed_job_do_not_count_twice(tmp_path):
    tasks, remarks = read(tmp_path, *(swf(job=job, status=status) for job, status in ((1, 1), (1, 2), (1, 3), (2, 3))))
    assert len(tasks.rows) == 2
    assert any("parts of a job" in remark and "2 (job 1, job 1)" in remark for remark in remarks)


def test_more_groups_than_the_tables_hold(tmp_path):
    problem, = problems_of(lambda: read(tmp_path, *(swf(job=k, group=k) for k in range(32769))))
    assert (problem.key, problem.value) == ("working_groups", 32769)


def test_failed_and_cancelled_jobs_are_told(tmp_path):
    _, remarks = read(tmp_path, swf(job=1, status=0), swf(job=2, status=5), swf(job=3))
    assert any(remark.startswith("jobs that failed are replayed") and "(job 1)" in remark for remark in remarks)
    assert any(remark.startswith("jobs that were cancelled") and "(job 2)" in remark for remark in remarks)


def test_limit_and_time_scale(tmp_path):
    tasks, _ = read(tmp_path, *(swf(submit=k) for k in range(10)), limit=3, time_scale=60)
    assert tasks.rows["arrival_s"].tolist() == [0, 60, 120]


def test_a_header_that_promises_more_is_told(tmp_path):
    _, remarks = read(tmp_path, "; MaxJobs: 9", "; MaxRecords: 9", swf())
    assert [remark for remark in remarks if "MaxRecords is 9, the file holds 1" in remark]


def test_fewer_columns_in_the_whole_file(tmp_path):
    tasks, remarks = read(tmp_path, "1 0 -1 100 2", "2 1 -1 100 2")
    assert tasks.rows["corecount"].tolist() == [2, 2]
    assert any("5 of 18 fields" in remark for remark in remarks)


def test_line_ends_and_byte_order_mark(tmp_path):
    path = tmp_path / "trace.swf"
    path.write_bytes(b"\xef\xbb\xbf; Computer: x\r\n" + swf().encode() + b"\r\n; caf\xe9\r\n" + swf().encode())
    assert len(read_trace(path)[0].trace) == 2


def test_gwf_of_29_columns(tmp_path):
    tasks, _ = read(tmp_path, "# a comment", gwf(), gwf(job="J2", submit=5, user="7", sep="  "), name="trace.gwf")
    assert tasks.rows["arrival_s"].tolist() == [0, 5]
    assert [tasks.vocabularies["users"][k] for k in tasks.rows["user"]] == ["U12", "U7"]


def test_gwf_with_fewer_columns_and_empty_fields(tmp_path):
    line = "1\t0\t\t50\t2\t\t\t\t\t\t1\tU1\t"
    tasks, remarks = read(tmp_path, line, gwf(submit=1), gwf(submit=2, n_fields=27), name="trace.gwf")
    assert len(tasks.rows) == 3
    assert any("fewer than 29 fields" in remark and remark.endswith(": 2") for remark in remarks)


def test_columns_that_a_gwf_lacks_are_unknown(tmp_path):
    tasks, remarks = read(tmp_path, gwf(n_fields=5), name="trace.gwf")
    assert tasks.vocabularies["users"] == ("",)
    assert not any("failed" in remark for remark in remarks)


def test_gwf_workflow_variant(tmp_path):
    tasks, remarks = read(tmp_path, "WorkflowID, JobID , SubmitTime, RunTime, NProcs, ReqNProcs, Dependencies",
                          "0, 1, 16, 11, 1, 1, ", "0, 2, 40, 11, 2, 1, 1", name="trace.gwf")
    assert tasks.rows["arrival_s"].tolist() == [0, 24]
    assert tasks.rows["corecount"].tolist() == [1, 2]
    assert any("dependencies are not simulated" in remark and remark.endswith(": 1 (2)") for remark in remarks)


def test_a_job_that_never_ran_in_gwf(tmp_path):
    tasks, remarks = read(tmp_path, gwf(), gwf(job="J9", run=-1), name="trace.gwf")
    assert len(tasks.rows) == 1
    assert any("never ran" in remark and "J9" in remark for remark in remarks)


@pytest.mark.parametrize(("name", "line", "expected"), [
    pytest.param("a.swf", "", "swf", id="by name"),
    pytest.param("a.SWF.gz", "", "swf", id="by name, packed and in capitals"),
    pytest.param("a.gwf", "", "gwf", id="gwf by name"),
    pytest.param("a.csv", "pandaid,job_walltime", "cgsim", id="a column that only CGSim has"),
    pytest.param("a.csv", "id,site", "panda", id="a CSV file whose columns have names of their own"),
    pytest.param("a.json", "", "panda", id="JSON by name"),
    pytest.param("a.parquet", "", "panda", id="Parquet by name"),
    pytest.param("a", "PAR1", "panda", id="Parquet by content"),
    pytest.param("a", '{"jobs": []}', "panda", id="JSON by content"),
    pytest.param("a.log", "; Version: 2", "swf", id="a semicolon begins a comment of SWF"),
    pytest.param("a", swf(), "swf", id="eighteen fields"),
    pytest.param("a", "# JobID", "gwf", id="a hash begins a comment of GWF"),
    pytest.param("a", gwf(), "gwf", id="29 fields"),
    pytest.param("a", "PandaID,creationtime", "panda", id="a header with PanDA's names"),
])
def test_guessed_format(tmp_path, name, line, expected):
    path = tmp_path / name
    path.write_text(line)
    assert guessed_format(path) == expected


@pytest.mark.parametrize(("lines", "line", "word"), [
    pytest.param([swf(), "1 2 3"], 2, "18 fields", id="a line that is cut"),
    pytest.param([swf(), swf() + " 9"], 2, "18 fields", id="a field too many"),
    pytest.param([swf(), swf(run="abc")], 2, "number", id="letters where a number belongs"),
    pytest.param([swf(run="nan")], 1, "number", id="nan is no number"),
    pytest.param([swf(run="1e999")], 1, "number", id="a number that is too large"),
    pytest.param([swf(run="1_0")], 1, "number", id="underscores belong to Python"),
    pytest.param([swf(run="١")], 1, "number", id="digits of another script"),
    pytest.param(["; only comments"], None, "at least one record", id="no records"),
    pytest.param([swf(run=-1)], None, "at least one record of a job that ran", id="no job that ran"),
    pytest.param(["1 2 3 4"], 1, "18 fields", id="too few fields for any SWF"),
    pytest.param(["a\x00b"], 1, "binary", id="binary"),
])
def test_malformed_swf(tmp_path, lines, line, word):
    problem, = problems_of(lambda: read(tmp_path, *lines))
    assert problem.file.endswith("trace.swf")
    assert problem.line == line
    assert word in problem.expected


@pytest.mark.parametrize(("lines", "line", "word"), [
    pytest.param([gwf(), "1\t2\t3"], 2, "29 fields", id="a line that is cut"),
    pytest.param([gwf() + "\t9"], 1, "29 fields", id="a field too many"),
    pytest.param([gwf(run="x")], 1, "number", id="letters where a number belongs"),
    pytest.param(["JobID,SubmitTime,RunTme", "1,2,3"], 1, "column", id="a misspelt column"),
    pytest.param(["JobID,SubmitTime,RunTime", "1,2"], 2, "3 fields", id="another number of fields than the header"),
    pytest.param(["JobID,SubmitTime,RunTime"], 1, "below the header", id="nothing below the header"),
])
def test_malformed_gwf(tmp_path, lines, line, word):
    problems = problems_of(lambda: read(tmp_path, *lines, name="trace.gwf"))
    assert problems[0].line == line
    assert word in problems[0].expected


def test_all_bad_lines_at_once_up_to_a_limit(tmp_path):
    problems = problems_of(lambda: read(tmp_path, *[swf(run="x"), swf()] * 30))
    assert [problem.line for problem in problems[:3]] == [1, 3, 5]
    assert len(problems) == N_PROBLEMS + 1
    assert str(problems[-1]).endswith("not shown: 10")


@pytest.mark.parametrize("damage", [
    pytest.param(lambda packed: packed[:-20], id="cut"),
    pytest.param(lambda packed: packed[:len(packed) // 2] + b"\xff" * 9 + packed[len(packed) // 2 + 9:], id="garbled"),
])
def test_a_damaged_gzip_file(tmp_path, damage):
    path = tmp_path / "trace.swf.gz"
    path.write_bytes(damage(gzip.compress("\n".join(swf(job=k, run=k + 1) for k in range(5000)).encode())))
    problem, = problems_of(lambda: read_trace(path))
    assert problem.line >= 1
    assert "complete gzip file" in problem.expected


def test_a_gzip_file_of_two_members(tmp_path):
    path = tmp_path / "trace.swf.gz"
    path.write_bytes(b"".join(gzip.compress(f"{swf(submit=k)}\n".encode()) for k in range(2)))
    assert len(read_trace(path)[0].trace) == 2


def test_a_file_that_is_not_there(tmp_path):
    problem, = problems_of(lambda: read_trace(tmp_path / "none.swf"))
    assert "readable file" in problem.expected


def test_a_format_that_cannot_be_guessed(tmp_path):
    assert "swf, gwf, panda, cgsim" in problems_of(lambda: read(tmp_path, "", name="empty"))[0].expected
    problem, = problems_of(lambda: read(tmp_path, "hello there", name="trace.txt"))
    assert "swf, gwf, panda, cgsim" in problem.expected


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(0.01, 1e7), st.integers(1, 5000), st.integers(-1, 10**6)),
                min_size=1, max_size=30))
def test_any_record_runs_as_long_as_it_did(tmp_path_factory, records):
    lines = [swf(job=k, submit=submit, run=repr(run), processors=n, seconds=asked)
             for k, (submit, run, n, asked) in enumerate(records)]
    rows = read(tmp_path_factory.mktemp("swf"), *lines)[0].rows
    expected = sorted(records, key=lambda record: record[0])
    assert np.allclose(rows["work_hs06s_per_event"] / rows["corecount"] / 10, [run for _, run, _, _ in expected])
    assert np.array_equal(rows["arrival_s"], [submit - expected[0][0] for submit, *_ in expected])


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_any_line_is_read_or_told(tmp_path_factory, line):
    path = tmp_path_factory.mktemp("swf") / "trace.swf"
    path.write_text(f"{swf()}\n{line}\n", newline="")
    try:
        read_trace(path)
    except InputFileError as error:
        assert all(problem.file == str(path) for problem in error.problems)


def scenario(**workload):
    """A day on one site with two leaf shares."""
    return Scenario.model_validate({
        "name": "day", "duration": "1 day", "workload": workload, "grid": {"sites": {"A": {"cores": 8}}},
        "shares": [{"name": "P", "value": 1, "children": [{"name": "Express", "value": 1}]},
                   {"name": "Q", "value": 1}]})


def test_trace_of_a_scenario(tmp_path):
    path = written(tmp_path, swf(), swf(submit=86399), swf(submit=86400))
    tasks, remarks = trace_tasks(Trace(file=path, share="Q", corepower=20), scenario())
    assert tasks.rows["share"].tolist() == [1]
    assert tasks.rows["n_jobs"].tolist() == [2]
    assert tasks.trace["work_hs06s"].tolist() == [2000, 2000]
    assert any("after the end of the scenario: 1" in remark for remark in remarks)
    assert tasks.replica_site.shape == (1, 4)


def test_an_unknown_share(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        trace_tasks(Trace(file=written(tmp_path, swf()), share="Expres"), scenario())
    assert caught.value.problems[0].nearest == ("Express",)


@needs_data
@pytest.mark.parametrize(("name", "n_tasks", "first_walltime", "efficiency"), [
    pytest.param("swf/LCG-2005-1_first60000.swf.gz", 59999, 83, 1, id="LCG"),
    pytest.param("swf/accasim_workload.swf", 25, 976, 1, id="no header, decimals"),
    pytest.param("swf/opendc_ctc_sp2_excerpt.swf", 5, 306 * 937, 142 / 937, id="CTC-SP2"),
    pytest.param("swf/lapis_unilu_gaia_excerpt.swf", 8, 160 * 35541, 32096 / 35541,
                 id="a long header with comments in between"),
    pytest.param("gwf/LCG-2005-1_first5000_derived.gwf.gz", 5000, 83, 1, id="GWF of 29 columns"),
    pytest.param("gwf/opendc_workflow_variant.gwf", 63, 11, 1, id="GWF of seven columns"),
])
def test_real_traces(name, n_tasks, first_walltime, efficiency):
    """The first job has its wall time, s x cores, and the CPU efficiency that its CPU time gives."""
    tasks, _ = read_trace(DATA / name, group_by=("record",))
    assert len(tasks.rows) == n_tasks
    first = tasks.rows[0]
    assert first["cpu_efficiency"] == np.float32(efficiency)
    walltime = first["work_hs06s_per_event"] / 10 / float(first["cpu_efficiency"])
    assert walltime == pytest.approx(first_walltime, rel=1e-12)
    assert (np.diff(tasks.rows["arrival_s"]) >= 0).all()


@needs_data
def test_both_forms_of_one_log_agree():
    of_swf, of_gwf = (read_trace(DATA / name, limit=5000, group_by=("record",))[0].rows for name in (
        "swf/LCG-2005-1_first60000.swf.gz", "gwf/LCG-2005-1_first5000_derived.gwf.gz"))
    for column in ("arrival_s", "work_hs06s_per_event", "cputime", "corecount", "user", "working_group"):
        assert np.array_equal(of_swf[column], of_gwf[column])


def executable_of(line, number):
    """The SWF line with another executable."""
    fields = line.split()
    fields[13] = str(number)
    return " ".join(fields)


@pytest.mark.parametrize(("other", "options", "n_tasks"), [
    pytest.param(swf(submit=50, run=7), {}, 1, id="time and work may differ"),
    pytest.param(swf(user=9), {}, 2, id="another owner"),
    pytest.param(swf(group=9), {}, 2, id="another group"),
    pytest.param(swf(processors=2), {}, 2, id="more cores"),
    pytest.param(swf(used_kb=1_900_000), {}, 1, id="memory of the same class"),
    pytest.param(swf(used_kb=2_000_001), {}, 2, id="memory of the next class"),
    pytest.param(executable_of(swf(), 5), {}, 2, id="another executable"),
    pytest.param(executable_of(swf(), 5), {"group_by": ()}, 1, id="without a look at executables"),
    pytest.param(swf(), {"group_by": ("record",)}, 2, id="each on its own"),
])
def test_which_recorded_jobs_are_one_task(tmp_path, other, options, n_tasks):
    tasks, _ = read(tmp_path, swf(), other, **{"group_by": DEFAULT_GROUPING} | options)
    assert len(tasks.rows) == n_tasks
    assert tasks.rows["n_jobs"].sum() == len(tasks.trace) == 2


@pytest.mark.parametrize(("column", "expected"), [
    pytest.param("cputime", 3000, id="the longest time"),
    pytest.param("ramcount", 1990, id="the most memory"),
    pytest.param("work_hs06s_per_event", 550, id="mean work"),
    pytest.param("arrival_s", 0, id="the first submission"),
    pytest.param("first_record", 0, id="its jobs begin the table"),
])
def test_what_a_task_claims_of_its_jobs(tmp_path, column, expected):
    tasks, _ = read(tmp_path, swf(run=10, used_kb=1_990_000, seconds=300), swf(run=100, used_kb=1_500_000, submit=9),
                    group_by=())
    assert tasks.rows[column].tolist() == [expected]


def test_jobs_of_a_task_keep_what_is_their_own(tmp_path):
    tasks, remarks = read(tmp_path, swf(submit=5, run=30), swf(user=8, submit=7, run=4), swf(submit=9, run=20),
                          group_by=())
    of = tasks.trace
    assert list(zip(of["jeditaskid"].tolist(), of["chunk"].tolist(), strict=True)) == [(1, 0), (1, 1), (2, 0)]
    assert of["submitted_s"].tolist() == [0, 4, 2]
    assert of["work_hs06s"].tolist() == [300, 200, 40]
    assert tasks.rows["first_record"].tolist() == [0, 2]
    assert "3 recorded jobs are the input of 2 tasks, by owner, group, cores, memory" in remarks


def test_random_draws_are_keyed_by_the_first_record_of_a_task(tmp_path):
    lines = [swf(job=k, submit=k, user=k % 3) for k in range(9)]
    luck, with_more = (dict(zip(tasks.vocabularies["users"], tasks.rows["luck"].tolist(), strict=True)) for tasks in (
        read(tmp_path, *some, group_by=())[0] for some in (lines, [swf(job=99, submit=0, user=7), *lines, lines[0]])))
    assert len(set(with_more.values())) == 4
    assert {user: with_more[user] for user in luck} == luck


def test_records_of_one_number_have_draws_of_their_own(tmp_path):
    tasks, _ = read(tmp_path, *[swf(job=1)] * 5)
    assert len(set(tasks.rows["luck"].tolist())) == 5


@pytest.mark.parametrize(("values", "grouping"), [
    pytest.param({}, ("executable",), id="by executable"),
    pytest.param({"group_by": []}, (), id="by nothing more"),
    pytest.param({"as": "jobs"}, (), id="jobs are not grouped further"),
])
def test_the_grouping_of_a_scenario(values, grouping):
    trace = Trace(file=Path("x.swf"), **values)
    assert trace.grouping == grouping


def test_jobs_without_tasks_cannot_be_grouped():
    with pytest.raises(ValueError, match="leave it out with as: jobs"):
        Trace(file=Path("x.swf"), **{"as": "jobs", "group_by": ["record"]})
