"""Timeout rules in the order in which they are applied: how long a job may stay in a status, and what happens then.

Source: PanDA brokerage documentation, Timeout Rules; JEDI TWiki, timeout values for production jobs; lifecycle
reference, 3.3 and 4.1 to 4.3; PanDA, copyArchive and Watcher. Jumbo jobs are looked after by event service.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import GdpconfigKey, job_timeout, watcher
from simgrid_broker.names import (
    DEFINED_TABLE,
    HIGH_PRIORITY,
    VERY_HIGH_PRIORITY,
    Cause,
    JobMark,
    JobStatus,
    QueueStatus,
)
from simgrid_broker.units import DAY, HOUR, MINUTE
from simgrid_broker.views import Gdpconfig

CLOCKS = ("entered", "modification", "created", "ended", "modification or ended", "modification or changed")
"""Times that a limit counts from: entry into the status, last heartbeat or change, creation, end of the payload, the
earlier of the second and the fourth, and that of the second and stateChangeTime."""
LABELS = {"any": None, "managed": ("managed",), "managed and test": ("managed", "test"), "analysis": ("user", "panda"),
          "analysis and test": ("user", "panda", "test"), "production": ("managed", "test", "prod_test")}
"""Groups of prodSourceLabels that rules name; None = all. A label unknown to PanDA counts as managed."""
KNOWN_LABELS = ("managed", "test", "prod_test", "user", "panda")
"""Labels of production and of analysis; source: lifecycle reference, conventions."""
STAGES = ("before fast rebrokerage", "before analysis rebrokerage", "at the end")
"""When a rule is applied; source: lifecycle reference, 4.2 (rows 11 and 24)."""

class Kill(NamedTuple):
    """Effect of a kill code: status and sub-status of the job afterwards, and the name of its taskBufferErrorCode.

    substatus, error: "" = the sources name none.
    """

    status: JobStatus
    substatus: str
    error: str


KILLS = {2: Kill(JobStatus.CLOSED, "toreassign", "EC_Expire"), 4: Kill(JobStatus.CLOSED, "toreassign", "EC_Expire"),
         10: Kill(JobStatus.CLOSED, "", ""), 51: Kill(JobStatus.CLOSED, "toreassign", "EC_Kill"),
         52: Kill(JobStatus.CANCELLED, "", "EC_Kill")}
"""Kill codes that copyArchive gives; source: lifecycle reference, 3.3; PanDA, killJob."""
TO_BE_KILLED = "tobekilled"
"""commandToPilot of a running job that a kill code only marks; source: lifecycle reference, 3.3."""
FORCED = (52,)
"""Kill codes that end running production jobs at once; source: lifecycle reference, 3.3."""

GENERAL = ("production", "analysis")
"""Workflows whose heartbeats are those of all others."""
WATCHER_S = 1 * HOUR
"""Silence of an analysis job below which the Watcher itself does nothing; source: lifecycle reference, corrections."""
IDLE_S = 2 * HOUR
"""A queue where no job started for this long is idle; source: PanDA brokerage documentation, Timeout Rules."""
IS_DEAD = np.isin(np.arange(len(QueueStatus)), (QueueStatus.TEST, QueueStatus.OFFLINE))
"""True for the statuses of a queue that count as idle; source: the same."""
TRANSTIMEHI_S, TRANSTIMELO_S = 2 * DAY, 6 * DAY
"""Limits of the deployed edition in place of CRIC's transtimehi and transtimelo; source: lifecycle reference, 4.3."""

ACTIVE_TABLE = (JobStatus.ACTIVATED, JobStatus.THROTTLED, JobStatus.SENT, JobStatus.STARTING, JobStatus.RUNNING,
                JobStatus.HOLDING, JobStatus.MERGING, JobStatus.TRANSFERRING)
"""Statuses of PanDA's active table; source: the same."""
WAITING_FOR_A_PILOT = (JobStatus.ACTIVATED, JobStatus.THROTTLED)
NEVER_OFF: dict[str, Any] = {"off_if_paused": False, "off_if_disable_reassign": False}
"""Fields of a rule that neither a paused queue nor disableReassign turns off."""


