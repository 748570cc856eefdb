"""Grouping unmerged outputs into merge jobs."""

from math import inf, isnan, nan
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import task

from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks.merging import (
    TERMS,
    MergeLimits,
    Unmerged,
    asked_memory_mb,
    cut,
    merge_limits,
    merge_place,
    merge_task,
    new_status,
    ready,
)
from simgrid_broker.policy.tasks.splitting import MergeRule, QueueLimits, merge_job_limits
from simgrid_broker.views import Premerge

pytestmark = pytest.mark.rule("merge_place", "merge_limits", "merge_job_limits", "cut", "asked_memory_mb", "merge_task",
                              "new_status", "merging.ready")

MIB, GIB = 1024**2, 1024**3


def rule(files=0, most=0, gb=0, events=0):
    return SimpleNamespace(nFilesPerMergeJob=files, nMaxFilesPerMergeJob=most, nGBPerMergeJob=gb,
                           nEventsPerMergeJob=events)


def outputs(n, files=1, size=1.0, events=1):
    return Unmerged(np.full(n, files), np.full(n, float(size)), np.full(n, events))


def sizes(unmerged, **limits):
    return [part.stop - part.start for part in cut(unmerged, MergeLimits(**limits))]


@pytest.mark.parametrize(("said", "queue", "expected"), [
    pytest.param({}, {}, dict(files=50, step=1, only_step=False, events=inf, output_bytes=5 * GIB),
                 id="nothing is said"),
    pytest.param(dict(nFilesPerMergeJob=7, nMaxFilesPerMergeJob=9), {}, dict(files=7, step=7, only_step=True),
                 id="files"),
    pytest.param(dict(nFilesPerMergeJob=7, respectLB=True), {},
                 dict(files=7, step=1, only_step=False, respects_lumiblock=True), id="files within a lumi block"),
    pytest.param(dict(nMaxFilesPerMergeJob=9, nGBPerMergeJob=2, nEventsPerMergeJob=30), {},
                 dict(files=9, step=1, only_step=False, output_bytes=2 * GIB, events=30), id="the other limits"),
    pytest.param({}, dict(maxwdir_bytes=9.0), dict(size_bytes=9, disk_bytes=9), id="scratch"),
    pytest.param({}, dict(maxtime_s=0.0), dict(walltime_s=inf), id="a maxtime of 0 is none"),
    pytest.param({}, dict(maxtime_s=1.0), dict(walltime_s=1), id="a second is one"),
])
def test_limits_by_which_files_of_a_merge_job_are_cut(said, queue, expected):
    found = merge_job_limits(MergeRule(**said), 600 * MIB, 60.0, QueueLimits(**queue))
    assert {name: getattr(found, name) for name in expected} == expected
    assert (found.base_s, found.offset_bytes, found.output_per_mib, found.output_per_byte) == (60, 600 * MIB, 1.2, 1.2)
    assert merge_job_limits(MergeRule(), 499 * MIB, 60.0, QueueLimits()).offset_bytes == 500 * MIB


@pytest.mark.parametrize(("unmerged", "limits", "expected"), [
    pytest.param(outputs(50), {}, [50], id="fifty files, no parameter: one job"),
    pytest.param(outputs(51), {}, [50, 1], id="one file more makes another job"),
    pytest.param(outputs(5, files=2), dict(files=4), [2, 2, 1], id="jobs with two files each"),
    pytest.param(outputs(3, size=2e9), dict(output_bytes=4e9), [2, 1], id="exactly at the size is still fine"),
    pytest.param(outputs(3, size=2e9), dict(output_bytes=3.9e9), [1, 1, 1], id="just above the size"),
    pytest.param(outputs(2, size=9e9), {}, [1, 1], id="an output that is too large is merged alone"),
    pytest.param(outputs(4, events=10), dict(events=20), [2, 2], id="events"),
    pytest.param(outputs(4, size=1e9), dict(disk_bytes=4.4e9), [2, 2], id="scratch disk for input and 1.2 times that"),
    pytest.param(outputs(1500), dict(files=1500), [1000, 500], id="at most a thousand files in all"),
    pytest.param(outputs(0), {}, [], id="nothing to merge"),
])
def test_where_a_merge_job_is_closed(unmerged, limits, expected):
    assert sizes(unmerged, **limits) == expected


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0, 4e9), st.integers(0, 50)), max_size=60), st.integers(1, 30),
       st.integers(0, 200))
def test_every_output_is_in_one_merge_job_within_the_limits(each, files, events):
    unmerged = Unmerged(*(np.array([one[k] for one in each]) for k in range(3)))
    parts = cut(unmerged, MergeLimits(files=files, events=events or inf))
    assert [k for part in parts for k in range(part.start, part.stop)] == list(range(len(each)))
    for part in parts:
        if part.stop - part.start > 1:
            assert unmerged.n_output_files[part].sum() <= files
            assert unmerged.output_bytes[part].sum() <= 5e9
            assert not events or unmerged.n_events[part].sum() <= events


