"""The command line: one module per command; each imports libraries only when it runs, to keep `--help` fast."""

import atexit
import gc
import os

from simgrid_broker.cli.signals import end_at_once

FEWEST_NEW = 300_000
"""New objects for which garbage is searched; most come with imports, models and pages, and stay."""


def main() -> None:
    """Run the program and exit."""
    end_at_once()
    gc.set_threshold(FEWEST_NEW)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")     # to find that there are none reads every package
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")               # products here are too small for a thread a core
    atexit.register(gc.freeze)                 # the end of the process gives back all memory, without a last search
    from simgrid_broker.cli import app
    app.main()
