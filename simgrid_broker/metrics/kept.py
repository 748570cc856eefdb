"""Figures that several parts of a report need, computed once for each run."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from weakref import WeakKeyDictionary

import pandas as pd

from simgrid_broker.records import Run

P = ParamSpec("P")
_TABLES: WeakKeyDictionary[Run, dict[tuple, pd.DataFrame]] = WeakKeyDictionary()


def kept(metric: Callable[Concatenate[Run, P], pd.DataFrame]) -> Callable[Concatenate[Run, P], pd.DataFrame]:
    """A metric whose table is kept as long as its run, which was read at one moment; each caller gets a copy."""
    @wraps(metric)
    def of(run: Run, /, *args: P.args, **options: P.kwargs) -> pd.DataFrame:
        tables = _TABLES.setdefault(run, {})
        asked = metric.__name__, args, tuple(sorted(options.items()))
        if asked not in tables:
            tables[asked] = metric(run, *args, **options)
        return tables[asked].copy()
    return of