@pytest.mark.parametrize(("given", "edition", "expected"), [
    pytest.param(rule(), "documented", MergeLimits(50, 5e9, inf, inf), id="no parameter"),
    pytest.param(rule(gb=2), "documented", MergeLimits(50, 2e9, inf, inf), id="documented GB"),
    pytest.param(rule(gb=2), "deployed", MergeLimits(50, 2 * GIB, inf, inf, 1.2 / MIB, 1.2 / MIB),
                 id="the deployed edition estimates bytes of output from MiB of input"),
    pytest.param(rule(most=30), "documented", MergeLimits(30, 5e9, inf, inf), id="nMaxFilesPerMergeJob"),
    pytest.param(rule(files=7, most=30), "documented", MergeLimits(7, 5e9, inf, inf), id="nFilesPerMergeJob first"),
    pytest.param(rule(events=9), "documented", MergeLimits(50, 5e9, 9, inf), id="nEventsPerMergeJob"),
])
def test_limits_of_a_merge_job(given, edition, expected):
    assert merge_limits(given, inf, 1e9, edition) == expected


def test_work_space_is_kept_free():
    assert merge_limits(rule(), 10e9, 1e9, "documented").disk_bytes == 9e9
    assert merge_limits(rule(), 10e9, 0.0, "documented").disk_bytes == 9.5e9
    assert merge_limits(rule(), 1e9, 1e9, "documented").disk_bytes == 1         # nothing is left: 1 byte, not none


QUEUE, SITE, CHUNK = np.array([0, 0, 1]), np.array([5, 5, 5]), np.array([0, 49, 50])


@pytest.mark.parametrize(("edition", "chunk", "expected"), [
    pytest.param("documented", CHUNK, [True, True], id="documented, the site counts"),
    pytest.param("deployed", CHUNK, [True, False], id="deployed, another queue is another sub-dataset"),
    pytest.param("deployed", CHUNK + 1, [False, False], id="deployed, fifty chunks are a sub-dataset"),
])
def test_which_jobs_wait_for_each_other(edition, chunk, expected):
    place = [merge_place(*job, TERMS[edition].at_sites) for job in zip(QUEUE, SITE, chunk, strict=True)]
    assert [place[0] == place[1], place[0] == place[2]] == expected


@pytest.mark.parametrize(("unmerged", "expected"), [
    pytest.param([True, True, True, True], [(7, [3]), (8, [0, 1]), (8, [2])], id="everything is done"),
    pytest.param([True, False, True, True], [(7, [3]), (8, [2])], id="one job still runs at the first place"),
    pytest.param([True, True, True, False], [(8, [0, 1]), (8, [2])], id="a task at the same place still runs"),
    pytest.param([False, False, False, False], [], id="nothing is done"),
])
def test_places_at_which_all_jobs_of_a_task_are_done(unmerged, expected):
    task, site = np.array([8, 8, 8, 7]), np.array([1, 1, 2, 1])
    found = ready(task, np.zeros(4, int), site, np.zeros(4, int), np.array(unmerged), "documented")
    assert [(number, rows.tolist()) for number, rows in found] == expected


def test_nothing_is_ready_without_jobs():
    none = np.zeros(0, int)
    assert [*ready(none, none, none, none, none.astype(bool), "deployed")] == []


@pytest.mark.parametrize(("asked", "expected"), [
    pytest.param(nan, 2000, id="nothing is said"),
    pytest.param(1999, 2000, id="below the least"),
    pytest.param(3000, 3000, id="above it"),
])
def test_memory_of_merge_jobs(asked, expected):
    assert asked_memory_mb(asked) == expected


TYPES = (SimpleNamespace(mincore=1, maxcore=1, minrampercore=None, maxrampercore=None),
         SimpleNamespace(mincore=2, maxcore=None, minrampercore=None, maxrampercore=800))


@pytest.mark.parametrize(("ramcount", "cores", "asked", "resource_type"), [
    pytest.param(0, 0, (nan, None), 7, id="nothing is given: cores of the task, of which no type fits"),
    pytest.param(3000, 0, (3000, None), 7, id="memory"),
    pytest.param(0, 1, (nan, 1), 0, id="a single core"),
    pytest.param(3000, 8, (3000, 8), 1, id="both"),
    pytest.param(7119, 8, (7119, 8), 1, id="as much memory as the type has, and none beside it"),
])
def test_what_a_merge_job_asks_for(ramcount, cores, asked, resource_type):
    whole = task(corecount=2, resource_type=7, ramcount=500.0, cputime=9.0, walltime_s_per_mib=3.0)
    given = SimpleNamespace(mergeRamCount=ramcount, mergeCoreCount=cores)
    sums = Unmerged(*map(sum, outputs(3, files=2, size=5.0, events=4)))
    found = merge_task(whole, given, sums, Premerge(1, 0.0, 0.0), TYPES)
    assert (found.mergeramcount, found.mergecorecount) == pytest.approx(asked, nan_ok=True)
    assert (found.corecount, found.resource_type) == (2, resource_type)
    assert found.baseramcount == 0
    assert all(map(isnan, (found.ramcount, found.cputime, found.walltime_s_per_mib)))
    assert (found.n_jobs, found.n_files_per_job, found.input_bytes_per_job, found.n_events_per_job) == (1, 6, 15, 12)


@pytest.mark.parametrize(("status", "other_work", "merges", "expected"), [
    pytest.param("running", False, True, "merging", id="only merging is left"),
    pytest.param("running", True, True, "running", id="other work is left"),
    pytest.param("merging", True, True, "running", id="there is other work again"),
    pytest.param("merging", False, False, "merging", id="the last merge job has ended"),
    pytest.param("running", False, False, "running", id="nothing is merged"),
])
def test_status_of_tasks_with_merging(status, other_work, merges, expected):
    found = new_status(np.array([TaskStatus.of(status)]), np.array([other_work]), np.array([merges]))
    assert TaskStatus(found[0]).word == expected
