"""The command line: `simgrid-broker` and `python -m simgrid_broker`.

What lives here: one module for each command or group of commands, each of which parses, calls and prints. What does
not: anything that a program would want to call (the other rooms). Modules import what they call when a command runs,
so that `--help` does not wait for libraries.
"""


def main() -> None:
    """Run the program and exit."""
    from simgrid_broker.cli import app
    app.main()
