"""The figures of one run as one table with names, such as `wait_p50` and `shares.Analysis.delivered`; their means.

Means over seeds, and differences between groups of runs, have errors, numbers of runs, units and windows.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from simgrid_broker import metrics
from simgrid_broker.errors import OutputError, Problem, nearest
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
from simgrid_broker.names import JOB_ENDS
from simgrid_broker.records import Run, read_run, write_whole
from simgrid_broker.scenario import Scenario

FILE = "figures.parquet"
"""File in the folder of a run with its figures, written when they are first asked for."""
COLUMNS = ("figure", "value", "unit", "window")
OF_RUN = (*(status.word for status in JOB_ENDS), "alive", "failure_rate", "ended_per_hour", "running_cores", "hs06",
          "capacity", "core_occupancy", "lost_core_hours", "wait_mean", "wait_p05", "wait_p25", "wait_p50", "wait_p75",
          "wait_p95", "started", "still_waiting", "still_waiting_p50", "taken_back", "wait_km_p50", "wait_km_p95",
          "wait_little", "share_deviation", "share_misplaced")
"""Figures of every run: the metrics of `metrics.summary`."""
OF_SHARE = ("delivered", "target", "due", "deviation", "near")
"""Figures of each share, `shares.<share>.<figure>`, from `metrics.share_compliance`."""
OF_WAITING = ("wait_mean", "wait_p50", "wait_p95", "wait_km_p50", "started", "still_waiting")
"""Figures of each leaf share, `waiting.<share>.<figure>`, from `metrics.waiting_times`."""
OF_TASKS = ("ended", "open", "turnaround_p50", "turnaround_p95")
"""Figures of each stream of work, `tasks.<stream>.<figure>`, from `metrics.task_turnaround`."""
OF_SITE = ("running_cores",)
"""Figures of each site, `sites.<site>.<figure>`: means over the window."""
HEADLINES = ("finished", "failure_rate", "core_occupancy", "lost_core_hours", "wait_km_p50", "wait_km_p95",
             "wait_little", "wait_p50", "wait_p95", "share_deviation", "share_misplaced")
"""Figures of every run that reports show unless others are asked for; waits with the jobs that still wait come before
those of the started jobs alone, which lack the longest waits where slots are short."""


def figures_in(folder: Path) -> pd.DataFrame:
    """As `figures`, of the run in a folder, which is read only if it has no FILE."""
    path = folder / FILE
    return pq.ParquetFile(path).read().to_pandas() if path.is_file() else figures(read_run(folder))


def figures(run: Run) -> pd.DataFrame:
    """All figures of a run: figure, value, unit, window; kept in its folder as FILE."""
    if (path := run.folder / FILE).is_file():
        return figures_in(run.folder)
    table = pd.concat([table.assign(figure=names)[list(COLUMNS)] for names, table in _named(run)], ignore_index=True)
    if run.manifest["status"] == "complete":
        with suppress(OutputError):                              # a run of another user can be read, not written
            write_whole(path, table.to_parquet(index=False))
    return table


def known_figures(scenario: Scenario) -> tuple[str, ...]:
    """Names of all figures that a run of the scenario can have."""
    shares = [share.name for share in scenario.shares_in_use]
    streams = [stream.name for stream in (*scenario.workload.campaigns, *scenario.workload.users)]
    return (*OF_RUN, *(f"{part}.{name}.{figure}" for part, names, of_part in (
        ("shares", shares, OF_SHARE), ("waiting", shares, OF_WAITING), ("tasks", streams, OF_TASKS),
        ("sites", list(scenario.grid.sites), OF_SITE)) for name in names for figure in of_part))


def unknown_figures(names: Iterator[str] | tuple[str, ...], figures: tuple[str, ...], file: str | None,
                    key: str) -> list[Problem]:
    """A problem for each name that is not that of a figure."""
    return [Problem(file, None, key, name, "no such figure; a run has figures such as wait_p50 and "
                    "shares.<share>.delivered", nearest(name, figures)) for name in names if name not in figures]


def headlines(figures: tuple[str, ...]) -> tuple[str, ...]:
    """Figures that reports show: those of every run in HEADLINES, and power and median wait of each share."""
    return (*(name for name in HEADLINES if name in figures),
            *(name for name in figures if name.startswith(("shares.", "waiting."))
              and name.endswith((".delivered", ".wait_km_p50"))))


def without_value(results: pd.DataFrame, figures: Sequence[str] = ()) -> list[str]:
    """A sentence for each figure that some runs do not have: its mean is that of the others."""
    some = _chosen(results, figures)
    counts = some.assign(is_absent=some.value.isna()).groupby(["group", "figure"], sort=False).is_absent.agg(
        absent="sum", runs="size").reset_index()
    several = counts.group.nunique() > 1
    return [f"{row.figure}{f' of {row.group}' if several else ''}: {row.absent} of {row.runs} runs have no value and "
            "are left out of the mean." for row in counts.itertuples() if 0 < row.absent < row.runs]


def _named(run: Run) -> Iterator[tuple[pd.Series, pd.DataFrame]]:
    """Tables of figures with the names of their rows."""
    table = metrics.summary(run)
    yield table.metric.astype(str), table
    shares, waits = metrics.share_compliance(run), metrics.waiting_times(run)
    sites, tasks = metrics.mean_cores(run), metrics.task_turnaround(run, "name")
    work = run.manifest["scenario"]["workload"]
    streams = [stream["name"] for stream in (*work["campaigns"], *work["users"])]
    tasks = tasks[tasks.name.isin(streams)]                     # not merge and test tasks, which none could name before
    for part, by, table, wanted in (("shares", "share", shares[shares.level > 0], OF_SHARE),
                                    ("waiting", "share", waits, OF_WAITING), ("tasks", "name", tasks, OF_TASKS),
                                    ("sites", "site", sites, OF_SITE)):
        table = table[table.metric.isin(wanted)]
        yield part + "." + table[by].astype(str) + "." + table.metric.astype(str), table


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