@dataclass(frozen=True)
class TimeoutRule:
    """Jobs in `statuses` whose `clock` is older than `limit_s` get `action` and `cause`.

    action: `fail` = the attempt counts as a failure, `close` = the job is withdrawn and its input brokered again,
    `cancel` = it is killed; code: the kill code of PanDA, 0 = the documents name none, or the Watcher fails the job.
    priority_at_least, priority_below: None = open; labels: one of LABELS; idle_queue: only at queues that are idle
    (IDLE_S) or dead (IS_DEAD); workflow: only at queues of this CRIC workflow, "" = at those without a rule of their
    own, None = everywhere; off_if_paused, off_if_disable_reassign: whether the queue's status `paused` or its flag
    disableReassign turns the rule off; limit_of_queue: field of the queue that holds its own limit, which takes the
    place of limit_s; stage: place in STAGES; spares: jobs with one of these marks are left alone; only: jobs without
    any of these are; silent_s: `modification or ended` must be older than that, too; workflow_online: a workflow has a
    rule of its own only while a queue of it is online, and while one has, the rule of all others leaves out the
    workflows `production` and `analysis`; clock_of_others: at a queue where a rule with such a clock ends a job, it
    counts for the others (`with_others`).
    """

    cause: Cause
    statuses: tuple[JobStatus, ...]
    clock: str
    limit_s: float
    action: str
    priority_at_least: int | None = None
    priority_below: int | None = None
    labels: str = "any"
    idle_queue: bool = False
    workflow: str | None = None
    off_if_paused: bool = True
    off_if_disable_reassign: bool = True
    limit_of_queue: str = ""
    stage: int = 0
    code: int = 0
    spares: JobMark = JobMark(0)
    only: JobMark = JobMark(0)
    silent_s: float = 0.0
    workflow_online: bool = False
    clock_of_others: str = ""


