"""The server's copyArchive with the Watcher: fails or closes jobs that stay too long in a status.

Fast and analysis rebrokerage run between the stages of the rules: in the deployed edition between rows 10 and 12, and
23 and 25, of its list. Transferring jobs are checked here too, although PanDA leaves them to the datasetManager.
Where brokerage binds no jobs to queues, those that wait for a pilot are left alone, and nothing is rebrokered.
Source: PanDA brokerage documentation, Timeout Rules; lifecycle reference, section 4.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.panda.rebrokerage import AnalysisJobs, piled_up
from simgrid_broker.fabric.jobs.timeouts import CREATED, ENDED, ENTERED, MODIFICATION, RULE
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.policy.jobs.timeouts import STAGES, TimeoutRule, labels_of, limits, rules, without_waiting

CLOCKS = {"entered": ENTERED, "modification": MODIFICATION, "created": CREATED, "ended": ENDED}
RESULTS = {"fail": int(JobStatus.FAILED), "close": int(JobStatus.CLOSED)}


def copy_archive(control: Control) -> Process:
    """Apply the timeout rules and the rebrokerages."""
    binds_jobs = control.policies.dispatch.binds_jobs
    turns = rebrokerages(control) if binds_jobs else {}

    def read() -> Sequence[TimeoutRule]:
        found = rules(control.cfg, control.edition)
        return found if binds_jobs else without_waiting(found)
    cfg, in_force = control.cfg, read()

    def look() -> None:
        nonlocal cfg, in_force
        if cfg is not control.cfg:
            cfg, in_force = control.cfg, read()
        rows, broken = overdue(control, in_force)
        for stage in range(len(STAGES)):
            apply(control, in_force, stage, rows, broken)
            if stage in turns:
                cause, found = turns[stage]
                taken = found()
                control.fabric.take_back(taken, RESULTS["close"], int(cause), control.now)
                if len(taken):
                    control.fabric.empty_outboxes()        # brokers see at once which queues the jobs have left
    yield from control.every(control.periods.copy_archive, look, "copyarchive")


def rebrokerages(control: Control) -> dict[int, tuple[Cause, Callable[[], np.ndarray]]]:
    """Cause and jobs of the rebrokerage that follows on a stage of the rules."""
    return {0: (Cause.FAST_REBROKERAGE, lambda: piled_up(control)),
            1: (Cause.ANALYSIS_REBROKERAGE, AnalysisJobs(control).waiting)}


def overdue(control: Control, in_force: Sequence[TimeoutRule]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the jobs that break a rule, and the number of the first rule that each breaks."""
    world = control.world
    workflows = np.array([queue.workflow or "" for queue in world.scenario.grid.queues.values()])
    return control.fabric.overdue(as_table(in_force), limits(in_force, world.arrays.queues, workflows, control.now),
                                  labels_of(in_force, world.vocabularies["labels"]), control.now)


def apply(control: Control, in_force: Sequence[TimeoutRule], stage: int, rows: np.ndarray, broken: np.ndarray) -> None:
    """End the jobs that break the rules of one stage, rule by rule, unless something ended them in the meantime."""
    if not len(rows):
        return
    for number, rule in enumerate(in_force):
        if rule.stage == stage:
            chosen = rows[broken == number]
            alive = control.arrays.jobs["panda_id"][chosen] > 0
            control.fabric.take_back(chosen[alive], RESULTS[rule.action], int(rule.cause), control.now)


def as_table(in_force: Sequence[TimeoutRule]) -> np.ndarray:
    """Rules as the compiled scan reads them, (k,) of RULE."""
    lowest, highest = -2**40, 2**40
    return np.array([(sum(1 << status for status in rule.statuses), CLOCKS[rule.clock],
                      lowest if rule.priority_at_least is None else rule.priority_at_least,
                      highest if rule.priority_below is None else rule.priority_below, rule.spares_merge_jobs)
                     for rule in in_force], RULE)
