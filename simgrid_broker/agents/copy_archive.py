"""The server's copyArchive with the Watcher: jobs that stay too long as they are, are failed or closed.

Behind the timeouts comes fast rebrokerage, which takes back jobs that pile up where their share hardly runs.

Source: PanDA brokerage documentation, Timeout Rules; lifecycle reference, section 4.
"""

import numpy as np

from simgrid_broker.fabric.timeouts import CREATED, ENDED, ENTERED, MODIFICATION, RULE
from simgrid_broker.names import ANALYSIS_LABELS, JOB_QUEUED, Cause, JobStatus, QueueStatus
from simgrid_broker.policy.fast_rebrokerage import jobs_to_take_back
from simgrid_broker.policy.timeouts import DEAD_STATUSES, IDLE_S, rules

CLOCKS = {"entered": ENTERED, "modification": MODIFICATION, "created": CREATED, "ended": ENDED}
NOBODY = np.zeros(0, np.int32)


def copy_archive(control):
    """The process that applies the timeout rules."""
    def look():
        in_force = rules(control.cfg, control.edition)
        rows, broken = control.fabric.overdue(as_table(in_force), where(control, in_force), for_whom(control, in_force),
                                              control.now)
        for number, rule in enumerate(in_force):
            status = JobStatus.FAILED if rule.action == "fail" else JobStatus.CLOSED
            control.fabric.take_back(rows[broken == number], int(status), int(rule.cause), control.now)
        piled_up = fast_rebrokerage(control)
        control.fabric.take_back(piled_up, int(JobStatus.CLOSED), int(Cause.FAST_REBROKERAGE), control.now)
    yield control.every(control.periods.copy_archive, look, "copyarch")


def fast_rebrokerage(control) -> np.ndarray:
    """Rows of the jobs that fast rebrokerage takes back: the oldest of each queue and share that has too many."""
    arrays = control.world.arrays
    counts = arrays.counts.sum(axis=2)                               # (n_queues, n_shares, n_status)
    excess = jobs_to_take_back(counts[..., JOB_QUEUED].sum(axis=2), counts[..., JobStatus.RUNNING],
                               control.world.vocabularies["shares"], control.cfg, arrays.queues["num_slots"] >= 0)
    if not excess.any():
        return NOBODY
    rows = np.flatnonzero((arrays.jobs["panda_id"] > 0) & np.isin(arrays.jobs["status"], JOB_QUEUED))
    jobs = arrays.jobs[rows]
    rows = rows[np.lexsort((jobs["panda_id"], jobs["share"], jobs["queue"]))].astype(np.int32)
    pair = arrays.jobs["queue"][rows].astype(np.int64) * excess.shape[1] + arrays.jobs["share"][rows]
    place = np.arange(len(rows)) - np.searchsorted(pair, pair)       # age within the queue and share, oldest 0
    return rows[place < excess.ravel()[pair]]


def as_table(in_force) -> np.ndarray:
    """Rules as the compiled scan reads them, (k,) of RULE."""
    lowest, highest = -2**40, 2**40
    return np.array([(sum(1 << status for status in rule.statuses), CLOCKS[rule.clock],
                      lowest if rule.priority_at_least is None else rule.priority_at_least,
                      highest if rule.priority_below is None else rule.priority_below, rule.limit_s)
                     for rule in in_force], RULE)


def where(control, in_force) -> np.ndarray:
    """At which queues each rule applies, (k, n_queues) bool."""
    queues = control.world.arrays.queues
    workflows = np.array([queue.workflow or "" for queue in control.world.scenario.grid.queues.values()])
    own = {rule.workflow for rule in in_force if rule.workflow}
    idle = (control.now - queues["laststart_s"] > IDLE_S) | np.isin(queues["status"], DEAD_STATUSES)
    applies = np.ones((len(in_force), len(queues)), bool)
    for number, rule in enumerate(in_force):
        if rule.off_if_paused:
            applies[number] &= queues["status"] != QueueStatus.PAUSED
        if rule.off_if_disable_reassign:
            applies[number] &= queues["disable_reassign"] == 0
        if rule.idle_queue:
            applies[number] &= idle
        if rule.workflow is not None:
            applies[number] &= workflows == rule.workflow if rule.workflow else ~np.isin(workflows, list(own))
    return applies


def for_whom(control, in_force) -> np.ndarray:
    """To which labels each rule applies, (k, n_labels) bool."""
    analysis = np.isin(control.world.vocabularies["labels"], ANALYSIS_LABELS)
    masks = {"any": np.ones_like(analysis), "analysis": analysis, "production": ~analysis}
    return np.array([masks[rule.labels] for rule in in_force])