Scan = Callable[[Sequence[TimeoutRule], np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Search of overdue jobs: rules, their limits and labels; rows of jobs, and the first rule that each exceeds."""


def without_waiting(in_force: Sequence[TimeoutRule]) -> tuple[TimeoutRule, ...]:
    """The rules that are left where DIRAC dispatches: none on jobs that wait for a pilot, which no other queue could
    get sooner, except merge jobs without input. DIRAC's own rules are not in the sources."""
    return tuple(rule for rule in in_force if not set(rule.statuses) <= {*WAITING_FOR_A_PILOT})


def concerning(in_force: Sequence[TimeoutRule], marks: JobMark) -> tuple[TimeoutRule, ...]:
    """The rules that may concern a job where jobs have these marks at most."""
    return tuple(rule for rule in in_force if not rule.only or rule.only & marks)


def is_only_marked(rule: TimeoutRule, status: np.ndarray, is_production: np.ndarray) -> np.ndarray:
    """Jobs that a kill code only marks TO_BE_KILLED, so that their pilots end them at the next heartbeat, (n,) bool.

    status, is_production (label managed or test): (n,). Source: lifecycle reference, 3.3.
    """
    forced = is_production if rule.code in FORCED else np.zeros(len(status), bool)
    return (rule.code != 0) & (status == JobStatus.RUNNING) & ~forced


class SilentJob(NamedTuple):
    """A job that the Watcher fails: its status, whether its endTime is set, and errors that it already has.

    has_error: of the pilot or the payload; has_dispatcher_error: of the server; worker_is_over: its Harvester worker is
    finished, failed, cancelled or missed.
    """

    status: JobStatus
    has_ended: bool
    has_error: bool = False
    has_dispatcher_error: bool = False
    worker_is_over: bool = False


def watcher_error(job: SilentJob) -> tuple[str, bool]:
    """Name of the jobDispatcherErrorCode of a job that the Watcher fails, and whether it notes "worker already done".

    "" = the job keeps the error that it has. Source: lifecycle reference, 4.1; PanDA, Watcher.
    """
    if job.status == JobStatus.SENT:
        return "EC_SendError", False
    if job.has_error:
        return "EC_Recovery", False
    if job.has_dispatcher_error:
        return "", False
    return END_ERRORS.get(job.status, "EC_Timeout") if job.has_ended else "EC_Watcher", job.worker_is_over


END_ERRORS = {JobStatus.HOLDING: "EC_Holding", JobStatus.TRANSFERRING: "EC_Transferring"}
"""Errors of jobs that have ended, by status."""


def _documented(cfg: Gdpconfig) -> tuple[TimeoutRule, ...]:
    """The documented table, with the TWiki's limit of waiting and the deployed limit of holding below priority 800.

    The TWiki lists the 4 hours at an idle queue for production jobs; the later list does not say for which. Neither
    speaks of merge jobs without input, which are killed as in the code.
    """
    s = JobStatus
    return (
        *_each((s.PENDING,), "entered", 1 * HOUR, "close"),
        *_each((s.WAITING,), "entered", 30 * MINUTE, "close", spares=JobMark.CONSUMES),
        *_each((s.DEFINED,), "entered", _s(cfg, job_timeout.TIMEOUT_defined), "close"),
        *_each((s.ASSIGNED,), "entered", 12 * HOUR, "close"),
        *_each((s.THROTTLED,), "entered", 7 * DAY, "close"),
        *_each((s.ACTIVATED, s.STARTING), "entered", 4 * HOUR, "close", priority_at_least=HIGH_PRIORITY,
               idle_queue=True, labels="production"),
        *_each((s.ACTIVATED, s.STARTING), "entered", 2 * DAY, "close"),
        *_each((s.SENT,), "entered", 30 * MINUTE, "fail"),
        *_heartbeats(cfg),
        *_each((s.RUNNING,), "entered", 21 * DAY, "close"),
        *_each((s.HOLDING,), "entered", 3 * HOUR, "fail", priority_at_least=HIGH_PRIORITY),
        *_each((s.HOLDING,), "entered", _s(cfg, job_timeout.TIMEOUT_holding), "fail", priority_below=HIGH_PRIORITY),
        *_transferring("entered", limits_of_queue=("transtimehi_s", "transtimelo_s")),
        *_orphans(0, 0),
    )


def _deployed(cfg: Gdpconfig) -> tuple[TimeoutRule, ...]:
    """The deployed rows 1 to 27 and the check of transferring jobs, as far as they concern simulated jobs."""
    return (*_failures_deployed(cfg), *_expiries_deployed(cfg), *_orphans(52, 2),
            *_transferring("ended", labels="managed and test", stage=2, **NEVER_OFF))


TABLES = ByEdition(documented=_documented, deployed=_deployed)
"""The tables of timeout rules under gdpconfig, by edition."""


def rules(cfg: Gdpconfig, edition: str) -> tuple[TimeoutRule, ...]:
    """The timeout rules of an edition under gdpconfig."""
    return TABLES[edition](cfg)


def _failures_deployed(cfg: Gdpconfig) -> tuple[TimeoutRule, ...]:
    """Rows 1 to 8; a paused queue turns off the heartbeats of rows 7 and 8 only, disableReassign none."""
    s, never, or_ended = JobStatus, NEVER_OFF, "modification or ended"
    silence: dict[str, Any] = {"limit_s": _s(cfg, watcher.HEARTBEAT_TIMEOUT_analysis), "silent_s": WATCHER_S,
                               "labels": "analysis"}
    return (
        TimeoutRule(Cause.LOST_HEARTBEAT, (s.STARTING, s.RUNNING), "modification", action="fail", **silence, **never),
        *_each((s.TRANSFERRING,), "modification", action="fail", **silence, **never),
        *_each((s.SENT,), "modification", 30 * MINUTE, "fail", **never),
        *_each((s.HOLDING,), or_ended, 3 * HOUR, "fail", labels="analysis", only=JobMark.CHANGED_SINCE,
               spares=JobMark.OUTPUT_REPORT, **never),
        *_each((s.HOLDING,), or_ended, 3 * HOUR, "fail", priority_at_least=HIGH_PRIORITY + 1, **never),
        *_each((s.HOLDING,), or_ended, _s(cfg, job_timeout.TIMEOUT_holding), "fail", **never),
        *_heartbeats(cfg, off_if_disable_reassign=False, workflow_online=True),
    )


def _expiries_deployed(cfg: Gdpconfig) -> tuple[TimeoutRule, ...]:
    """Rows 9 to 26; disableReassign turns off rows 12, 16 and 17 only, a paused queue none.

    The Watcher of row 25 stands before its kill, which only marks a running job; in PanDA it comes behind.
    """
    s, m, never = JobStatus, JobMark, NEVER_OFF
    of_jedi = {"code": 51, "stage": 1, "spares": m.NOT_JEDI}
    managed = of_jedi | {"labels": "managed", "off_if_paused": False}
    waiting = managed | {"spares": m.NOT_JEDI | m.NOT_REASSIGNABLE}
    high = managed | {"priority_at_least": HIGH_PRIORITY, "idle_queue": True,
                      "clock_of_others": "modification or changed",
                      "spares": m.NOT_JEDI | m.NOT_REASSIGNABLE | m.NO_RELOCATION_FLAG | m.MERGES}
    defined_s = _s(cfg, job_timeout.TIMEOUT_defined)
    return (
        *_each((*DEFINED_TABLE, s.ACTIVATED), "created", 7 * DAY, "close", code=2, **never),
        *_each((s.ACTIVATED,), "modification", 4 * HOUR, "close", **high),
        *_each((s.STARTING,), "entered", 4 * HOUR, "close", **high),
        *_each((s.DEFINED,), "modification", defined_s, "close", labels="managed and test", **of_jedi, **never),
        *_each((s.DEFINED,), "created", defined_s, "close", code=2, stage=1, only=m.NOT_JEDI | m.BUILDS, **never),
        *_each(DEFINED_TABLE, "modification", 12 * HOUR, "close", **managed | never),
        *_each((s.ACTIVATED,), "modification", 2 * DAY, "close", **waiting),
        *_each((s.STARTING,), "entered", 48 * HOUR, "close", **waiting),
        *_each(ACTIVE_TABLE, "modification", 7 * DAY, "close", code=2, labels="analysis and test", stage=1, **never),
        *_each((s.PENDING,), "created", 1 * HOUR, "close", code=4, stage=1, **never),
        *_each((s.WAITING,), "created", 1 * HOUR, "close", code=4, stage=1, spares=m.CONSUMES, **never),
        *_each((s.STARTING, s.RUNNING), "entered", DAY, "close", code=2, stage=1, only=m.CONSUMES,
               priority_at_least=VERY_HIGH_PRIORITY, **never),
        *_each((s.STARTING, s.RUNNING), "entered", DAY, "close", code=2, stage=1, only=m.MERGES_EVENTS, **never),
        TimeoutRule(Cause.LOST_HEARTBEAT, (s.RUNNING,), "modification", 21 * DAY, "fail", stage=2, **never),
        *_each(ACTIVE_TABLE, "created", 21 * DAY, "close", code=2, stage=2, **never),
        *_each((s.THROTTLED,), "created", 7 * DAY, "close", code=2, stage=2, **never),
    )


def _orphans(code: int, stage: int) -> tuple[TimeoutRule, ...]:
    """Row 27: merge jobs of which a job before them is gone; source: lifecycle reference, 4.2."""
    return (TimeoutRule(Cause.TIMEOUT_MERGING, (*DEFINED_TABLE, *ACTIVE_TABLE), "modification", 30 * MINUTE, "cancel",
                        code=code, stage=stage, only=JobMark.PREMERGE_GONE, **NEVER_OFF),)


def _transferring(clock: str, limits_of_queue: tuple[str, str] = ("", ""), **options) -> tuple[TimeoutRule, ...]:
    """Jobs whose output does not arrive; source: PanDA brokerage documentation; lifecycle reference, section 4.3."""
    moving, (urgent, other) = (JobStatus.TRANSFERRING,), limits_of_queue
    return (*_each(moving, clock, TRANSTIMEHI_S, "fail", priority_at_least=HIGH_PRIORITY, limit_of_queue=urgent,
                   **options),
            *_each(moving, clock, TRANSTIMELO_S, "fail", priority_below=HIGH_PRIORITY, limit_of_queue=other,
                   **options))


def _heartbeats(cfg: Gdpconfig, **options) -> tuple[TimeoutRule, ...]:
    """Lost heartbeats: one rule for each workflow with a key of its own, and one for all others."""
    own = sorted((member["workflow"], hours) for member, hours in cfg.members(watcher.HEARTBEAT_TIMEOUT_OF_WORKFLOW))
    limits = [(workflow, hours * HOUR) for workflow, hours in own if workflow not in GENERAL]
    limits.append(("", _s(cfg, watcher.HEARTBEAT_TIMEOUT_production)))
    return tuple(TimeoutRule(Cause.LOST_HEARTBEAT, (JobStatus.STARTING, JobStatus.RUNNING), "modification", limit_s,
                             "fail", workflow=workflow, **options) for workflow, limit_s in limits)


def _each(statuses: tuple[JobStatus, ...], clock: str, limit_s: float, action: str,
          **options) -> tuple[TimeoutRule, ...]:
    """One rule for each status, with its own cause."""
    return tuple(TimeoutRule(Cause[f"TIMEOUT_{status.name}"], (status,), clock, limit_s, action, **options)
                 for status in statuses)


def _s(cfg: Gdpconfig, key: GdpconfigKey) -> float:
    """Value of a key in hours, s."""
    return cfg.value(key) * HOUR


def limits(in_force: Sequence[TimeoutRule], queues: np.ndarray, workflows: np.ndarray, now: float) -> np.ndarray:
    """Limit of each rule at each queue, s, (k, n_queues); inf where it does not apply.

    queues: (n_queues,) with status, laststart_s, disable_reassign and the columns that hold limits; workflows:
    (n_queues,), empty = none. A queue with laststart_s NaN, which never started a job, is not idle.
    """
    status = queues["status"]
    idle = (now - queues["laststart_s"] > IDLE_S) | IS_DEAD[status]
    off = _workflows_off(in_force, workflows, workflows[status == QueueStatus.ONLINE])
    for flag, queue in (("off_if_paused", status == QueueStatus.PAUSED), ("idle_queue", ~idle),
                        ("off_if_disable_reassign", queues["disable_reassign"] != 0)):
        off |= np.array([getattr(rule, flag) for rule in in_force], bool)[:, None] & queue
    found = np.repeat([rule.limit_s for rule in in_force], len(queues)).reshape(off.shape)
    for row, rule in zip(found, in_force, strict=True):
        if rule.limit_of_queue:
            row[:] = queues[rule.limit_of_queue]
    found[off] = np.inf
    return found


def with_others(in_force: Sequence[TimeoutRule], limits: np.ndarray, for_label: np.ndarray, queue: np.ndarray,
                scan: Scan) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the jobs that a scan finds overdue and the first rule that each exceeds, with the jobs that go with them.

    limits, for_label: of the rules, as `limits` and `labels_of` return them; queue: of each row of the jobs. Row 12
    chooses queues by one time of a job, and there jobs by either. Source: lifecycle reference, 4.2.
    """
    rows, broken = scan(in_force, limits, for_label)
    own = np.flatnonzero([bool(rule.clock_of_others) for rule in in_force])
    here = np.isin(np.arange(limits.shape[1]), queue[rows[np.isin(broken, own)]])
    if not here.any():
        return rows, broken
    wider = [replace(in_force[number], clock=in_force[number].clock_of_others) for number in own.tolist()]
    others, which = scan(wider, np.where(here, limits[own], np.inf), for_label[own])
    new = ~np.isin(others, rows)
    return np.concatenate([rows, others[new]]), np.concatenate([broken, own[which[new]]])


def _workflows_off(in_force: Sequence[TimeoutRule], workflows: np.ndarray, online: np.ndarray) -> np.ndarray:
    """Queues where the workflow turns off each rule, (k, n_queues) bool; online: workflows of the queues online."""
    own = [rule.workflow for rule in in_force
           if rule.workflow and (not rule.workflow_online or rule.workflow in online)]
    off = np.zeros((len(in_force), len(workflows)), bool)
    for row, rule in zip(off, in_force, strict=True):
        if rule.workflow:
            row[:] = (workflows != rule.workflow) | (rule.workflow not in own)
        elif rule.workflow is not None:
            row[:] = np.isin(workflows, [*own, *(GENERAL if own and rule.workflow_online else ())])
    return off


def labels_of(in_force: Sequence[TimeoutRule], labels: tuple[str, ...]) -> np.ndarray:
    """Labels that each rule concerns, (k, n_labels) bool; a label that PanDA does not know counts as managed."""
    known = [label if label in KNOWN_LABELS else "managed" for label in labels]
    masks = {name: [members is None or label in members for label in known] for name, members in LABELS.items()}
    return np.array([masks[rule.labels] for rule in in_force])
