"""One compiled pass over the live jobs for all timeout rules."""

import numpy as np

from simgrid_broker.bundle import LINE, Bundle, fetch
from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import SILENT
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import N_STATUS, Arrays
from simgrid_broker.world.rows import AHEAD, used_rows

PENDING, HOLDING = int(JobStatus.PENDING), int(JobStatus.HOLDING)
ASSIGNED, ACTIVATED = int(JobStatus.ASSIGNED), int(JobStatus.ACTIVATED)
STARTING, RUNNING = int(JobStatus.STARTING), int(JobStatus.RUNNING)

ENTERED, MODIFICATION, CREATED, ENDED, MODIFICATION_OR_ENDED, MODIFICATION_OR_CHANGED = range(6)
"""Start of a limit: entry into the status, last heartbeat or change, creation, end of the payload, the earlier of the
second and the fourth, and that of the second and stateChangeTime."""

RULE = np.dtype([
    ("statuses", "i4"),              # bit k: applies to status k
    ("clock", "i4"),
    ("priority_at_least", "i8"), ("priority_below", "i8"),
    ("spares", "i4"), ("only", "i4"),        # bits of `names.JobMark`; only = 0: jobs with any marks, or none
    ("silent_s", "f8"),              # MODIFICATION_OR_ENDED must be older, too
])
"""A timeout rule as the scan reads it."""


class Timeouts(Bundle):
    """Tables of one scan of the live jobs."""

    rules: np.ndarray              # (k,) of RULE
    of_status: np.ndarray          # `rules_by_status` of them
    limits: np.ndarray             # (k, n_queues), s, limit of each rule at each queue; inf where it does not apply
    shortest: np.ndarray           # `shortest_limits` of them
    for_label: np.ndarray          # (k, n_labels) bool, labels to which a rule applies
    concerned: np.ndarray          # (n_labels,) bool, labels to which any rule applies
    rows: np.ndarray               # as long as the jobs table; the result: rows of the overdue jobs
    broken: np.ndarray             # the same: the first rule that each exceeds


def timeouts_of(rules: np.ndarray, limits: np.ndarray, for_label: np.ndarray, n_rows: int) -> Timeouts:
    """The tables of a scan of `n_rows` rows of jobs."""
    return Timeouts(rules=rules, of_status=rules_by_status(rules), limits=np.ascontiguousarray(limits),
                    shortest=shortest_limits(rules, limits), for_label=np.ascontiguousarray(for_label),
                    concerned=for_label.any(axis=0),
                    rows=np.empty(n_rows, np.int32), broken=np.empty(n_rows, np.int32))


@compiled
def is_reported(job):
    """True if a payload or a waiting worker is reported for a job; it branches nowhere."""
    return ((job["status"] == RUNNING) & (job["due_sequence"] != 0)) | (
        (job["status"] == STARTING) & (job["slot"] != SILENT))


@compiled
def changed_at(world: Arrays, row, status):
    """stateChangeTime of a job, s: an activated job keeps that of its assignment; source: lifecycle reference, 3.1."""
    assigned = world.job_times[row, ASSIGNED]
    return assigned if status == ACTIVATED and not np.isnan(assigned) else world.job_times[row, status]


@compiled
def since(world: Arrays, row, clock):
    """Start of the limit of a rule with `clock` for a job, s; never while a payload or a waiting worker is reported."""
    job = world.jobs[row]
    if clock == ENTERED:
        return world.job_times[row, job["status"]]
    if clock == CREATED:
        return world.job_times[row, PENDING]
    if clock == ENDED:
        return world.job_times[row, HOLDING]
    modified = np.inf if is_reported(job) else job["modification_s"]
    other = np.nan
    if clock == MODIFICATION_OR_ENDED:
        other = world.job_times[row, HOLDING]
    elif clock == MODIFICATION_OR_CHANGED:
        other = changed_at(world, row, job["status"])
    return other if other < modified else modified


