"""The folder of code that is kept between runs."""

import atexit
import grp
import os
import pwd
import shutil
import stat
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
    there is no home folder (a container with an unknown user), nothing can be written, or another user can write there
    or replace one of the folders above.
    """
    try:
        named = os.environ.get("SIMGRID_BROKER_CACHE")
        folder = Path(named or Path.home() / ".cache" / "simgrid_broker")
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if not named:
            folder.chmod(PRIVATE)
        if not is_own(folder.stat()) or not all(map(is_safe_above, folder.resolve().parents)):
            return None
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


PRIVATE = 0o700
"""Mode of the folder: only its owner reads or writes."""


def is_own(status: os.stat_result) -> bool:
    """True if a file or folder belongs to the user of this process, and no other user may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_safe_above(folder: Path) -> bool:
    """True if no other user but root can replace what lies in a folder.

    Where others may write, its sticky bit, as that of /tmp, keeps them from what is not theirs.
    """
    status = folder.stat()
    if status.st_uid not in (os.geteuid(), 0):
        return False
    others = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid))
    return not others or bool(status.st_mode & stat.S_ISVTX)


def _is_private(gid: int) -> bool:
    """True for root's group, and one of the user alone, as many systems give each user one of the same name."""
    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return gid == 0
    return gid == 0 or (group.gr_name == name and not set(group.gr_mem) - {name})
