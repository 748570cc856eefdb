"""Keys of a snapshot that are accepted and that no rule reads there, each with the reason."""

from collections.abc import Callable, Iterator
from typing import Any

from simgrid_broker.errors import Problem
from simgrid_broker.scenario.checks.rows import remarks_of_rows
from simgrid_broker.scenario.loading.origins import Finding, dotted, value_at
from simgrid_broker.scenario.model import Policies
from simgrid_broker.scenario.snapshot import BROKERAGES, JOB_BROKERAGE, NOT_COUNTED, Snapshot, SnapshotTask
from simgrid_broker.scenario.terms import TERMS

ONLY_DEPLOYED = "has no effect: only the deployed edition reads it"
FOR_JOBS = "has no effect: only job brokerage reads it"
OF_FILES = "has no effect: `datasets` say what jobs read"
OF_OTHER_FILES = "has no effect: the jobs {}"
SMALLEST_JOBS = "has no effect: brokers judge the smallest jobs, which it does not change"
JUMBO = "has no effect without nJumboJobs"
OF_JUMBO, OF_MERGING = ("nJumboJobs", "next_jobs.jumbo", "next_jobs.ready_events"), ("mergeramcount", "mergecorecount")
FILES_OF_JOBS = "nFilesPerJob", "nEventsPerJob", "nMaxFilesPerJob"
FILES_OF_MERGING = "nFilesPerMergeJob", "nEventsPerMergeJob", "nMaxFilesPerMergeJob"
LARGER_JOBS = "tgtNumEventsPerJob", "nGBPerJob", "tgtMaxOutputForNG", "maxWalltime"


def unread_keys(snapshot: Snapshot) -> Iterator[Problem]:
    """Keys with another value than the default that no answer about the snapshot depends on, where they are written."""
    for found in (*of_the_moment(snapshot), *(found for number, task in snapshot.tasks.items()
                                              for found in of_task(("tasks", number), task, snapshot.edition))):
        key = dotted(found.key)
        yield snapshot.origin(key).problem(key, found.value, found.expected)
    yield from remarks_of_rows(snapshot)


def of_the_moment(snapshot: Snapshot) -> Iterator[Finding]:
    """Policies and numbers that no broker reads."""
    for kind, name in snapshot.policies:
        if kind not in BROKERAGES and name != Policies.model_fields[kind].default:
            yield Finding(("policies", kind), name, "has no effect: only brokers are asked")
    for position, row in enumerate(snapshot.jobs):
        for status in NOT_COUNTED:
            if number := getattr(row, status):
                yield Finding(("jobs", position, status), number, "has no effect: brokers do not count such jobs")


def of_task(key: tuple, task: SnapshotTask, edition: str) -> Iterator[Finding]:
    """Keys of one task."""
    plain = task.model_dump()
    for keys, is_unread, reason in UNREAD:
        for name in keys if is_unread(task, edition) else ():
            path = tuple(name.split("."))
            value = value_at(plain, path)
            if value not in (None, "", 0) and value != DEFAULTS.get(name):
                yield Finding((*key, *path), None if isinstance(value, dict) else value, reason)
    for name, dataset in task.datasets.items():
        yield from of_dataset((*key, "datasets", name), dataset, task)


def of_dataset(key: tuple, dataset: Any, task: SnapshotTask) -> Iterator[Finding]:
    """Parts of a dataset that are not there, and ends of a range of events without the other end."""
    for position, name in enumerate(dataset.constituents):
        if name not in task.datasets:
            yield Finding((*key, "constituents", position), name, "has no effect: the task has no such dataset")
    by_file = not (dataset.secondary or "repeat" in dataset.attributes.split(","))
    for lfn in dataset.file_replicas:
        if lfn not in dataset.files or not by_file:
            why = "files of this dataset count together" if lfn in dataset.files else "it is not among `files`"
            yield Finding((*key, "file_replicas", lfn), None, f"has no effect: {why}")
    for lfn, file in dataset.files.items():
        for name, other in (("first_event", "last_event"), ("last_event", "first_event")):
            if getattr(file, name) is not None and getattr(file, other) is None:
                yield Finding((*key, "files", lfn, name), getattr(file, name), f"has no effect without {other}")


