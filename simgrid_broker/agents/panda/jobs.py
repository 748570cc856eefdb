"""The server's Setupper and Adder: new jobs are set up, and ended payloads handled; lifecycle reference, 3.1, 7.2."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.panda.builder import Builder, builds
from simgrid_broker.agents.panda.direct_jobs import DirectJobs


def setupper(control: Control) -> Process:
    """Send jobs without a task in JEDI to their queues, and set up pending jobs, those first that wait for none."""
    direct_jobs = DirectJobs(control) if control.books.submissions.as_jobs else None
    builder = Builder(control) if builds(control) else None

    def set_up() -> None:
        if direct_jobs is not None:
            direct_jobs.send()
        if builder is not None:
            builder.look()
        control.fabric.set_up_jobs(control.now)
    yield from control.every(control.periods.setupper, set_up, "setupper")


def adder(control: Control) -> Process:
    """Handle ended payloads."""
    yield from control.every(control.periods.adder, lambda: control.fabric.add_jobs(control.now), "adder")
