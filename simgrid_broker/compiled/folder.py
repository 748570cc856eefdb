"""The folder of code that is kept between runs."""

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def cache_folder() -> Path:
    """Folder of compiled code, created if missing; a temporary one if none is kept."""
    kept = kept_folder()
    if kept is not None:
        return kept
    temporary = Path(tempfile.mkdtemp(prefix="simgrid_broker-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


def kept_folder() -> Path | None:
    """Folder in which compiled code is kept between runs, created if missing.

    It is the folder that the environment variable SIMGRID_BROKER_CACHE names, else one in the user's `.cache`. None if
    there is no home folder (a container with an unknown user) or nothing can be written.
    """
    try:
        folder = Path(os.environ.get("SIMGRID_BROKER_CACHE") or Path.home() / ".cache" / "simgrid_broker")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None
