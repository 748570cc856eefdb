"""Agents: generator functions that wait, look at the tables, and act or record rows of a table of their own."""

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.own import records
from simgrid_broker.names import TaskStatus
from simgrid_broker.schema import Column, Table

PERIOD_S, AGE_S, STEP, HIGHEST = 3600.0, 6 * 3600.0, 50, 900
KW_PER_CORE = 0.01

POWER = Table("power", "one PanDA queue with running jobs at one reading", (
    Column("time_s", "f8", "s", "power meter", "When it was read"),
    Column("queue", "i2", "", "CRIC", "PanDA queue", codes="queues"),
    Column("cores", "i4", "cores", "PanDA", "Cores of running jobs"),
    Column("power_kw", "f8", "kW", "power meter", "Electrical power of these cores"),
    Column("tariff", "i1", "", "power meter", "Tariff of the hour", codes="tariffs"),
), words={"tariffs": ("night", "day")})


def aging(control: Control) -> Process:
    """Raise the priority of tasks that have been running for six hours, by 50 points every hour up to 900."""
    while True:
        yield control.env.timeout(PERIOD_S)
        running = control.books.live_tasks.in_status(TaskStatus.RUNNING)
        since = control.arrays.task_times[running, TaskStatus.RUNNING]
        for row in running[control.now - since > AGE_S].tolist():
            priority = int(control.arrays.tasks["priority"][row])
            if priority < HIGHEST:
                control.fabric.set_priority([row], min(priority + STEP, HIGHEST))


@records(POWER)
def power_meter(control: Control) -> Process:
    """Record every hour the electrical power of each queue, and the tariff: day is from 6:00 to 22:00."""
    while True:
        cores = control.arrays.running_cores.sum(axis=(1, 2))
        queues = np.flatnonzero(cores)
        hour = control.now % 86400 / 3600
        control.recorder.write("power", {
            "time_s": np.full(len(queues), control.now), "queue": queues, "cores": cores[queues],
            "power_kw": cores[queues] * KW_PER_CORE, "tariff": np.full(len(queues), 6 <= hour < 22)})
        yield control.env.timeout(PERIOD_S)
