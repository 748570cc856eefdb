"""Means over seeds and differences between groups of runs, with errors, numbers of runs, units and windows."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from simgrid_broker.experiments.intervals import (
    LEVEL,
    bootstrap,
    chance,
    holm,
    paired,
    seeds_needed,
    student,
    unpaired,
    welch,
)

OF_MEANS = ("group", "figure", "value", "error", "low", "high", "count", "boot_low", "boot_high", "unit", "window")
OF_DIFFERENCES = ("group", "figure", "base", "changed", "difference", "error", "low", "high", "count", "is_paired",
                  "chance", "corrected", "is_real", "seeds_needed", "unit", "window")


def means(results: pd.DataFrame, figures: Sequence[str] = ()) -> pd.DataFrame:
    """Mean over the seeds of each group and figure (default: all): OF_MEANS.

    results: `Study.results`; error: standard error; low and high: Student's 95 % interval, boot_low and boot_high that
    of the bootstrap; NaN for too few runs.
    """
    rows = []
    for (group, figure), part in _chosen(results, figures).groupby(["group", "figure"], sort=False):
        skewed = bootstrap(part.value)
        rows.append({"group": group, "figure": figure, **student(part.value).columns(), "boot_low": skewed.low,
                     "boot_high": skewed.high, "unit": part.unit.iloc[0], "window": windows(part)})
    return pd.DataFrame(rows, columns=list(OF_MEANS))


def differences(results: pd.DataFrame, base: str, figures: Sequence[str] = ()) -> pd.DataFrame:
    """Differences of each group from the group `base`, by figure (default: all): OF_DIFFERENCES.

    Runs of one seed are pairs; if the groups have fewer than two seeds in common, their means are compared (is_paired
    false). chance: probability of such a difference by luck alone; corrected: the same for all rows together (Holm);
    is_real: corrected below 5 %; seeds_needed: pairs of runs with which four of five studies would find a difference of
    this size (inf: none would); count: pairs, or runs of the smaller group.
    """
    chosen = _chosen(results, figures)
    table = pd.DataFrame(list(_compared(chosen, base)), columns=[*OF_DIFFERENCES[:11], "spread", "unit", "window"])
    table["corrected"] = holm(table.chance.to_numpy(float))
    table["is_real"] = table.corrected < 1 - LEVEL
    tested = int(table.chance.notna().sum())
    table["seeds_needed"] = [seeds_needed(row.difference, row.spread, tested) for row in table.itertuples()]
    return table[list(OF_DIFFERENCES)]


def windows(part: pd.DataFrame) -> str:
    """The windows of some figures as one text."""
    return "; ".join(dict.fromkeys(part.window))


def _chosen(results: pd.DataFrame, figures: Sequence[str]) -> pd.DataFrame:
    return results[results.figure.isin(figures)] if figures else results


def _compared(results: pd.DataFrame, base: str) -> Iterator[tuple]:
    """Rows of differences, without what needs all rows together."""
    for group in (name for name in dict.fromkeys(results.group) if name != base):
        for figure, part in results[results.group.isin([base, group])].groupby("figure", sort=False):
            values = part.pivot_table("value", "seed", "group").reindex(columns=[base, group])
            if values.notna().any().all():
                yield group, figure, *_one(values[base], values[group]), part.unit.iloc[0], windows(part)


def _one(base: pd.Series, changed: pd.Series) -> tuple:
    """Means, difference with interval, whether it is of pairs, its chance, and the spread of pairs."""
    pairs = base.notna() & changed.notna()
    is_paired = pairs.sum() > 1
    if is_paired:
        base, changed = base[pairs], changed[pairs]
        delta, freedom = paired(base, changed), float(pairs.sum() - 1)
        spread = delta.error * math.sqrt(delta.count)
    else:
        delta = unpaired(base, changed)
        freedom = welch(*(side.dropna().to_numpy() for side in (base, changed)))[1]
        spread = float(np.sqrt(base.var(ddof=1) + changed.var(ddof=1)))
    return (base.mean(), changed.mean(), delta.value, delta.error, delta.low, delta.high, delta.count, bool(is_paired),
            chance(delta.value, delta.error, freedom), spread)
