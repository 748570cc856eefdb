"""How arrays reach compiled code."""

import statistics
import time
from typing import NamedTuple

import numba
import numpy as np

from simgrid_broker.bundle import Bundle


def handover(n_arrays: int = 50, n_calls: int = 20_000, n_inner: int = 5_000_000) -> dict:
    """Compiled code handed 50 arrays as a `Bundle`, one pointer, and as a named tuple, which is passed by value.

    call_us: one call from Python; inner_ns: one call within compiled code; compile_s: translating both functions.
    """
    arrays = {f"a{k}": np.zeros((10, 2)) for k in range(n_arrays)}
    as_bundle = type("AsBundle", (Bundle,), {"__annotations__": dict.fromkeys(arrays, np.ndarray)})
    as_tuple = NamedTuple("AsTuple", [(name, np.ndarray) for name in arrays])
    return {f"{kind}_{name}": value for kind, tables in (("bundle", as_bundle(**arrays)), ("tuple", as_tuple(**arrays)))
            for name, value in _handover_times(tables, n_calls, n_inner).items()}


def _handover_times(tables, n_calls: int, n_inner: int) -> dict:
    """Median of seven measurements of each figure of `handover`."""
    @numba.njit(_nrt=False)
    def read(tables, k):
        return tables.a3[k, 0] + tables.a40[k, 1]

    @numba.njit(_nrt=False)
    def repeat(tables, n):
        total = 0.0
        for k in range(n):
            total += read(tables, k % 10)
        return total

    def seconds(work) -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    compiling = seconds(lambda: (read(tables, 0), repeat(tables, 1)))
    calls = [seconds(lambda: [read(tables, 0) for _ in range(n_calls)]) for _ in range(7)]
    inner = [seconds(lambda: repeat(tables, n_inner)) for _ in range(7)]
    return {"call_us": statistics.median(calls) / n_calls * 1e6, "inner_ns": statistics.median(inner) / n_inner * 1e9,
            "compile_s": compiling}
