"""The command line: `simgrid-broker` and `python -m simgrid_broker`.

What lives here: one module for each command or group of commands, each of which parses, calls and prints. What does
not: anything that a program would want to call (the other rooms). Modules import what they call when a command runs,
so that `--help` does not wait for libraries.
"""

from simgrid_broker.cli.app import main

__all__ = ["main"]
