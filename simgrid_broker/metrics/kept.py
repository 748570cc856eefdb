"""Figures that several parts of a report need, computed once for each run."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import pandas as pd

from simgrid_broker.records import Run

P = ParamSpec("P")
T = TypeVar("T")
_FOUND: WeakKeyDictionary[Run, dict[tuple, Any]] = WeakKeyDictionary()


def kept(metric: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
    """A metric whose result is kept as long as its run, which was read at one moment; callers get copies of tables."""
    @wraps(metric)
    def of(run: Run, /, *args: P.args, **options: P.kwargs) -> T:
        found = _FOUND.setdefault(run, {})
        asked = metric.__name__, args, tuple(sorted(options.items()))
        if asked not in found:
            found[asked] = metric(run, *args, **options)
        return found[asked].copy() if isinstance(found[asked], pd.DataFrame) else found[asked]
    return of
