"""The server's Adder: ended payloads become failed, finished or transferring.

Source: lifecycle reference, section 3.1.
"""


def adder(control):
    """The process that looks at ended payloads."""
    yield control.every(control.periods.adder, lambda: control.fabric.add_jobs(control.now), "adder")
