"""The figures of one run as one table with names, such as `wait_p50` and `shares.Analysis.delivered`; their means.

Means over seeds, and differences between groups of runs, have errors, numbers of runs, units and windows.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from simgrid_broker import metrics
from simgrid_broker.engine import refusing_tags
from simgrid_broker.errors import OutputError, Problem, nearest
from simgrid_broker.experiments.intervals import (
    LEVEL,
    bootstrap,
    bounded,
    chance,
    holm,
    paired,
    seeds_needed,
    student,
    unpaired,
    welch,
)
from simgrid_broker.names import JOB_ENDS, TransferKind
from simgrid_broker.records import Run, read_run, write_whole
from simgrid_broker.report.words import texts_of_python
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.shares import leaf_names, shares_with_keys

FILE = "figures.parquet"
"""File in the folder of a run with its figures, written when they are first asked for."""
COLUMNS = ("figure", "value", "unit", "window")
OF_RUN = (*(status.word for status in JOB_ENDS), "alive", "failure_rate", "ended_per_hour", "running_cores", "hs06",
          "capacity", "core_occupancy", "lost_core_hours", "wait_mean", "wait_p05", "wait_p25", "wait_p50", "wait_p75",
          "wait_p95", "started", "still_waiting", "still_waiting_p50", "taken_back", "wait_km_p50", "wait_km_p95",
          "wait_little", "share_deviation", "share_misplaced")
"""Figures of every run: the metrics of `metrics.summary`."""
OF_TRAFFIC = ("traffic_moved", "traffic_rate", "link_use", "door_use")
"""Further figures of every run: those of `metrics.traffic_summary`."""
OF_WHOLES = ("failure_rate", "core_occupancy", "share_misplaced", "link_use", "delivered", "target", "due", "near",
             "utilisation", "peak_utilisation", "part")
"""Figures, or metrics of parts, that are % of a whole, of samples or of time; an incident may take a door, whose use is
of its capacity in the scenario, beyond 100 %."""
THROTTLED = "throttled_share_hours"
"""Sum over the leaf shares of `shares.<share>.throttled`."""
MOST_LINKED = 20
"""Sites of a grid up to which each link with traffic has figures; of larger grids sites and doors have."""
MOST_NAMED = 3
"""Groups that are named of those in which runs have no value of a figure."""


class Part(NamedTuple):
    """Figures of parts of a grid or of its work, named `<name>.<part>.<metric>`.

    column: of the parts in the tables; metrics: the figures; names: the parts of a scenario; tables: of a run.
    """

    name: str
    column: str
    metrics: tuple[str, ...]
    names: Callable[[Scenario], Iterable[str]]
    tables: Callable[[Run], pd.DataFrame]


def _nodes(scenario: Scenario) -> Iterator[str]:
    return (share.name for _, share in shares_with_keys(scenario.shares_in_use))


def _streams(scenario: Scenario) -> Iterator[str]:
    return (stream.name for stream in (*scenario.workload.campaigns, *scenario.workload.users))


def _links(scenario: Scenario) -> Iterator[str]:
    sites = scenario.grid.sites if len(scenario.grid.sites) <= MOST_LINKED else ()
    return (f"{source}.{destination}" for source, destination in permutations(sites, 2))


def _of_links(run: Run) -> pd.DataFrame:
    table = metrics.link_use(run)
    is_small = len(run.manifest["scenario"]["grid"]["sites"]) <= MOST_LINKED
    return table.assign(link=table.source + "." + table.destination)[:None if is_small else 0]


def _of_streams(run: Run) -> pd.DataFrame:
    table, work = metrics.task_turnaround(run, "name"), run.manifest["scenario"]["workload"]
    return table[table.name.isin([stream["name"] for stream in (*work["campaigns"], *work["users"])])]


PARTS = (
    Part("shares", "share", ("delivered", "target", "due", "deviation", "near", "above_due"), _nodes,
         lambda run: (table := metrics.share_compliance(run))[table.level > 0]),
    Part("shares", "share", ("cores",), _nodes, metrics.share_cores),
    Part("shares", "share", ("throttled",), leaf_names, metrics.throttled_hours),
    Part("waiting", "share", ("wait_mean", "wait_p50", "wait_p95", "wait_km_p50", "started", "still_waiting"),
         leaf_names, metrics.waiting_times),
    Part("tasks", "name", ("ended", "open", "turnaround_p50", "turnaround_p95"), _streams, _of_streams),
    Part("sites", "site", ("running_cores",), lambda scenario: scenario.grid.sites, metrics.mean_cores),
    Part("sites", "site", ("sent", "received"), lambda scenario: scenario.grid.sites, metrics.site_traffic),
    Part("data", "kind", ("waiting_jobs", "waiting_at_end", "moved", "failed_files", "median_time"),
         lambda scenario: TransferKind.words(), metrics.data_waits),
    Part("doors", "door", ("use", "peak_use", "queued_files"),
         lambda scenario: (door.name for door in metrics.doors_of(scenario.to_dict()["grid"])), metrics.door_use),
    Part("links", "link", ("moved", "utilisation", "peak_utilisation", "queued_files"), _links, _of_links),
    Part("refusals", "tag", ("refusals", "part"), refusing_tags, metrics.refusals_by_tag),
)
"""Figures of parts: of each node of the share tree, each leaf share, stream of work, site, kind of transfers (input:
jobs assigned; output: jobs transferring), door, link of a grid with at most MOST_LINKED sites, and tag of a rule."""
HEADLINES = ("finished", "failure_rate", "core_occupancy", "lost_core_hours", "wait_km_p50", "wait_km_p95",
             "wait_little", "wait_p50", "wait_p95", "share_deviation", "share_misplaced")
"""Figures of every run that reports show unless others are asked for; waits with the jobs that still wait come before
those of the started jobs alone, which lack the longest waits where slots are short."""


def figures_in(folder: Path) -> pd.DataFrame:
    """As `figures`, of the run in a folder, which is read only if it has no FILE, or one of another version."""
    path = folder / FILE
    if path.is_file():
        table = pq.ParquetFile(path).read().to_pandas()
        if THROTTLED in set(table.figure) and table.figure.str.endswith(".cores").any():
            return table
        path.unlink()
    return figures(read_run(folder))


@texts_of_python()
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
    return (*OF_RUN, *OF_TRAFFIC, THROTTLED, *(
        f"{part.name}.{name}.{metric}" for part in PARTS for name in part.names(scenario) for metric in part.metrics))


def unknown_figures(names: Iterable[str], figures: tuple[str, ...], file: str | None, key: str) -> list[Problem]:
    """A problem for each name that is not that of a figure."""
    return [Problem(file, None, key, name, "no such figure; a run has figures such as wait_p50 and "
                    "shares.<share>.delivered", nearest(name, _alike(name, figures))) for name in names
            if name not in figures]


def _alike(name: str, figures: tuple[str, ...]) -> list[str]:
    """Figures that may be meant: those of the same kind of part if there are any."""
    kind = name.partition(".")[0] + "."
    return [figure for figure in figures if figure.startswith(kind)] or list(figures)


def headlines(figures: tuple[str, ...]) -> tuple[str, ...]:
    """Figures that reports show: those of every run in HEADLINES, and power and median wait of each share."""
    return (*(name for name in HEADLINES if name in figures),
            *(name for name in figures if name.startswith(("shares.", "waiting."))
              and name.endswith((".delivered", ".wait_km_p50"))))


def without_value(results: pd.DataFrame, figures: Sequence[str] = ()) -> list[str]:
    """A sentence for each figure (default: all) that some runs lack: means are those of the others."""
    counts = results.groupby(["group", "figure"], sort=False).value.agg(["size", "count"])
    runs = counts["size"].groupby("group", sort=False).max()
    there = counts["count"].unstack("figure", fill_value=0).reindex(runs.index)
    sentences = []
    for figure in figures or there.columns:
        absent = (runs - there[figure])[there[figure] < runs]
        groups = [f"{number} of {runs[group]} runs" + (f" of {group}" if len(runs) > 1 else "")
                  for group, number in absent.items()]
        if groups and there[figure].any():
            more = f" and some of {len(groups) - MOST_NAMED} more groups" if len(groups) > MOST_NAMED else ""
            sentences.append(f"{figure}: {', '.join(groups[:MOST_NAMED])}{more} have no value and are left out of the "
                             "mean.")
    return sentences


def _named(run: Run) -> Iterator[tuple[pd.Series, pd.DataFrame]]:
    """Tables of figures with the names of their rows."""
    for table in (metrics.summary(run), metrics.traffic_summary(run), _throttled(run)):
        yield table.metric.astype(str), table
    for part in PARTS:
        table = part.tables(run)
        table = table[table.metric.isin(part.metrics)]
        yield part.name + "." + table[part.column].astype(str) + "." + table.metric.astype(str), table


def _throttled(run: Run) -> pd.DataFrame:
    """THROTTLED; NaN for a run without records of the throttler."""
    table = metrics.throttled_hours(run)
    return metrics.tidy(pd.DataFrame({THROTTLED: [table.value.sum() if len(table) else math.nan]}), [],
                        {THROTTLED: "h"}, metrics.window_of(run))


OF_MEANS = ("group", "figure", "value", "error", "low", "high", "count", "boot_low", "boot_high", "unit", "window")
OF_DIFFERENCES = ("group", "figure", "base", "changed", "difference", "error", "low", "high", "count", "is_paired",
                  "chance", "corrected", "is_real", "seeds_needed", "unit", "window")


def means(results: pd.DataFrame, figures: Sequence[str] = ()) -> pd.DataFrame:
    """Mean over the seeds of each group and figure (default: all): OF_MEANS.

    results: `Study.results`; error: standard error; low and high: Student's 95 % interval, boot_low and boot_high that
    of the bootstrap; NaN for too few runs. No figure of a run is negative, and parts of a whole are at most 100 %, so
    intervals end there (`intervals.bounded`).
    """
    rows = []
    for (group, figure), part in _chosen(results, figures).groupby(["group", "figure"], sort=False):
        most = most_of(figure)
        skewed = bounded(bootstrap(part.value), most)
        rows.append({"group": group, "figure": figure, **bounded(student(part.value), most).columns(),
                     "boot_low": skewed.low, "boot_high": skewed.high, "unit": part.unit.iloc[0],
                     "window": windows(part)})
    return pd.DataFrame(rows, columns=list(OF_MEANS))


def most_of(figure: str) -> float:
    """Largest value that a figure can have."""
    return 100.0 if figure.rpartition(".")[2] in OF_WHOLES else math.inf


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
