"""JEDI's task withholder: puts production tasks on hold whose input lies only at busy queues or closed storages.

Source: lifecycle reference, 7.1; panda-server, AtlasTaskWithholderWatchDog. The documents do not name it.
"""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import JobStatus, TaskStatus
from simgrid_broker.policy.tasks import watchdogs as rules
from simgrid_broker.policy.tasks.watchdogs import TERMS
from simgrid_broker.world.columns import return_to
from simgrid_broker.world.data.locality import endpoints_with_input, has_input
from simgrid_broker.world.data.storages import IS_OFF
from simgrid_broker.world.tasks.transitions import set_status

S = JobStatus


def task_withholder(control: Control) -> Process:
    """Withhold tasks, if the edition does."""
    if TERMS[control.edition].withholds:
        yield from control.every(control.periods.task_withholder, lambda: withhold(control), "task_withholder")


def withhold(control: Control) -> None:
    """Look at the tasks of each share that are heavy and of low priority enough."""
    world, tasks = control.world, control.arrays.tasks
    rows = control.books.live_tasks.in_status(*rules.WITHHELD)
    shares, labels = world.vocabularies["shares"], world.vocabularies["labels"]
    always_closed = _closed_endpoints(control)
    for label in (name for name in rules.LABELS if name in labels):
        own = rows[tasks["label"][rows] == labels.index(label)]
        bound = rules.withheld_from(label, control.cfg)
        chosen = rules.concerned(tasks["iointensity"][own], tasks["priority"][own], bound)
        own = own[chosen & has_input(control.arrays, own)]
        for share in np.unique(tasks["share"][own]).tolist():
            closed = _busy_endpoints(control, share, shares[share]) | always_closed
            for row in own[tasks["share"][own] == share].tolist():
                if rules.is_withheld(endpoints_with_input(control.arrays, row), closed):
                    return_to(world, row)
                    set_status(world, row, TaskStatus.PENDING, control.now)


def _busy_endpoints(control: Control, share: int, name: str) -> set[int]:
    """Endpoints from which the queues read that have too many queued jobs of a share; tape of their sites included."""
    seen, places = control.brokers.snapshot, control.world.places
    busy = rules.busy(seen.jobs_in(rules.QUEUED, share), seen.jobs_in((S.RUNNING,), share), name, control.cfg)
    sites = control.arrays.storages["site"]
    found: set[int] = set()
    for queue in np.flatnonzero(busy).tolist():
        found |= {*places.reads[queue]}
        if not places.lists_storages[queue]:
            site = int(places.site[queue])
            found |= {*np.flatnonzero(sites == site).tolist(), -1 - site}
    return found


def _closed_endpoints(control: Control) -> set[int]:
    """Endpoints from which queues read by default, and that are blacklisted: they take no files."""
    storages = control.arrays.storages
    return {reads[0] for reads in control.world.places.reads if reads and storages["write_wan_off"][reads[0]] == IS_OFF}
