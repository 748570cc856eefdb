"""The splitter: what the next job at a queue gets, at each limit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import cfg, queues, task

from simgrid_broker.names import ClosedBy
from simgrid_broker.policy.tasks.cutting import (
    BESIDE,
    FREE,
    LIMITS,
    LOOSE,
    SECONDARY,
    SINGLE,
    STATE,
    TALLY,
    WHOLE,
    Beside,
    JobLimits,
    Room,
    add_beside,
    begin,
    cut_jobs,
    piece_walltime,
    rounded,
)
from simgrid_broker.policy.tasks.selection import files_to_read, selection
from simgrid_broker.policy.tasks.splitting import (
    GIB,
    Claims,
    QueueLimits,
    Splitting,
    beside_of,
    claims_of,
    job_limits,
    ng_for_target,
    preferred,
    queue_limits,
    size_limit,
    typical_files,
)
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.units import MIB
from simgrid_broker.views import PIECE

pytestmark = pytest.mark.rule("job_limits", "cutting.cut_jobs", "size_limit", "ng_for_target", "walltimes",
                              "piece_walltime", "typical_files", "preferred")

EDITIONS = ("documented", "deployed")


def pieces(n=1000, events=100.0, size=1.0 * MIB, boundary=None, retry=None):
    """New master files, all alike."""
    table = np.zeros(n, PIECE)
    table["unit"], table["events"], table["bytes"] = np.arange(n), events, size
    table["part_bytes"] = np.where(table["bytes"] > 0, table["bytes"], MIB)
    table["last_event"], table["file_events"] = np.ceil(table["events"]) - 1, np.ceil(table["events"])
    table["file"] = table["unit"]
    table["boundary"] = table["lumiblock"] = 0 if boundary is None else boundary
    table["retry"] = -1 if retry is None else retry
    return table


def limits(edition="documented", *, task_=None, queue=None, **parameters):
    """Limits at a queue without limits, for a task of 10 s an event, but for what is said."""
    known, one = dict(events=100.0, bytes=1.0 * MIB) | parameters, task_ or task()
    return job_limits(claims_of(one, edition), preferred(Splitting(**known), edition),
                      queue_limits(one, queues(**(queue or {})), 0, edition), edition)


def row_of(bound):
    """Limits as compiled functions read them."""
    return np.array([bound], LIMITS)[0]


def beside(n=0, size=0.0, **said):
    """A secondary dataset of files all alike, and its files; none of no files."""
    files, dataset = np.zeros(n, BESIDE), np.zeros(int(n > 0), SECONDARY)
    files["bytes"], files["events"], files["ranged_events"], files["boundary"] = size, math.nan, math.nan, -1
    dataset["number"] = n
    for name, value in (dict(per_job=-1, ratio=1.0, event_ratio=math.nan) | said).items():
        dataset[name] = value
    return Beside(files, dataset)


def jobs_of(table, bound, secondary=None, most=1000):
    """The jobs of a table, (k,) of CUT, and the secondary files that they read."""
    secondary = secondary or beside()
    room = Room.of(bound, most, len(secondary.datasets), 10_000)
    jobs = room.jobs[:cut_jobs(table, 0, secondary, room)]
    return jobs, [room.reads["file"][job["first_read"]:job["first_read"] + job["n_reads"]].tolist() for job in jobs]


def first_job(table, bound, secondary=None):
    """Pieces of the first job, and what closed it."""
    job = jobs_of(table, bound, secondary, most=1)[0][0]
    return job["count"], ClosedBy(job["closed_by"]).word


@pytest.mark.parametrize(("parameters", "expected"), [
    pytest.param({}, (200, "files"), id="200 files if nobody says"),
    pytest.param({"nMaxFilesPerJob": 7}, (7, "files"), id="nMaxFilesPerJob"),
    pytest.param({"nFilesPerJob": 9, "nMaxFilesPerJob": 7}, (9, "files"), id="nFilesPerJob wins over nMaxFilesPerJob"),
    pytest.param({"nEventsPerJob": 300}, (3, "events"), id="exactly nEventsPerJob is still fine"),
    pytest.param({"nEventsPerJob": 299}, (2, "events"), id="one event too many"),
    pytest.param({"tgtNumEventsPerJob": 250}, (2, "events"), id="tgtNumEventsPerJob"),
    pytest.param({"nEventsPerJob": 50}, (1, "events"), id="a single file is taken whatever it breaks"),
    pytest.param({"output_per_event": 10.0 * GIB / 500}, (5, "output"), id="10 GB of output are still fine"),
    pytest.param({"output_per_event": 10.0 * GIB / 499}, (4, "output"), id="more than 10 GB of output"),
])
def test_limits_of_the_task(parameters, expected):
    bound = limits("deployed", queue=dict(direct_io=[True]), task_=task(allowinputlan="use"), **parameters)
    assert first_job(pieces(), bound) == expected


@pytest.mark.parametrize(("hours", "maxtime_s", "expected"), [
    pytest.param(0, 3000, (3, "walltime"), id="exactly maxtime of the queue is still fine"),
    pytest.param(0, 2999, (2, "walltime"), id="a second too long"),
    pytest.param(0.5, 86400, (1, "walltime"), id="maxWalltime, h, when it is less than maxtime"),
    pytest.param(48, 3000, (3, "walltime"), id="maxtime when it is less than maxWalltime"),
    pytest.param(0, math.inf, (200, "files"), id="no limit"),
    pytest.param(0, 0, (200, "files"), id="0 is no limit"),
    pytest.param(0, 1, (1, "walltime"), id="a second is one"),
])
@pytest.mark.parametrize("edition", EDITIONS)
def test_limits_of_time(edition, hours, maxtime_s, expected):
    bound = limits(edition, maxWalltime=hours, queue=dict(maxtime_s=[maxtime_s]))
    assert first_job(pieces(), bound) == expected


@pytest.mark.parametrize(("events", "files"), [
    pytest.param(180.0, 2, id="two files take an hour"), pytest.param(180.01, 1, id="a fifth of a second more"),
])
def test_maxwalltime_is_in_hours(events, files):
    assert first_job(pieces(events=events), limits(maxWalltime=1)) == (files, "walltime")


@pytest.mark.parametrize(("output_per_event", "files"), [
    pytest.param(5.0 * GIB, 2, id="two files make 10 GB"), pytest.param(5.0 * GIB + 1, 1, id="two bytes more"),
])
def test_output_at_its_limit(output_per_event, files):
    bound = limits("deployed", queue=dict(direct_io=[True]), task_=task(allowinputlan="use"), events=1.0,
                   output_per_event=output_per_event)
    assert first_job(pieces(events=1.0), bound) == (files, "output")


def test_output_a_byte_above_its_limit():
    bound = limits(queue=dict(direct_io=[True]), task_=task(allowinputlan="use"), output_per_event=5.0 * GIB + 0.5)
    assert first_job(pieces(events=1.0), bound) == (1, "output")


@pytest.mark.parametrize(("ratio", "files"), [
    pytest.param(9.0, 100, id="1000 files with the secondary ones are still fine"),
    pytest.param(9.5, 95, id="a fraction of a secondary file is a whole one"),
    pytest.param(9.1, 99, id="99 and 901 files make 1000"), pytest.param(9.105, 98, id="99 and 902 files are too many"),
])
def test_secondary_files_are_whole(ratio, files):
    bound = limits("deployed", queue=dict(direct_io=[True]), task_=task(allowinputlan="use"))
    assert first_job(pieces(), bound, beside(9999, ratio=ratio)) == (files, "all_files")


@pytest.mark.parametrize(("said", "reads"), [
    pytest.param({}, [[0, 1], [2, 3], [4]], id="one for each master file"),
    pytest.param(dict(ratio=0.5), [[0], [1], [2]], id="one for two"),
    pytest.param(dict(per_job=1), [[0], [1], [2]], id="np: one for each job"),
    pytest.param(dict(n=3), [[0, 1], [2], []], id="there are no more"),
    pytest.param(dict(n=3, reusable=True), [[0, 1], [0, 1], [2]], id="ru: from the first one where too few are left"),
    pytest.param(dict(n=2, repeat=True), [[0, 1], [0, 1], [0]], id="repeat: from the first one when they end"),
    pytest.param(dict(n=3, nosplit=True), [[0, 1, 2]] * 3, id="nosplit: every job reads all"),
])
def test_secondary_datasets(said, reads):
    secondary = beside(said.pop("n", 100), **said)
    assert jobs_of(pieces(5), limits("deployed", nFilesPerJob=2), secondary)[1] == reads


def test_secondary_files_follow_the_events_of_the_master():
    files, dataset = beside(100, event_ratio=0.5)
    files["events"] = 40
    bound = limits("deployed", nEventsPerJob=200, counts_ratio=True)
    assert jobs_of(pieces(4), bound, Beside(files, dataset))[1] == [[0, 1, 2], [3, 4, 5]]


def test_secondary_files_count_towards_size_and_scratch():
    bound = limits("deployed", queue=dict(maxwdir_mb=[4096]))
    assert first_job(pieces(size=MIB), bound, beside(9999, size=255.0 * MIB))[0] == (4096 - 1500) // 256
    assert jobs_of(pieces(3), bound, beside(9, size=7.0))[0]["secondary_bytes"].tolist() == [21]
    direct = limits("deployed", queue=dict(maxwdir_mb=[4096], direct_io=[True]), task_=task(allowinputlan="use"))
    job, tally = np.zeros(1, STATE)[0], np.zeros(1, TALLY)[0]
    begin(job)
    add_beside(beside(1, size=7.0).files[0], beside(1).datasets[0], job, tally, row_of(direct), False)
    assert (job["size"], job["disk"]) == (7.0, 0.0)


@pytest.mark.rule("beside_of")
@pytest.mark.parametrize(("said", "boundaries"), [
    pytest.param(dict(ratio=2), [0, 0, 1, 1, -1, -1], id="so many for each master file"),
    pytest.param(dict(ratio=0.75), [0, 1, -1, -1], id="three for four master files"),
    pytest.param(dict(er=1, events_per_file=1), [-1] * 4, id="a file for each that has less than an event"),
    pytest.param(dict(np=2), [-1] * 6, id="so many for each job"),
    pytest.param(dict(files=3), [-1] * 3, id="a dataset of its own size"),
])
def test_boundaries_of_secondary_files(said, boundaries):
    found = beside_of([SecondaryInput(**said)], pieces(2, events=0.5, boundary=np.arange(2)))
    assert found.files["boundary"].tolist() == boundaries


@pytest.mark.parametrize(("edition", "n"), [("documented", 10), ("deployed", 1)])
def test_no_room_at_all(edition, n):
    bound = limits(edition, queue=dict(maxwdir_mb=[0.0]), task_=task(is_scout=False))
    assert first_job(pieces(10), bound)[0] == n


@pytest.mark.parametrize(("mode", "counts"), [
    pytest.param(1, [2, 1, 2, 1, 1], id="1: boundaryIDs are kept apart within the limits"),
    pytest.param(4, [3, 3, 1], id="4: and each together, whatever the limits"),
])
def test_groups_of_boundaries(mode, counts):
    bound = limits("deployed", groupBoundaryID=mode, nEventsPerJob=200, queue=dict(maxtime_s=[1]))
    assert cut(pieces(7, boundary=np.arange(7) // 3), bound._replace(walltime_s=math.inf))[0] == counts


def test_output_limits_a_group_of_one_boundary_file_by_file():
    bound = limits("deployed", groupBoundaryID=4, output_per_event=10.0 * GIB / 300)
    assert cut(pieces(7), bound) == ([3, 3, 1], ["output", "output", "end"])


def test_a_gap_between_events_closes_a_job():
    table = pieces(4)
    table["file"], table["file_events"], table["first_event"] = 0, 500, [0, 100, 250, 350]
    table["last_event"] = table["first_event"] + 99
    assert cut(table, limits("deployed", nEventsPerJob=1000)) == ([2, 2], ["gap", "end"])
    assert cut(table, limits("deployed"))[0] == [4]


def ranges(*spans, file=0, file_events=500, boundary=None):
    """Master files, or parts of one, of which jobs read these ranges of events."""
    table = pieces(len(spans), boundary=boundary)
    table["first_event"], table["last_event"] = zip(*spans, strict=True)
    table["file"], table["file_events"] = file, file_events
    table["events"] = table["last_event"] - table["first_event"] + 1
    return table


TWO_FILES = ranges((0, 99), (100, 199), (0, 99), (100, 199), file=[0, 0, 1, 1], file_events=200)


@pytest.mark.parametrize(("table", "bound", "counts", "closed_by"), [
    pytest.param(ranges((0, 99), (100, 199), (200, 299)), dict(events=999, s_per_event=1.0, walltime_s=200),
                 [2, 1], ["walltime", "end"], id="what goes on is counted ahead"),
    pytest.param(ranges((0, 99), (100, 199), (200, 299), (300, 399)), dict(
        step=2, events=999, s_per_event=1.0, walltime_s=350), [2, 2], ["walltime", "end"], id="and all of a step"),
    pytest.param(ranges((0, 99), (100, 199), (250, 349)), dict(events=300), [2, 1], ["gap", "end"], id="a gap"),
    pytest.param(ranges((0, 99), (100, 199), (250, 349)), dict(events=299), [2, 1], ["events", "end"],
                 id="events behind a gap are counted ahead"),
    pytest.param(ranges((0, 99), (100, 199), (250, 349)), dict(events=999, s_per_event=1.0, walltime_s=200),
                 [2, 1], ["gap", "end"], id="but not their time"),
    pytest.param(ranges((0, 99), (0, 99), file=[0, 1], file_events=100), dict(events=999), [2], ["end"],
                 id="a file ends and another begins"),
    pytest.param(ranges((0, 99), (100, 199), file=[0, 1]), dict(events=999), [1, 1], ["gap", "end"],
                 id="events go on in another file"),
    pytest.param(ranges((0, 0), (1, 99), file=[0, 1]), dict(events=999), [1, 1], ["gap", "end"],
                 id="after a single one"),
    pytest.param(TWO_FILES, dict(files=1), [1] * 4, ["files"] * 3 + ["end"], id="parts of files count as files"),
    pytest.param(TWO_FILES, dict(files=1, dynamic=True), [2, 2], ["files", "end"],
                 id="but where the number of events is chosen"),
    pytest.param(TWO_FILES, dict(size_bytes=0.5 * MIB, dynamic=True), [2, 2], ["size", "end"],
                 id="there only another file has a size"),
    pytest.param(TWO_FILES, dict(size_bytes=MIB, dynamic=True), [4], ["end"], id="which fits"),
])
def test_ranges_of_events(table, bound, counts, closed_by):
    assert cut(table, JobLimits(**bound)) == (counts, closed_by)


def test_fields_that_are_respected():
    table = pieces(6)
    table["field"] = [0, 0, 1, 1, -1, 2]
    assert cut(table, JobLimits(respects_field=True)) == ([2, 2, 2], ["boundary", "boundary", "end"])
    assert cut(table, JobLimits())[0] == [6]


def of_boundaries(*boundaries, **said):
    """A secondary dataset of files with these boundaryIDs."""
    files, dataset = beside(len(boundaries), **said)
    files["boundary"] = boundaries
    return Beside(files, dataset)


@pytest.mark.parametrize(("boundary", "bound", "secondary", "reads"), [
    pytest.param([2], dict(group=LOOSE), of_boundaries(1), [[]], id="of a lower one"),
    pytest.param([2, 0], dict(group=LOOSE, step=2), of_boundaries(2), [[0]], id="of the highest in a step"),
    pytest.param([0, 1, 2], dict(group=LOOSE, step=3), of_boundaries(0, 1, 2, 3, ratio=2.0), [[0, 1, 2]],
                 id="those of a step and between"),
    pytest.param([2, 3, 4, 5], dict(group=LOOSE, files=2), of_boundaries(2, 3, 4, 5), [[0, 1], [2, 3]],
                 id="those of each step of a merge job"),
    pytest.param([2, 3], dict(group=LOOSE), of_boundaries(2, 2, 3), [[0]], id="not those that an earlier step left"),
    pytest.param([0, 0, 1, 1], dict(group=SINGLE), of_boundaries(0, 1, 1, 1), [[0], [1, 2, 3]],
                 id="all of a single one, however many"),
])
def test_secondary_files_of_the_boundaries_of_a_job(boundary, bound, secondary, reads):
    assert jobs_of(pieces(len(boundary), boundary=boundary), JobLimits(**bound), secondary)[1] == reads


def test_the_only_file_of_a_repeated_dataset_is_read_by_each_job():
    for said, reads in ({}, [[0], []]), (dict(repeat=True), [[0], [0]]):
        assert jobs_of(pieces(2), JobLimits(files=1), beside(1, **said))[1] == reads


def test_a_core_of_less_than_one_hs06_takes_longer_than_a_second():
    for corepower, count in ((0.0, 4), (0.5, 2)):                         # unknown, and 50 s a piece
        bound = JobLimits(walltime_s=100.0, s_per_event=0.25, corepower=corepower)
        assert jobs_of(pieces(4), bound)[0]["count"].tolist() == [count] * (4 // count)


def test_the_largest_output_counts_whichever_dataset_it_is_made_from():
    for of_master, of_file in ((1.0 * MIB, 0.1), (0.1 * MIB, 1.0)):
        bound = JobLimits(output_bytes=2.5 * MIB, output_per_mib=of_master, output_per_byte=of_file)
        assert jobs_of(pieces(4), bound, beside(4, MIB))[0]["count"].tolist() == [2, 2]


@pytest.mark.parametrize(("group", "closed_by"), [(SINGLE, "boundary"), (WHOLE, "boundary"), (LOOSE, "disk"),
                                                  (FREE, "disk")])
def test_secondary_files_behind_a_boundary_are_not_counted_ahead_in_a_group(group, closed_by):
    table = ranges((0, 99), (100, 199), (200, 299))
    table["boundary" if group in (SINGLE, WHOLE) else "lumiblock"] = [0, 0, 1]
    secondary = of_boundaries(0, 0, 0, size=GIB, event_ratio=1.0)
    secondary.files["events"] = 200
    bound = JobLimits(events=1000, group=group, disk_bytes=1.5 * GIB, respects_lumiblock=group in (LOOSE, FREE))
    jobs, reads = jobs_of(table, bound, secondary)
    assert (jobs["count"].tolist(), reads[0], ClosedBy(jobs["closed_by"][0]).word) == ([2, 1], [0], closed_by)


def test_a_job_of_a_group_takes_at_most_ten_thousand_secondary_files():
    jobs, _ = jobs_of(pieces(1, boundary=0), JobLimits(group=SINGLE), of_boundaries(*[0] * 10_001))
    assert jobs["n_reads"].tolist() == [10_000]


@pytest.mark.parametrize(("least_s", "counts"), [(200, [1, 1]), (201, [])])
def test_a_single_file_has_the_basewalltime_too(least_s, counts):
    bound = JobLimits(dynamic=True, files=1, base_s=100.0, s_per_event=1.0, least_s=least_s)
    assert cut(pieces(2), bound)[0] == counts


def without_ranges(n):
    """Master files of which no range of events is known."""
    table = pieces(n)
    table["first_event"] = -1
    return table


def test_secondary_files_go_by_files_where_the_master_has_no_events():
    with np.errstate(all="raise"):
        assert jobs_of(without_ranges(3), JobLimits(files=1), beside(9, event_ratio=1.0))[1] == [[0], [1], [2]]


def test_secondary_files_that_the_next_step_needs_are_counted_ahead():
    half = beside(9, size=GIB, ratio=0.5)
    assert jobs_of(pieces(4), JobLimits(disk_bytes=1.5 * GIB), half)[0]["count"].tolist() == [2, 2]


@pytest.mark.parametrize("said", [dict(per_job=1), dict(nosplit=True, number=1)])
def test_secondary_files_of_a_whole_job_are_not_counted_ahead(said):
    assert jobs_of(pieces(3), JobLimits(disk_bytes=1.5 * GIB), beside(9, size=GIB, **said))[0]["count"].tolist() == [3]


def test_secondary_files_that_have_just_the_events_of_the_master_are_enough():
    files, dataset = beside(9, event_ratio=1.0)
    files["events"] = 100
    table = ranges((0, 99), (100, 199), (200, 299))
    assert jobs_of(table, JobLimits(files=1, events=999), Beside(files, dataset))[1] == [[0], [1], [2]]
    files, dataset = beside(9, event_ratio=2.0)
    files["events"] = 1
    single = ranges((0, 0), (1, 1))
    assert jobs_of(single, JobLimits(files=1, events=999), Beside(files, dataset))[1] == [[0, 1], [2, 3]]


def test_only_the_first_secondary_dataset_tells_events_that_the_master_has_not():
    events, table = JobLimits(events=5), without_ranges(3)
    one, two = beside(9, ratio=0.5), beside(9)
    two.files["events"], two.datasets["first"] = 6, 9
    both = Beside(*map(np.concatenate, zip(one, two, strict=True)))
    assert jobs_of(table, events, both)[0]["count"].tolist() == [3]
    assert jobs_of(table, events, two._replace(files=both.files))[0]["count"].tolist() == [1] * 3


def test_secondary_datasets_without_files_and_reads_beyond_the_room():
    empty = np.zeros(1, SECONDARY)
    empty["repeat"], empty["ratio"], empty["per_job"], empty["event_ratio"] = True, 1.0, -1, math.nan
    with np.errstate(all="raise"):
        assert jobs_of(pieces(2), JobLimits(files=1), Beside(np.zeros(0, BESIDE), empty))[1] == [[], []]
    room = Room.of(JobLimits(files=2), 9, 1, 3)
    assert cut_jobs(pieces(4), 0, beside(9), room) == 2
    assert room.jobs["n_reads"][:2].tolist() == [2, 2] and room.reads["file"].tolist() == [0, 1, 2]


def test_where_the_number_of_events_is_chosen():
    dynamic = Claims(s_per_event=10.0, dynamic=True, most_events=250.0)
    queue = QueueLimits(mintime_s=2000.0, corepower=1.0)
    bound = job_limits(dynamic, Splitting(nFilesPerJob=1), queue, "deployed")
    assert cut(pieces(4), bound)[0] == [2, 2]
    short = job_limits(dynamic, Splitting(), queue._replace(mintime_s=2001.0), "deployed")
    assert cut(pieces(4), short)[0] == []                     # two files are shorter than the queue wants


@pytest.mark.parametrize(("dynamic", "mintime_s", "counts"), [
    pytest.param(True, 1.0, [2, 2], id="a mintime of a second"), pytest.param(True, 0.0, [1] * 4, id="without mintime"),
    pytest.param(False, 2000.0, [1] * 4, id="a task that does not let it be chosen"),
])
def test_when_the_number_of_events_is_chosen(dynamic, mintime_s, counts):
    claims = Claims(s_per_event=10.0, dynamic=dynamic, most_events=250.0)
    queue = QueueLimits(mintime_s=mintime_s, corepower=1.0)
    assert cut(pieces(4), job_limits(claims, Splitting(nFilesPerJob=1), queue, "deployed"))[0] == counts


def test_parts_of_a_file_count_its_whole_size():
    table = pieces(20, size=GIB)
    table["part_bytes"] = GIB / 10
    assert [first_job(table, limits(edition, nGBPerJob=4))[0] for edition in EDITIONS] == [11, 4]


@pytest.mark.parametrize("respects_boundary", [False, True])
def test_the_files_of_a_step_are_taken_together_even_if_they_take_too_long(respects_boundary):
    bound = limits(nFilesPerJob=4, groupBoundaryID=int(respects_boundary), queue=dict(maxtime_s=[2000]))
    assert cut(pieces(8), bound)[0] == [4, 4]


def test_no_more_jobs_are_cut_than_there_is_room_for():
    assert cut(pieces(9), limits(nFilesPerJob=2), most=3)[0] == [2, 2, 2]


def test_files_of_a_lumi_block_are_looked_at_one_by_one():
    assert cut(pieces(4), limits(respectLB=True, queue=dict(maxtime_s=[1000])))[0] == [1] * 4


@pytest.mark.parametrize(("cores", "seconds"), [(0, 1000), (1, 1000), (8, 125)])
def test_the_cores_of_the_slot_share_the_work(cores, seconds):
    bound = limits(queue=dict(corecount=[cores]))
    assert bound.base_s + piece_walltime(100.0, 1.0, row_of(bound)) == pytest.approx(seconds)


@pytest.mark.parametrize(("fields", "seconds"), [
    pytest.param({}, 1000, id="cpuTime x events / corepower"),
    pytest.param(dict(basewalltime_s=600.0), 1600, id="baseWalltime once per job"),
    pytest.param(dict(cpuefficiency=50.0), 2000, id="cpuEfficiency"),
    pytest.param(dict(cpuefficiency=math.nan, basewalltime_s=600.0), 600, id="no cpuEfficiency: baseWalltime"),
    pytest.param(dict(cputime=math.nan, basewalltime_s=600.0), 0, id="nothing is known without cpuTime"),
    pytest.param(dict(cputime=0.5), 5, id="half an HS06 s an event"),
    pytest.param(dict(cputimeunit="", walltime_s_per_mib=0.5), 1, id="half a second a MB"),
    pytest.param(dict(cputimeunit="", walltime_s_per_mib=30.0), 60, id="walltime x MB without CPU time"),
    pytest.param(dict(event_service=True, n_es_consumers=4), 250, id="consumers of event service share it"),
])
def test_expected_walltime(fields, seconds):
    bound = limits(task_=task(**fields))
    assert bound.base_s + piece_walltime(100.0, 2.0, row_of(bound)) == pytest.approx(seconds)


@pytest.mark.parametrize(("edition", "base_s"), [("documented", 150), ("deployed", 600)])
def test_consumers_share_basewalltime_as_documented(edition, base_s):
    assert limits(edition, task_=task(event_service=True, n_es_consumers=4, basewalltime_s=600.0)).base_s == base_s


@pytest.mark.parametrize(("edition", "seconds"), [
    pytest.param("documented", 9.9, id="the formula of the JEDI TWiki"),
    pytest.param("deployed", 9, id="whole seconds for each file in the code"),
])
def test_rounding_of_walltime(edition, seconds):
    bound = limits(edition, task_=task(cputime=99.0))
    assert rounded(piece_walltime(1.0, 1.0, row_of(bound)), row_of(bound)) == pytest.approx(seconds)


@pytest.mark.parametrize(("edition", "output_per_event", "files"), [
    pytest.param("documented", 0.0, 6, id="L9 the TWiki counts 2.5 GB of output within nGBPerJob"),
    pytest.param("deployed", 0.0, 10, id="L9 the code adds 1500 MB to nGBPerJob and counts them as output"),
    pytest.param("documented", 3e7, 2, id="L9 the TWiki counts output of more than 2.5 GB as it is"),
    pytest.param("deployed", 3e7, 3, id="L9 the code has those 1500 MB more for it"),
])
def test_size(edition, output_per_event, files):
    """nGBPerJob 10 GB; work space of 300 MB is part of it, in the code it is not."""
    bound = limits(edition, nGBPerJob=10, output_per_event=output_per_event, task_=task(workdisk_bytes=3e8))
    assert first_job(pieces(size=1.05e9), bound) == (files, "size")


@pytest.mark.parametrize(("size_gb", "files"), [
    pytest.param(7.2 / 3, 3, id="input, 2.5 GB and 300 MB make exactly nGBPerJob"),
    pytest.param(7.2001 / 3, 2, id="a bit more"),
])
def test_size_documented_at_its_limit(size_gb, files):
    bound = limits(nGBPerJob=10)
    assert first_job(pieces(size=size_gb * 1e9), bound)[0] == files


@pytest.mark.parametrize(("size_gib", "files"), [
    pytest.param(2.5, 4, id="L9 10 GB of input and 1500 MB of output are still fine in the code"),
    pytest.param(2.5001, 3, id="L9 a bit more"),
])
def test_size_deployed_at_its_limit(size_gib, files):
    bound = limits("deployed", nGBPerJob=10)
    assert first_job(pieces(size=size_gib * GIB), bound)[0] == files


@pytest.mark.parametrize(("parameters", "maxwdir_gib", "copies", "scout", "gib"), [
    pytest.param({}, 14.0, True, False, 14, id="maxwdir where input is copied"),
    pytest.param({}, 0.0, True, False, 20, id="20 GB if nothing is known"),
    pytest.param({}, 14.0, False, False, 500_000 / 1024, id="500 000 MB where it is read directly"),
    pytest.param({"respectSplitRule": True}, 14.0, False, True, 50_000 / 1024, id="50 000 MB for scouts"),
    pytest.param({}, 14.0, False, True, math.inf, id="none for scouts of a file each"),
    pytest.param({}, 600.0, False, False, 600, id="maxwdir when that is more"),
    pytest.param({"nFilesPerJob": 3}, 14.0, False, False, math.inf, id="none with nFilesPerJob and direct reading"),
    pytest.param({"nEventsPerJob": 3}, 14.0, False, False, math.inf, id="none with nEventsPerJob and direct reading"),
    pytest.param({"nFilesPerJob": 3}, 14.0, True, False, 14, id="maxwdir with nFilesPerJob where it is copied"),
])
def test_size_without_ngbperjob(parameters, maxwdir_gib, copies, scout, gib):
    queue = QueueLimits((maxwdir_gib or math.inf) * GIB, copies=copies)
    found, least = size_limit(Claims(is_scout=scout), Splitting(**parameters), queue, False, "deployed")
    assert (found / GIB, least) == (gib, 1500 * MIB)


@pytest.mark.parametrize(("copies", "dynamic", "gib"), [
    pytest.param(True, False, math.inf, id="none with nFilesPerJob where nothing is known"),
    pytest.param(True, True, 20, id="20 GB where the number of events is chosen"),
    pytest.param(False, True, 20, id="and where it is read directly"),
])
def test_size_where_the_number_of_events_is_chosen(copies, dynamic, gib):
    found, _ = size_limit(Claims(), Splitting(nFilesPerJob=3), QueueLimits(copies=copies), dynamic, "deployed")
    assert found == gib * GIB


@pytest.mark.parametrize(("edition", "expected"), [
    pytest.param("documented", (3e9, 2.5e9), id="L9 documented GB"),
    pytest.param("deployed", (3 * GIB + 1500 * MIB + 7, 1500 * MIB), id="L9 GB of the code, 1500 MB and work space"),
])
def test_size_of_ngbperjob(edition, expected):
    assert size_limit(Claims(offset_bytes=7.0), Splitting(nGBPerJob=3), QueueLimits(), False, edition) == expected


def test_scratch_disk():
    """At a queue that copies, input and output must fit maxwdir; one that reads directly minds the output alone."""
    table = pieces(size=1.0 * GIB)
    said = dict(nGBPerJob=100, output_per_event=0.2 * GIB / 100)
    wdir = dict(maxwdir_mb=[6 * 1024])
    assert first_job(table, limits("deployed", queue=wdir, **said)) == (5, "disk")
    direct = limits("deployed", queue=wdir | dict(direct_io=[True]), task_=task(allowinputlan="use"), **said)
    assert first_job(table, direct) == (30, "disk")


@pytest.mark.parametrize(("parameters", "files"), [
    pytest.param({}, 1, id="one file"),
    pytest.param({"nFilesPerJob": 4}, 4, id="unless nFilesPerJob"),
    pytest.param({"nEventsPerJob": 300}, 3, id="unless nEventsPerJob"),
])
def test_files_of_scouts(parameters, files):
    assert first_job(pieces(), limits(task_=task(is_scout=True), **parameters))[0] == files


@pytest.mark.parametrize(("parameters", "counts", "closed_by"), [
    pytest.param({"respectLB": True}, [3, 3, 1], ["boundary", "boundary", "end"], id="respected"),
    pytest.param({}, [7], ["end"], id="not respected"),
    pytest.param({"respectLB": True, "nFilesPerJob": 2}, [2, 1, 2, 1, 1],
                 ["files", "boundary", "files", "boundary", "end"], id="with nFilesPerJob"),
])
def test_boundaries(parameters, counts, closed_by):
    table = pieces(7, boundary=np.arange(7) // 3)
    assert cut(table, limits(**parameters)) == (counts, closed_by)


def test_what_is_tried_again_is_never_joined():
    table = pieces(6, retry=[4, 4, 2, 2, -1, -1])
    assert cut(table, limits(nFilesPerJob=3)) == ([2, 2, 2], ["end"] * 3)


def test_files_of_unknown_size_count_a_mebibyte():
    bound = limits("documented", queue=dict(maxwdir_mb=[1500 + 50 + 300e6 / MIB]))
    assert first_job(pieces(size=0.0), bound) == (50, "size")
    assert first_job(pieces(size=1.0), bound) == (200, "files")                 # a byte is a known size
    bound = limits("deployed", queue=dict(maxwdir_mb=[1500 + 50]))
    assert first_job(pieces(size=0.0), bound) == (200, "files")                 # in the code only for what they make


def test_precedence():
    everything = dict(nEventsPerJob=1, nFilesPerJob=2, nGBPerJob=3.0, tgtNumEventsPerJob=4, tgtMaxOutputForNG=5.0)
    for name in everything.copy():
        found = preferred(Splitting(**everything), "documented")
        assert [other for other in everything if getattr(found, other)] == [name]
        del everything[name]
    known = preferred(Splitting(nEventsPerJob=1, nGBPerJob=3.0, tgtNumEventsPerJob=4), "deployed")
    assert (known.nEventsPerJob, known.nGBPerJob, known.tgtNumEventsPerJob) == (1, 3.0, 0)


@pytest.mark.parametrize(("edition", "target", "n_gb"), [
    pytest.param("documented", 2, 2 + 4 + 0.3, id="output, its input and work space"),
    pytest.param("deployed", 2, 2 + 4 - 1500 / 1024, id="1500 MB less in the code"),
    pytest.param("documented", 0.1, 1, id="at least 1 GB"),
    pytest.param("documented", 99, 100, id="at most 100 GB"),
    pytest.param("documented", 0, 0, id="no target"),
])
def test_target_of_output(edition, target, n_gb):
    offset = 3e8 if edition == "documented" else 0.0
    known = Splitting(tgtMaxOutputForNG=target, events=10.0, bytes=20e6, output_per_event=1e6)
    assert ng_for_target(known, offset, edition) == pytest.approx(n_gb)


def test_jobs_come_near_to_the_target_of_output():
    bound = limits(tgtMaxOutputForNG=5, output_per_event=1e6, events=100.0, bytes=1e8)
    count, closed_by = first_job(pieces(size=1e8), bound)
    assert (count * 100 * 1e6, closed_by) == (5e9, "size")


@pytest.mark.parametrize(("parameters", "known", "expected"), [
    pytest.param({"nFilesPerJob": 8}, {}, 8, id="nFilesPerJob"),
    pytest.param({"nEventsPerJob": 50}, {}, 1, id="a part of a file"),
    pytest.param({"nEventsPerJob": 350}, {}, 3, id="the files that hold nEventsPerJob"),
    pytest.param({"tgtNumEventsPerJob": 199}, {}, 1, id="fewer events than two files have"),
    pytest.param({"tgtNumEventsPerJob": 200}, {}, 5, id="the events of two files"),
    pytest.param({"tgtNumEventsPerJob": 250}, {}, 5, id="more"),
    pytest.param({}, {}, 5, id="5 if nobody says"),
    pytest.param({}, {"TYPNFILES_managed__simul": 12}, 12, id="TYPNFILES of every queue"),
    pytest.param({}, {"TYPNFILES_managed_MC_simul": 3, "TYPNFILES_managed__simul": 12}, 3, id="TYPNFILES of the queue"),
    pytest.param({"nFilesPerJob": 8}, {"TYPNFILES_managed__simul": 12}, 8, id="nFilesPerJob wins over TYPNFILES"),
])
def test_typical_files(parameters, known, expected):
    splitting = Splitting(events=100.0, **parameters)
    assert typical_files(splitting, cfg(jobgen=known), "managed", "MC", "simul") == expected


@pytest.mark.parametrize(("most", "typical", "jobs", "expected"), [
    pytest.param(1000, 5, 50, 260, id="those of the jobs and ten more"),
    pytest.param(200, 5, 50, 200, id="no more than nFiles"),
    pytest.param(1000, 1, 5, 100, id="at least a hundred"),
])
def test_files_read_in_a_cycle(most, typical, jobs, expected):
    rule = selection(cfg(jobgen={"NFILES_MC": most}), "MC", False, "documented")
    assert files_to_read(jobs, typical, rule.n_files) == expected


def cut(table, bound, most=1000):
    """Pieces of each job, and what closed them."""
    jobs, _ = jobs_of(table, bound, most=most)
    return jobs["count"].tolist(), [ClosedBy(code).word for code in jobs["closed_by"].tolist()]


INPUTS = st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 30e9), st.integers(0, 3), st.booleans()), min_size=1,
                  max_size=60)
PARAMETERS = st.fixed_dictionaries({}, optional=dict(
    nFilesPerJob=st.integers(1, 20), nGBPerJob=st.floats(1, 50), nEventsPerJob=st.integers(1, 9000),
    maxWalltime=st.floats(0.1, 48), nMaxFilesPerJob=st.integers(1, 40), tgtMaxOutputForNG=st.floats(1, 20),
    respectLB=st.booleans(), groupBoundaryID=st.sampled_from([0, 1]), output_per_event=st.floats(0, 1e7)))
SECONDARIES = st.tuples(st.floats(0.1, 40), st.floats(0, 1e9))


@given(files=INPUTS, parameters=PARAMETERS, secondary=SECONDARIES, maxtime_s=st.floats(600, 1e6),
       maxwdir_mb=st.floats(100, 1e5), direct=st.booleans(), edition=st.sampled_from(EDITIONS))
def test_every_file_is_in_one_job_and_no_limit_is_exceeded(files, parameters, secondary, maxtime_s, maxwdir_mb, direct,
                                                           edition):
    table = pieces(len(files), *map(np.array, list(zip(*files, strict=True))[:2]))
    table["boundary"] = table["lumiblock"] = np.cumsum([jump for _, _, jump, _ in files])
    table["retry"] = np.cumsum([new for *_, new in files]) - len(files)
    bound = limits(edition, task_=task(allowinputlan="use" if direct else "", basewalltime_s=60.0),
                   queue=dict(maxtime_s=[maxtime_s], maxwdir_mb=[maxwdir_mb], direct_io=[True]), **parameters)
    read, dataset = beside(5000, size=secondary[1], ratio=secondary[0])
    read["boundary"] = -1
    jobs, _ = jobs_of(table, bound, Beside(read, dataset) if bound.group == 0 else beside())
    assert jobs["count"].min() >= 1
    assert jobs["first"].tolist() == [0, *np.cumsum(jobs["count"])[:-1].tolist()]
    assert jobs["count"].sum() == len(files)
    for job in jobs:
        own = table[job["first"]:job["first"] + job["count"]]
        assert len(set(own["retry"])) == 1
        apart = bound.respects_lumiblock or bound.group
        assert not apart or len(set(own["boundary"])) == 1
        assert job["n_reads"] == (0 if bound.group else math.ceil(len(own) * secondary[0]))
        if len(own) > bound.step:
            assert within(own, job, bound)


def within(own, job, bound):
    """Whether some files keep every limit of a job, reckoned anew."""
    events, beside_bytes = own["events"].sum(), job["secondary_bytes"]
    size = own["bytes" if bound.whole_files else "part_bytes"].sum() + beside_bytes
    output = np.floor(own["events"] * bound.output_per_event).sum() if bound.whole_numbers else (
        events * bound.output_per_event)
    seconds = sum(int(10.0 * e) if bound.whole_numbers else 10.0 * e for e in own["events"]) + bound.base_s
    return (len(own) <= bound.files and len(own) + job["n_reads"] <= 1000 and events <= bound.events
            and size + max(output, bound.least_output_bytes) + bound.offset_bytes <= bound.size_bytes * 1.0000001
            and output <= 10 * GIB and seconds <= bound.walltime_s * 1.0000001
            and output + size * bound.copies_input <= bound.disk_bytes * 1.0000001)