def _without_jumbo(task: SnapshotTask, edition: str) -> bool:
    return not TERMS[edition].jumbo


def _merges(task: SnapshotTask, edition: str) -> bool:
    return task.next_jobs.merging and bool(task.datasets)


def _without_merging(task: SnapshotTask, edition: str) -> bool:
    return not task.next_jobs.merging


def _says_hs06(task: SnapshotTask, edition: str) -> bool:
    """True if a unit of wall time changes nothing: if at all, it is read where nothing else is said."""
    return not TERMS[edition].hs06_unit or task.cputimeunit != "" or bool(task.walltime)


def _files_or_events(task: SnapshotTask, files: int, events: int) -> bool:
    """True if a largest number of files has nothing to limit: jobs are not made by events."""
    return bool(task.datasets) and (files > 0 or not events)


DEFAULTS = {"outdiskunit": SnapshotTask.model_fields["outdiskunit"].default,
            "files_per_job": SnapshotTask.model_fields["files_per_job"].default}
"""Values of keys that are not empty where nothing is written."""

UNREAD: tuple[tuple[tuple[str, ...], Callable[[SnapshotTask, str], bool], str], ...] = (
    (("n_jobs_to_broker", "next_jobs.premerge"), lambda task, _: task.broker != JOB_BROKERAGE, FOR_JOBS),
    (("allowInputWAN",), lambda task, _: True, "has no effect: jobs read by it in runs, brokers do not ask"),
    (("useLocalIO", "next_jobs.premerge.input_idle", *OF_JUMBO), _without_jumbo, ONLY_DEPLOYED),
    (OF_JUMBO[1:], lambda task, edition: TERMS[edition].jumbo and not task.nJumboJobs, JUMBO),
    (OF_MERGING, _without_merging, "has no effect without next_jobs.merging"),
    (("outdiskunit",), lambda task, _: task.outdiskcount is None, "has no effect without outdiskcount"),
    (("output_per_job",), lambda task, _: task.outdiskcount is not None, "has no effect: outdiskcount says it"),
    (("cputimeunit",), lambda task, _: not (task.cputime or task.walltime or task.walltimeunit),
     "has no effect without cputime"),
    (("walltimeunit",), _says_hs06, "has no effect: only the deployed edition reads it, of a task that says neither "
     "`walltime` nor `cputimeunit`"),
    (("useJobCloning",), lambda task, _: not task.eventService, "has no effect without eventService"),
    (("ipStack",), lambda task, _: "#" in task.ipConnectivity, "has no effect: `ipConnectivity` says it"),
    (("input_per_job", "files_per_job"), lambda task, _: bool(task.datasets), OF_FILES),
    (tuple(f"splitting.{name}" for name in LARGER_JOBS), lambda task, _: bool(task.datasets), SMALLEST_JOBS),
    (tuple(f"splitting.{name}" for name in FILES_OF_JOBS), _merges, OF_OTHER_FILES.format("merge output")),
    (tuple(f"splitting.{name}" for name in FILES_OF_MERGING),
     lambda task, _: bool(task.datasets) and not task.next_jobs.merging, OF_OTHER_FILES.format("do not merge")),
    (("splitting.nEventsPerJob",), lambda task, _: task.splitting.nFilesPerJob > 0 and not task.next_jobs.merging,
     "has no effect beside nFilesPerJob"),
    (("splitting.nMaxFilesPerJob",), lambda task, _: not task.next_jobs.merging and _files_or_events(
        task, task.splitting.nFilesPerJob, task.splitting.nEventsPerJob), "has no effect: jobs are not made by events"),
    (("splitting.nMaxFilesPerMergeJob",), lambda task, _: task.next_jobs.merging and _files_or_events(
        task, task.splitting.nFilesPerMergeJob, task.splitting.nEventsPerMergeJob),
     "has no effect: jobs are not made by events"),
)
"""Keys of a task, in which tasks of which edition they are not read, and why."""
