"""Checks between the parts of a snapshot, and remarks on keys that are accepted and that no rule reads there."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from simgrid_broker.errors import Problem, nearest
from simgrid_broker.scenario.checks.grid import GRID_RULES
from simgrid_broker.scenario.checks.rows import constraints_of_rows, remarks_of_rows
from simgrid_broker.scenario.checks.shares import SHARE_RULES
from simgrid_broker.scenario.checks.workers import unknown_workflow
from simgrid_broker.scenario.loading.origins import Finding, Rules, dotted, value_at
from simgrid_broker.scenario.model import Policies
from simgrid_broker.scenario.snapshot import BROKERAGES, JOB_BROKERAGE, NOT_COUNTED, Snapshot, SnapshotTask
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.schema.datasets import DatasetOfTask
from simgrid_broker.schema.part import LARGEST_WHOLE


def snapshot_findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Everything that is wrong between the parts of a snapshot."""
    return tuple(finding for check in SNAPSHOT_RULES for finding in check(snapshot))


def numbers_twice(snapshot: Snapshot) -> Iterator[Finding]:
    """Each queue, share and resource type, and each pair of sites, has its numbers once."""
    for part, names in (("jobs", ("queue", "share", "resource_type")), ("placed", ("queue", "share")),
                        ("links", ("source", "destination"))):
        seen = set()
        for position, row in enumerate(getattr(snapshot, part)):
            key = tuple(getattr(row, name) for name in names)
            if key in seen and None not in key:
                yield Finding((part, position), ", ".join(key), "is described a second time")
            seen.add(key)


def unknown_lock(snapshot: Snapshot) -> Iterator[Finding]:
    """A lock is on a PanDA queue, or on one of its resource types."""
    for position, name in enumerate(snapshot.locked):
        queue, _, kind = name.partition("/")
        if queue not in snapshot.grid.queues or (kind and kind not in snapshot.resource_types):
            yield Finding(("locked", position), name, "unknown candidate; expected a PanDA queue, or QUEUE/TYPE",
                          nearest(queue, snapshot.grid.queues), thing="candidate")


def task_numbers(snapshot: Snapshot) -> Iterator[Finding]:
    """A task is called by its jeditaskid, a positive whole number, unless that is given."""
    for number, task in snapshot.tasks.items():
        is_number = number.isascii() and number.isdecimal() and number[0] != "0" and len(number) < 19
        if task.jeditaskid is None and not is_number:
            yield Finding(("tasks", number), number, "expected a jeditaskid, a whole number above 0, or one in the "
                          "task's key jeditaskid")


def times_to_come(snapshot: Snapshot) -> Iterator[Finding]:
    """The statistics were read, and jobs were started, at the moment of the snapshot or before."""
    times = {("statistics_at",): snapshot.statistics_at} | {
        ("queues", name, "laststart"): queue.laststart for name, queue in snapshot.queues.items()}
    for key, at in times.items():
        if at is not None and at > snapshot.time:
            yield Finding(key, at, f"must not be after the moment of the snapshot, {snapshot.time:.15g} s")


def jobs_of_tasks(snapshot: Snapshot) -> Iterator[Finding]:
    """A task has jobs left, and no more of them are brokered."""
    for number, task in snapshot.tasks.items():
        if task.jobs_left < 1:
            yield Finding(("tasks", number, "n_jobs"), task.n_jobs, "must exceed n_finished and n_failed together, "
                          f"{task.n_finished + task.n_failed}")
        elif (task.n_jobs_to_broker or 0) > task.jobs_left:
            yield Finding(("tasks", number, "n_jobs_to_broker"), task.n_jobs_to_broker,
                          f"must not exceed the jobs that are left, {task.jobs_left}")


def input_of_tasks(snapshot: Snapshot) -> Iterator[Finding]:
    """The input of a task is said once, and its parts agree."""
    for number, task in snapshot.tasks.items():
        key = "tasks", number
        if task.datasets and task.input:
            yield Finding((*key, "input"), None, "has no effect, because `datasets` says where the input lies")
        if task.datasets and all(one.secondary or one.constituent for one in task.datasets.values()):
            yield Finding((*key, "datasets"), None, "one of them at least must be primary input")
        for name, dataset in task.datasets.items():
            yield from _of_dataset((*key, "datasets", name), dataset)


