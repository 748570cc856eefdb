"""JEDI's TaskBroker: production tasks get their nucleus.

Source: PanDA brokerage documentation, production task brokerage; brokerage reference, section 1.1.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import DecisionKind, TaskStatus
from simgrid_broker.policy.job_brokerage.broker import broker_hint
from simgrid_broker.views import Nuclei, Task, Verdict
from simgrid_broker.world import observe
from simgrid_broker.world.nuclei import Burden, nuclei
from simgrid_broker.world.task_transitions import set_status

NUCLEUS_DRAW = luck.STREAMS["nucleus_draw"]


def task_broker(control):
    """The process that assigns tasks to nuclei, work queue by work queue, in each by priority and age."""
    def broker():
        _take_up_again(control)
        tasks = control.world.arrays.tasks
        rows = control.live_tasks.in_status(TaskStatus.ASSIGNING)
        rows = rows[_is_due(control, rows)]
        if not len(rows):
            return
        burden = Burden(control.world, control.live_tasks.rows)
        for row in rows[np.lexsort((rows, -tasks["priority"][rows], tasks["resource_type"][rows],
                                    tasks["share"][rows]))].tolist():
            _assign(control, row, burden)
    yield control.every(control.periods.task_broker, broker, "taskbroker")


def _is_due(control, rows: np.ndarray) -> np.ndarray:
    """Which of the tasks were last touched long enough ago, (n_rows,)."""
    modification = control.world.arrays.tasks["modification_s"][rows]
    return control.now - modification >= control.periods.task_broker_retry


def _assign(control, row: int, burden: Burden) -> None:
    """Choose the nucleus of one task and add its work to it; without one it is tried again later."""
    world, now, tasks = control.world, control.now, control.world.arrays.tasks
    task, seen, verdict = decide(control, row, burden)
    control.decisions.add(DecisionKind.TASK_BROKERAGE, now, task, verdict, 0, len(world.vocabularies["pseudo_queues"]),
                          seen.site)
    if not len(verdict.order):
        _put_off(control, row, verdict.last_tag)
        return
    tasks["nucleus"][row], tasks["frozen_s"][row] = seen.site[verdict.order[0]], np.nan
    set_status(world, row, TaskStatus.READY, now)
    burden.add(row)


def decide(control, row: int, burden: Burden) -> tuple[Task, Nuclei, Verdict]:
    """What the task brokerage says of one task, with the views that it was handed; nothing changes."""
    task = observe.task(control.world, row)
    seen = nuclei(control.world, row, burden, _ability(control, task))
    uniform = luck.uniform(control.seed, NUCLEUS_DRAW, task.jeditaskid, int(control.now), 0)
    return task, seen, control.policies.task_brokerage(task, seen, control.cfg, control.edition, uniform)


def _ability(control, task):
    """Function that tells which of the nuclei asked, (n,) bool, have a queue for the jobs of the task (T6)."""
    def can_run(site, asked: np.ndarray) -> np.ndarray:
        queues = control.queues
        type_asked = task.resource_type if control.edition == "deployed" else None
        stats = observe.stats(control.world, control.snapshot, task.share, resource_type=type_asked)
        sites = np.zeros(len(control.world.arrays.sites), bool)
        sites[site[asked]] = True
        open_to_it = broker_hint(task, queues, stats, control.cfg, control.edition, control.mask_cache,
                                 sites[queues.site])
        able = np.zeros_like(sites)
        able[queues.site[open_to_it]] = True
        return asked & able[site]
    return can_run


def _put_off(control, row: int, tag: str) -> None:
    """Let a task without a nucleus wait: documented as pending, in the code just where it is (D5)."""
    tasks = control.world.arrays.tasks
    tasks["modification_s"][row] = control.now
    tasks["errordialog"][row] = control.tag_code(tag)
    if control.edition == "documented":
        tasks["old_status"][row] = TaskStatus.ASSIGNING
        set_status(control.world, row, TaskStatus.PENDING, control.now)


def _take_up_again(control) -> None:
    """Bring tasks back that brokerage put on hold; they are due at once."""
    tasks = control.world.arrays.tasks
    rows = control.live_tasks.in_status(TaskStatus.PENDING)
    rows = rows[(tasks["old_status"][rows] == TaskStatus.ASSIGNING) & _is_due(control, rows)]
    for row in rows.tolist():
        since = tasks["modification_s"][row]
        set_status(control.world, row, TaskStatus.ASSIGNING, control.now)
        tasks["modification_s"][row] = since
