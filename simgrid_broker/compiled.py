"""The decorator for compiled code, and the cache of compiled code between runs.

Compiled functions are plain Python that Numba translates; with `NUMBA_DISABLE_JIT=1` they run uncompiled. Each state of
the sources has its own cache folder, because Numba does not notice changes of called functions in other files.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import numba
import numpy as np

PACKAGE = Path(__file__).parent
F = TypeVar("F", bound=Callable[..., Any])
SOURCES = {"policy": ("bundle.py", "names.py", "units.py", "views.py", "policy/pilots.py", "policy/resource_types.py",
                      "policy/job_brokerage/*.py"),
           "fabric": ("bundle.py", "luck.py", "names.py", "units.py", "schema/*.py", "world/*.py", "fabric/*.py")}
"""Files whose changes make compiled code out of date: that of policies, and all other.

They hold the constants, tables and functions that compiled code of another file uses; `compose` adds the files of rules
of other packages. Numba itself notices changes of the function's own file and of the columns of a record.
"""


def compiled(function: F) -> F:
    """Translate `function` with Numba: nopython, cached, IEEE arithmetic, and without reference counting.

    Without reference counting (six times faster here) a function may not create arrays, including slices.
    """
    found = numba.config.CACHE_DIR
    room = function.__module__.removeprefix(f"{PACKAGE.name}.")
    group = "policy" if room == function.__module__ or room.startswith("policy.") else "fabric"
    numba.config.CACHE_DIR = str(cache_folder(group))
    try:
        return numba.njit(cache=True, error_model="numpy", _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = found


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function as plain Python, and so all compiled functions that it calls, for a few calls.

    Only what it calls by a global name, or by that of a module of the package, is found.
    """
    plain = getattr(function, "py_func", function)
    if plain is function:
        return function
    known = {name: plain.__globals__[name] for name in plain.__code__.co_names if name in plain.__globals__}
    return FunctionType(plain.__code__, plain.__globals__ | {
        name: _uncompiled_parts(value, plain.__code__.co_names) if isinstance(value, ModuleType) else uncompiled(value)
        for name, value in known.items()}, plain.__name__, plain.__defaults__, plain.__closure__)


def _uncompiled_parts(module: ModuleType, names: Iterable[str]) -> object:
    """A module of the package with the functions `names` uncompiled; any other module as it is."""
    if module.__name__.partition(".")[0] != PACKAGE.name:
        return module
    return SimpleNamespace(**{name: uncompiled(getattr(module, name)) for name in names if hasattr(module, name)})


@cache
def cache_folder(group: str = "fabric") -> Path:
    """Folder of the compiled code of the current sources, created if missing; a temporary one if none is kept."""
    kept = kept_folder(group)
    if kept is not None:
        return kept
    temporary = Path(tempfile.mkdtemp(prefix="simgrid_broker-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


def kept_folder(group: str = "fabric") -> Path | None:
    """Folder in which compiled code is kept between runs, created if missing.

    It is in the folder that the environment variable SIMGRID_BROKER_CACHE names, else in the user's `.cache`. None if
    there is no home folder (a container with an unknown user) or nothing can be written.
    """
    try:
        root = Path(os.environ.get("SIMGRID_BROKER_CACHE") or Path.home() / ".cache" / "simgrid_broker")
        folder = root / sources_digest(group)
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def is_compiled() -> bool:
    """Whether the fabric's compiled code is cached or disabled; otherwise the next run compiles it, in 40 s."""
    return bool(numba.config.DISABLE_JIT) or any(cache_folder().glob("fabric_*/*.nbi"))


def sources_digest(group: str = "fabric") -> str:
    """Fingerprint of everything that determines the compiled code, 16 hexadecimal digits."""
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for pattern in SOURCES[group]:
        for file in sorted(PACKAGE.glob(pattern)):
            text = file.read_bytes()
            if b"compiled" in text or file.parent.name != "world":
                digest.update(text)
    return digest.hexdigest()[:16]
