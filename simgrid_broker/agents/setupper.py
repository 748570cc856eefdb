"""The server's Setupper: jobs that JEDI has just made are defined, and activated or left to await their input.

Source: lifecycle reference, sections 3.1 and 7.2.
"""


def setupper(control):
    """The process that sets up pending jobs."""
    yield control.every(control.periods.setupper, lambda: control.fabric.set_up_jobs(control.now), "setupper")
