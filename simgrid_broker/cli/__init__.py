"""The command line: one module per command; each imports libraries only when it runs, to keep `--help` fast."""

from simgrid_broker import process
from simgrid_broker.cli.signals import end_at_once


def main() -> None:
    """Run the program and exit."""
    end_at_once()
    process.begin()
    ending = process.Ending()
    from simgrid_broker.cli import app
    try:
        app.main()
    except SystemExit as end:
        ending.status = end.code
        raise