def _of_dataset(key: tuple, dataset: DatasetOfTask) -> Iterator[Finding]:
    """Contradictions within one dataset."""
    ratio = dict(item.partition("=")[::2] for item in dataset.attributes.split(",")).get("ratio")
    if ratio and not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", ratio, re.ASCII):
        yield Finding((*key, "attributes"), dataset.attributes, "expected a number behind ratio=, 0 or above")
    for place, replica in dataset.replicas.items():
        of = dataset.n_files if replica.of_files is None else replica.of_files
        if of is not None and replica.files > of:
            yield Finding((*key, "replicas", place, "files"), replica.files, f"must not exceed the {of} of the dataset")
    for lfn, file in dataset.files.items():
        if file.first_event is not None and file.last_event is not None and file.first_event > file.last_event:
            yield Finding((*key, "files", lfn, "last_event"), file.last_event,
                          f"must not be before first_event, {file.first_event}")


def keys_of_the_broker(snapshot: Snapshot) -> Iterator[Finding]:
    """Keys of tasks are read by the broker that is asked; others that do nothing are remarked (`unread_keys`)."""
    for number, task in snapshot.tasks.items():
        if task.next_jobs.u is not None and task.broker == JOB_BROKERAGE:
            yield Finding(("tasks", number, "next_jobs", "u"), task.next_jobs.u, "only task brokerage draws a nucleus")
        for name, value in task.splitting if not task.datasets else ():
            if value and name not in ("nFilesPerJob", "nEventsPerJob"):
                yield Finding(("tasks", number, "splitting", name), value, "has no effect without `datasets`")


def sums_too_large(snapshot: Snapshot) -> Iterator[Finding]:
    """Cores of running jobs, and files on their way to a site, can be counted."""
    for position, row in enumerate(snapshot.jobs):
        queue = snapshot.grid.queues.get(row.queue)
        if queue is not None and row.running * max(queue.corecount, 1) > LARGEST_WHOLE:
            yield Finding(("jobs", position, "running"), row.running, f"with {queue.corecount} cores each these are "
                          f"more than {LARGEST_WHOLE} cores")
    for name, told in snapshot.queues.items():
        of_types = sum(each.submitted + each.running for each in told.workers.values())
        if told.workers_submitted + told.workers_running + of_types > LARGEST_WHOLE:
            yield Finding(("queues", name, "workers_submitted"), told.workers_submitted,
                          f"with the other workers of the queue these are more than {LARGEST_WHOLE}")
    files = Counter[str]()
    for position, link in enumerate(snapshot.links):
        files[link.destination] += link.queued_files + link.queued_express
        if files[link.destination] > LARGEST_WHOLE:
            yield Finding(("links", position, "queued_files"), link.queued_files, f"with the files of other links to "
                          f"{link.destination} these are more than {LARGEST_WHOLE} files")
            files[link.destination] = 0


SNAPSHOT_RULES: Rules = (constraints_of_rows, unknown_workflow, *GRID_RULES, *SHARE_RULES, numbers_twice, unknown_lock,
                         task_numbers, times_to_come, jobs_of_tasks, input_of_tasks, keys_of_the_broker, sums_too_large)


ONLY_DEPLOYED = "has no effect: only the deployed edition reads it"
FOR_JOBS = "has no effect: only job brokerage reads it"
OF_FILES = "has no effect: `datasets` say what jobs read"
OF_OTHER_FILES = "has no effect: the jobs {}"
OF_ENDS = "vo", "requesttype", "goal", "failGoalUnreached", "useExhausted", "noAutoPause"
"""Keys by which the watchdogs and the PostProcessor judge a task."""
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


DEFAULTS = {name: SnapshotTask.model_fields[name].default for name in ("outdiskunit", "files_per_job", "vo")}
"""Values of keys that are not empty where nothing is written."""

UNREAD: tuple[tuple[tuple[str, ...], Callable[[SnapshotTask, str], bool], str], ...] = (
    (("n_jobs_to_broker", "next_jobs.premerge"), lambda task, _: task.broker != JOB_BROKERAGE, FOR_JOBS),
    (("allowInputWAN",), lambda task, _: True, "has no effect: jobs read by it in runs, brokers do not ask"),
    (OF_ENDS, lambda task, _: True, "has no effect: what watches and ends tasks in runs reads it, brokers do not"),
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
    (("splitting.groupBoundaryID",), lambda task, _: True, "has no effect: files of a snapshot have no boundaryID"),
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
