"""Stock Numba in place of the own compiler, where that one fails or is not wanted: the same code, compiled slowly.

The own compiler reads internals of Numba, which any version may change. Whatever it raises, at import or at a function,
is said once, and from then on Numba compiles by itself (`SIMGRID_BROKER_STOCK_NUMBA=1` chooses that from the start).
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numba
from numba.core.errors import LoweringError, NumbaError

KeptStockCode: Any = None
with suppress(Exception):                          # without it each run compiles
    from simgrid_broker.compiled.kept_code import KeptStockCode

TRIED = ("0.61.2", "0.68.1")
"""Versions of Numba with which the own compiler was tried (`scripts/try_versions.py`), from the lowest to the highest
that `pyproject.toml` allows."""
OPTIONS = dict(error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
"""IEEE arithmetic, and without reference counting: six times faster here, but no array can be created."""
CHOICE = "SIMGRID_BROKER_STOCK_NUMBA"
"""Environment variable that chooses stock Numba: any text but "" and "0"."""
REMARK = ("note: the own compiler fails with Numba {version} ({error}); Numba itself compiles instead, which changes "
          "no result and takes about two minutes in a first run")

_failures: list[Exception] = []


def is_chosen() -> bool:
    """True if the user has chosen stock Numba."""
    return os.environ.get(CHOICE, "0") not in ("", "0")


def is_in_use() -> bool:
    """True if stock Numba compiles, by choice or since a failure of the own compiler."""
    return is_chosen() or bool(_failures)


def failure() -> Exception | None:
    """The first exception of the own compiler, None if it never failed."""
    return _failures[0] if _failures else None


def fall_back(error: Exception) -> None:
    """Let stock Numba compile from now on, and say so once."""
    if not is_in_use():
        text = str(error).strip().partition("\n")[0]
        print(REMARK.format(version=numba.__version__, error=f"{type(error).__name__}: {text}"), file=sys.stderr)
        _failures.append(error)


def is_of_function(error: Exception) -> bool:
    """True for an error that is the function's own: one that a version which was tried finds while it infers types."""
    return (numba.__version__ in TRIED and not is_in_use() and isinstance(error, NumbaError)
            and not isinstance(error, LoweringError))


def expected_time() -> str:
    """Time that compiling takes in a first run, as text."""
    return "about two minutes" if is_in_use() else "about half a minute"


@cache
def stock(function: Callable) -> Any:
    """`function`, compiled by stock Numba when it is first called."""
    made = numba.njit(**OPTIONS)(function)
    if KeptStockCode is not None:
        made._cache = KeptStockCode(function, "stock")
    return made
