"""JEDI's TaskBroker: production tasks get their nucleus.

Source: PanDA brokerage documentation, production task brokerage; brokerage reference, section 1.1.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import DecisionKind, TaskStatus
from simgrid_broker.world import observe
from simgrid_broker.world.task_transitions import set_status


def task_broker(control):
    """The process that assigns tasks to nuclei."""
    def broker():
        tasks = control.world.arrays.tasks
        rows = control.live_tasks.in_status(TaskStatus.ASSIGNING)
        rows = rows[control.now - tasks["modification_s"][rows] >= control.periods.task_broker_retry]
        work = observe.remaining_work(control.world, control.live_tasks.rows) if len(rows) else None
        for row in rows[np.lexsort((rows, -tasks["priority"][rows]))].tolist():
            _assign(control, row, work)
    yield control.every(control.periods.task_broker, broker, "taskbroker")


def _priority_work(control, task) -> np.ndarray:
    """Work at each site of the task's share at its priority or above, (n_sites,), HS06 s."""
    rows, tasks = control.live_tasks.rows, control.world.arrays.tasks
    mine = (tasks["share"][rows] == task.share) & (tasks["priority"][rows] >= task.currentpriority)
    return observe.remaining_work(control.world, rows[mine])


def _assign(control, row: int, work: np.ndarray) -> None:
    """Choose the nucleus of one task and add its work to it; without one it is tried again later."""
    world, now = control.world, control.now
    tasks = world.arrays.tasks
    task = observe.task(world, row)
    nuclei = observe.nuclei(world, row, work, _priority_work(control, task) if control.edition == "deployed" else None)
    uniform = float(luck.uniforms(control.seed, "nucleus_draw", task.jeditaskid, int(now)))
    verdict = control.policies.task_brokerage(task, nuclei, control.cfg, control.edition, uniform)
    control.decisions.add(DecisionKind.TASK_BROKERAGE, now, task, verdict, 0, len(world.vocabularies["pseudo_queues"]),
                          nuclei.site)
    if not len(verdict.order):
        tasks["modification_s"][row] = now
        return
    nucleus = int(nuclei.site[verdict.order[0]])
    tasks["nucleus"][row], tasks["frozen_s"][row] = nucleus, np.nan
    set_status(world, row, TaskStatus.READY, now)
    work[nucleus] += float(observe.claimed_work(tasks[row], int(tasks["n_jobs"][row])))
