"""The list that production job brokerage begins with: all queues, or those to which a task is pre-assigned."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.brokerage.production import named_values
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.rule import JOB_BROKERAGE, criterion
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import Premerge, Queues, Task, same_type

NAMED = ("preassigned", "premerge")
"""Fields of a task that name queues."""
LAPSE_S = DAY
"""Time for which merge jobs are kept at their files; source: step 1; brokerage reference, 2.1."""
STUCK_S = 6 * HOUR
"""In the deployed edition they must also have been stuck this long; source: brokerage reference, 2.1 (D17)."""


class InitialList(NamedTuple):
    """The initial list, (n,) bool, and PanDA's flags: one pseudo-queue is pre-assigned, or several are."""

    mask: np.ndarray
    single: bool
    listed: bool

    @property
    def preassigned(self) -> bool:
        """Whether the list is not simply all queues."""
        return self.single or self.listed


def initial_list(task: Task, queues: Queues, edition: str) -> InitialList:
    """The candidates of a task before any check. Source: brokerage reference, 2.1."""
    all_queues = InitialList(np.ones(len(queues.queue), bool), False, False)
    if task.premerge is not None:
        if lapsed(task.premerge, edition):
            return all_queues
        return InitialList(_around(task.premerge.queue, queues), False, True)
    if not task.preassigned:
        return all_queues
    named = np.isin(queues.queue, task.preassigned)
    return InitialList(named, is_single(task, queues), bool(np.count_nonzero(named) > 1))


def is_single(task: Task, queues: Queues) -> bool:
    """Whether a task names one queue that has one candidate: PanDA's flag SINGLE."""
    return (task.premerge is None and len(task.preassigned) > 0
            and np.count_nonzero(np.isin(queues.queue, task.preassigned)) == 1)


def is_spared(case: JobCase) -> bool:
    """Whether criteria beyond the status spare the single queue that a task names: in the deployed edition alone.

    The documentation spares pre-assigned queues from the status (step 2), and from nothing else.
    """
    return case.edition == "deployed" and is_single(case.task, case.queues)


def is_named(task: Task, queues: Queues) -> np.ndarray:
    """Candidates of PanDA queues that the task or its merge jobs name, (n,) bool."""
    if task.premerge is not None:
        return queues.queue == task.premerge.queue
    return np.isin(queues.queue, task.preassigned) if task.preassigned else np.zeros(len(queues.queue), bool)


def lapsed(premerge: Premerge, edition: str) -> bool:
    """Whether merge jobs may leave the queue that holds their files (D17)."""
    if edition == "documented":
        return premerge.stuck_s >= LAPSE_S
    return premerge.input_idle_s > LAPSE_S and premerge.stuck_s > STUCK_S


def for_hint(task: Task) -> Task:
    """The task as the job brokerage sees it for a hint: the queues are given, none is pre-assigned."""
    if not (task.preassigned or task.premerge):
        return task
    return replace(task, preassigned=(), premerge=None)


@criterion("-preassign", says="{text}", text=named_values.who_names_queues,
           applies=lambda case: initial_list(case.task, case.queues, case.edition).preassigned,
           panda="list of preliminary candidates", static=NAMED,
           source=f"{JOB_BROKERAGE}, step 1; brokerage reference, 2.1 (D17)")
def not_preassigned(case: JobCase) -> np.ndarray:
    """Refuse queues that are not on the list of a pre-assigned task; PanDA lists none of them and so logs none.

    In the deployed edition merge jobs stay at their files for longer.
    """
    return ~initial_list(case.task, case.queues, case.edition).mask


def _around(queue: int, queues: Queues) -> np.ndarray:
    """A PanDA queue, and the online ones for production that read from the storage that takes its output, (n,) bool.

    These have the type of that queue, or are unified.
    """
    own = queues.queue == queue
    if not own.any():
        return own
    output = int(queues.storage[np.argmax(own)])
    reads = (queues.storage == output if queues.reads is None
             else np.array([output in used for used in queues.reads], bool))
    alike = same_type(int(np.argmax(own)), queues.production, queues.analysis)
    return own | (reads & (output >= 0) & alike & queues.production & (queues.status == QueueStatus.ONLINE))
