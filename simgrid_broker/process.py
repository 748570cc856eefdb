"""Beginning and end of a process of the program, a command or a worker of a study."""

import atexit
import gc
import os
import sys
from contextlib import suppress

FEWEST_NEW = 300_000
"""New objects for which garbage is searched; most come with imports, models and pages, and stay."""


def begin() -> None:
    """Set up this process, before libraries are imported."""
    gc.set_threshold(FEWEST_NEW)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")     # to find that there are none reads every package
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")               # products here are too small for a thread a core


class Ending:
    """The end of this process: after all else that ends with it, since it is made first, and without taking apart what
    the process has made, whose memory goes back all the same; as usual after an error, or with a text as status.
    """

    def __init__(self) -> None:
        self.status: object = ""
        atexit.register(self._end)

    def _end(self) -> None:
        if isinstance(self.status, int | None) and not hasattr(sys, "last_value"):
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(self.status or 0)