def shortest_limits(rules: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """The shortest limit of any rule for jobs in each status at each queue, s; inf = none.

    (2, n_status, n_queues): of any job, and of one for which something is reported, to which the rules about heartbeats
    do not apply. No clock starts before the creation of the job, so a younger job exceeds no limit.
    """
    concerned = (rules["statuses"][:, None] >> np.arange(N_STATUS)) & 1
    concerned = np.stack([concerned, concerned * (rules["clock"] != MODIFICATION)[:, None]])
    return np.where(concerned[..., None], limits[:, None], np.inf).min(axis=1)


def rules_by_status(rules: np.ndarray) -> np.ndarray:
    """Numbers of the rules for jobs in each status, in order, filled up with -1, (n_status, k + 1)."""
    numbers = np.full((N_STATUS, len(rules) + 1), -1, np.int64)
    for status, row in enumerate(numbers):
        own = np.flatnonzero((rules["statuses"] >> status) & 1)
        row[:len(own)] = own
    return numbers


def looked_at_again(timeouts: Timeouts, before: Timeouts | None) -> np.ndarray:
    """Queues where a scan may find jobs that the last one of its kind would have passed over, (n_queues,) bool."""
    shorter = timeouts.shortest < (np.inf if before is None else before.shortest)
    new = before is None or bool((timeouts.concerned > before.concerned).any())
    return np.asarray(shorter.any(axis=(0, 1)) | new)


@compiled
def forget_queues(world: Arrays, queues, scan):
    """Let a scan look at the jobs of some queues, (n_queues,) bool, as if it had never done so."""
    for row in used_rows(world):
        if queues[world.job_queues[row]]:
            world.quiet_s[row, scan] = 0.0


@compiled
def breaks(world: Arrays, row, rule, limit, now):
    """True if a live job exceeds the limit of a rule for its status at its queue."""
    job = world.jobs[row]
    if job["priority"] < rule["priority_at_least"] or job["priority"] >= rule["priority_below"]:
        return False
    marks = world.job_files[row]["marks"]
    if marks & rule["spares"] or (rule["only"] and not marks & rule["only"]):
        return False
    if rule["silent_s"] and not now - since(world, row, MODIFICATION_OR_ENDED) > rule["silent_s"]:
        return False
    return now - since(world, row, rule["clock"]) > limit


@compiled
def quiet_until(world: Arrays, row, timeouts: Timeouts, now):
    """Moment up to which a job as it stands exceeds no limit of a scan, s; forever if it is free or of no concern.

    An earlier moment will do if it is after `now`: that of any job there is known without reading the job.
    """
    until = ends_of(world, row, timeouts, False)
    if until > now:
        return until
    job = world.jobs[row]
    if job["panda_id"] == 0 or not timeouts.concerned[world.tasks[world.job_tasks[row]]["label"]]:
        return np.inf
    return ends_of(world, row, timeouts, is_reported(job))


@compiled
def ends_of(world: Arrays, row, timeouts: Timeouts, reported):
    """End of the shortest limit of a job, s, less a margin for the four bytes in which it is kept."""
    end_s = world.job_times[row, PENDING] + timeouts.shortest[
        np.int64(reported), world.job_status[row], world.job_queues[row]]
    return end_s if np.isinf(end_s) else end_s - 1e-6 * abs(end_s) - 1.0


@compiled
def find_old(world: Arrays, timeouts: Timeouts, scan, now):
    """Write the rows of all jobs that may be overdue to `rows`; returns their number.

    scan: column of `quiet_s`, by which it passes over the jobs that have not changed since it looked last.
    """
    rows, n_changed, n = timeouts.rows, 0, 0
    for row in used_rows(world):
        rows[n_changed] = row
        n_changed += not world.quiet_s[row, scan] > now
    for place in range(n_changed):
        row = rows[place]
        fetch(world.job_times, rows[min(place + AHEAD, n_changed - 1)], LINE)
        until = quiet_until(world, row, timeouts, now)
        world.quiet_s[row, scan] = until
        rows[n] = row
        n += not now < until
    return n


@compiled
def overdue(world: Arrays, timeouts: Timeouts, scan, now):
    """Fill `rows` and `broken` with each overdue job and the first rule that it exceeds; returns their number.

    scan: column of `quiet_s`, which the rules and limits of its last scan have filled.
    """
    rules, limits, rows = timeouts.rules, timeouts.limits, timeouts.rows
    n_overdue, n = 0, find_old(world, timeouts, scan, now)
    for place in range(n):
        row = rows[place]
        job, age = world.jobs[row], now - world.job_times[row, PENDING]
        for number in timeouts.of_status[job["status"]]:
            if number < 0:
                break
            limit = limits[number, job["queue"]]
            if (not age <= limit and breaks(world, row, rules[number], limit, now)
                    and timeouts.for_label[number, world.tasks[job["task"]]["label"]]):
                rows[n_overdue], timeouts.broken[n_overdue] = row, number
                n_overdue += 1
                break
    return n_overdue
