"""Rules between the parts of a snapshot."""

import re
from collections import Counter
from collections.abc import Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.checks.grid import GRID_RULES
from simgrid_broker.scenario.checks.rows import constraints_of_rows
from simgrid_broker.scenario.checks.shares import SHARE_RULES
from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.scenario.snapshot import JOB_BROKERAGE, Snapshot
from simgrid_broker.schema.part import LARGEST_WHOLE
from simgrid_broker.schema.tasks import DatasetOfTask


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
            if key in seen:
                yield Finding((part, position), ", ".join(key), "is described a second time")
            seen.add(key)


def unknown_lock(snapshot: Snapshot) -> Iterator[Finding]:
    """A lock is on a PanDA queue, or on one of its resource types."""
    for position, name in enumerate(snapshot.locked):
        queue, _, kind = name.partition("/")
        if queue not in snapshot.grid.queues or (kind and kind not in snapshot.resource_types):
            yield Finding(("locked", position), name, "unknown candidate; expected a PanDA queue, or QUEUE/TYPE",
                          nearest(queue, snapshot.grid.queues))


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


def unread_keys(snapshot: Snapshot) -> Iterator[Finding]:
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


SNAPSHOT_RULES = (constraints_of_rows, *GRID_RULES, *SHARE_RULES, numbers_twice, unknown_lock, task_numbers,
                  times_to_come, jobs_of_tasks, input_of_tasks, unread_keys, sums_too_large)
