"""The server's copyArchive with the Watcher: jobs that stay too long as they are, are failed or closed.

Fast and analysis rebrokerage have their turns among the rules: in the code between its rows 10 and 12, and 23 and 25.
The check of transferring jobs, which in PanDA is the datasetManager's, is done here, too: it wakes as often.

Source: PanDA brokerage documentation, Timeout Rules; lifecycle reference, section 4.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.rebrokerage import AnalysisJobs, piled_up
from simgrid_broker.fabric.timeouts import CREATED, ENDED, ENTERED, MODIFICATION, RULE
from simgrid_broker.names import Cause, JobStatus, QueueStatus
from simgrid_broker.policy.timeouts import DEAD_STATUSES, IDLE_S, KNOWN_LABELS, LABELS, STAGES, rules

CLOCKS = {"entered": ENTERED, "modification": MODIFICATION, "created": CREATED, "ended": ENDED}
RESULTS = {"fail": int(JobStatus.FAILED), "close": int(JobStatus.CLOSED)}
CLOSED = int(JobStatus.CLOSED)


def copy_archive(control: Control) -> Process:
    """The process that applies the timeout rules."""
    analysis = AnalysisJobs(control)
    turns = {0: (Cause.FAST_REBROKERAGE, lambda: piled_up(control)), 1: (Cause.ANALYSIS_REBROKERAGE, analysis.waiting)}

    def look():
        in_force = rules(control.cfg, control.edition)
        rows, broken = control.fabric.overdue(as_table(in_force), limits(control, in_force),
                                              for_whom(control, in_force), control.now)
        for stage in range(len(STAGES)):
            apply(control, in_force, stage, rows, broken)
            if stage in turns:
                cause, found = turns[stage]
                control.fabric.take_back(found(), CLOSED, int(cause), control.now)
    yield from control.every(control.periods.copy_archive, look, "copyarch")


def apply(control: Control, in_force, stage: int, rows: np.ndarray, broken: np.ndarray) -> None:
    """End the jobs that break the rules of one stage, rule by rule, as far as nothing has ended them since."""
    for number, rule in enumerate(in_force):
        if rule.stage == stage:
            chosen = rows[broken == number]
            alive = control.arrays.jobs["panda_id"][chosen] > 0
            control.fabric.take_back(chosen[alive], RESULTS[rule.action], int(rule.cause), control.now)


def as_table(in_force) -> np.ndarray:
    """Rules as the compiled scan reads them, (k,) of RULE."""
    lowest, highest = -2**40, 2**40
    return np.array([(sum(1 << status for status in rule.statuses), CLOCKS[rule.clock],
                      lowest if rule.priority_at_least is None else rule.priority_at_least,
                      highest if rule.priority_below is None else rule.priority_below, rule.spares_merge_jobs)
                     for rule in in_force], RULE)


def limits(control: Control, in_force) -> np.ndarray:
    """Limit of each rule at each queue, s, (k, n_queues); inf where it does not apply."""
    queues = control.arrays.queues
    workflows = np.array([queue.workflow or "" for queue in control.world.scenario.grid.queues.values()])
    own = {rule.workflow for rule in in_force if rule.workflow}
    idle = (control.now - queues["laststart_s"] > IDLE_S) | np.isin(queues["status"], DEAD_STATUSES)
    found = np.empty((len(in_force), len(queues)))
    for row, rule in zip(found, in_force, strict=True):
        row[:] = queues[rule.limit_of_queue] if rule.limit_of_queue else rule.limit_s
        off = np.zeros(len(queues), bool)
        if rule.off_if_paused:
            off |= queues["status"] == QueueStatus.PAUSED
        if rule.off_if_disable_reassign:
            off |= queues["disable_reassign"] != 0
        if rule.idle_queue:
            off |= ~idle
        if rule.workflow is not None:
            off |= workflows != rule.workflow if rule.workflow else np.isin(workflows, list(own))
        row[off] = np.inf
    return found


def for_whom(control: Control, in_force) -> np.ndarray:
    """To which labels each rule applies, (k, n_labels) bool; a label that PanDA does not know counts as managed."""
    labels = [label if label in KNOWN_LABELS else "managed" for label in control.world.vocabularies["labels"]]
    masks = {name: np.isin(labels, members) if members else np.ones(len(labels), bool)
             for name, members in LABELS.items()}
    return np.array([masks[rule.labels] for rule in in_force])
