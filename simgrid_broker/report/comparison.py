"""The page that compares two runs; two runs alone cannot show whether a difference exceeds the noise."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics.shares import Tree
from simgrid_broker.records import Run, as_run, write_whole
from simgrid_broker.report import links
from simgrid_broker.report.blocks import (
    REPORT,
    Block,
    Marks,
    Note,
    Plot,
    Row,
    Section,
    TableBlock,
    drawn_by,
    plot_or_note,
)
from simgrid_broker.report.caveats import warnings_of
from simgrid_broker.report.context import context
from simgrid_broker.report.drawing.pictures import plots_of, save_plots
from simgrid_broker.report.page import page
from simgrid_broker.report.settings import differing, differing_names, gdpconfig_lines
from simgrid_broker.report.words import SUMMARY_LABELS, spoken, texts_of_python
from simgrid_broker.units import format_seconds

MOST_DIFFERENCES = 40
"""Maximum number of differing settings that are listed; the rest is only counted."""
SIDES = ("A", "B", "B\N{NO-BREAK SPACE}−\N{NO-BREAK SPACE}A")
"""Columns of each compared metric."""
LIFE = (
    ("rules", "Timeout rules and rebrokerage", ("status", "cause"),
     {"jobs": "Jobs", "lost_core_hours": "Lost core h", "lost_wait_hours": "Lost wait, h"}),
    ("moves", "Moves from queue to queue", ("source", "destination", "cause"), {"moves": "Jobs"}),
    ("attempts", "Attempts by number and outcome", ("attempt", "outcome"), {"jobs": "Attempts"}),
    ("phases", "Time of tasks in each phase", ("phase",),
     {"tasks": "Tasks", "time_mean": "Mean, h", "time_p95": "95 %, h"}),
)
"""Tables of the lifecycle section: name, title, dimensions, and the metrics with their labels."""
MOST_ROWS = 20
"""Maximum number of rows of a table of BUSIEST: the largest in either run."""
REST = (
    ("data", "Jobs that wait for their data", ("kind",),
     {"waiting_jobs": "Waiting, mean", "waiting_at_end": "Waiting at the end", "moved": "Moved, TB",
      "failed_files": "Failed files", "median_time": "Median time, min"}),
    ("links", "Busiest links", ("source", "destination"),
     {"moved": "Moved, TB", "peak_rate": "Peak, GB/s", "failed": "Failed, %", "queued_files": "Longest queue, files"}),
    ("doors", "Doors with most traffic", ("door",),
     {"rate": "Mean, Gb/s", "use": "Use, %", "peak_use": "Use at peak, %", "queued_files": "Longest queue, files"}),
    ("storages", "Storages at the end, those with most written", ("storage",),
     {"written": "Written, TB", "used": "Used, %", "free": "Free, TB", "expired": "Expired, TB"}),
    ("staging", "Datasets from tape", ("tape",), links.LABELS),
    ("refusals", "Refusals by broker and rule", ("kind", "rule"), {"refusals": "Refusals"}),
    ("failures", "Failures", ("status", "cause"), {"jobs": "Attempts", "lost_core_hours": "Lost core h"}),
    ("tasks", "Tasks by campaign", ("campaign",), {"ended": "Ended", "open": "Open",
                                                   "turnaround_p50": "Median turnaround, h"}),
)
"""Tables of the last section, in the same form as LIFE."""
FIRST = ("State, and when the job entered it in each run. Random draws belong to tasks, files and attempts and are the "
         "same in both, so these jobs differ for the cause given; later differences follow from these too.")
BUSIEST = ("links", "doors", "storages", *(name for name, *_ in LIFE))
"""Tables of these of which the largest rows are shown."""
NAMES = ("cause", "outcome", "kind")
"""Columns whose names are shown with spaces."""


@texts_of_python()
def write_comparison(run_a: Run | str | Path, run_b: Run | str | Path, folder: str | Path,
                     steps: Callable[[Iterable], Iterable] = iter, formats: str | Iterable[str] = ()) -> Path:
    """Write the comparison of two runs, or those in two folders, into `folder`; the path of its page.

    Raises OutputError, and ValueError for an unknown format.

    steps, formats: as for `write_report`; steps is called for the tables, the sections and the plots.
    """
    run_a, run_b, folder = as_run(run_a), as_run(run_b), Path(folder)
    tables = {name: table.assign(**{column: table[column].map(spoken) for column in NAMES if column in table})
              for name, table in metrics.comparison(run_a, run_b, steps).items()}
    view_a, view_b = context(run_a), context(run_b)
    marks = Marks(min(view.marks.start_s for view in (view_a, view_b)),         # of one run would be read as of both
                  view_a.marks.incidents if view_a.marks.incidents == view_b.marks.incidents else ())
    trees = [view_a.tree, view_b.tree]
    parts = (partial(_differences, run_a, run_b, tables), partial(_shares, tables["shares"], trees),
             partial(_curves, run_a, run_b, marks), partial(_waiting, run_a, run_b, tables["waiting"]),
             partial(_life, tables), partial(_rest, tables))
    sections = [part() for part in steps(parts)]
    name_a, name_b = differing_names([run_a.folder, run_b.folder])
    text = page("Comparison of two runs", f"A: {name_a}; B: {name_b}", sections,
                save_plots(plots_of(sections), folder / "plots", steps, formats),
                "Made by simgrid_broker. Plots and their tables are also in plots/.")
    return write_whole(folder / REPORT, text)


CHANGED = ("finished", "failure_rate", "core_occupancy", "wait_km_p50")
"""Figures of the summary that a report shows against its base."""
MOST_CHANGED = 3


def changed(base: Run, run: Run) -> list[Block]:
    """Changes of a run against its base: settings, figures, and the shares whose power changed most."""
    settings, summary = setting_differences(base, run), metrics.difference(metrics.summary(base), metrics.summary(run))
    summary = summary[summary.metric.isin(CHANGED)]
    power = metrics.difference(*(metrics.share_compliance(one).drop(columns=["node", "level"]) for one in (base, run)))
    power = power[(power.metric == "delivered") & power.difference.ne(0)]
    power = power.loc[power.difference.abs().sort_values(ascending=False, kind="stable").index[:MOST_CHANGED]]
    figures = pd.concat([summary.assign(figure=summary.metric.map(SUMMARY_LABELS)),
                         power.assign(figure="Power of " + power.share.astype(object))])
    figures = figures[["figure", "unit", "base", "changed", "difference"]].rename(columns={
        "base": "Base", "changed": "This run", "difference": "Change"})
    more = f" {len(settings) - MOST_CHANGED} more settings differ." if len(settings) > MOST_CHANGED else ""
    note = scenario_note(base, run) or "One run on each side: a part of each change is chance."
    return [Row((TableBlock(f"Changed against {differing_names([base.folder, run.folder])[0]}", figures,
                            f"{note} `simgrid-broker compare BASE RUN` shows all.", mixed=True),
                 TableBlock("Settings that differ", settings.head(MOST_CHANGED).rename(columns={
                     "A": "Base", "B": "This run"}), more.strip())))]


def setting_differences(run_a: Run, run_b: Run) -> pd.DataFrame:
    """Settings in which the two runs differ: key, A, B; from the scenarios and the gdpconfig in force."""
    return pd.DataFrame(list(differing(settings_of(run_a), settings_of(run_b))), columns=["key", "A", "B"])


def settings_of(run: Run) -> dict:
    """All settings of a run: its scenario, with the seed and gdpconfig in force."""
    return {**run.manifest["scenario"], "seed": run.manifest["seed"],
            "gdpconfig": {key: entry["value"] for key, entry in run.manifest["gdpconfig"].items()}}


def scenario_note(run_a: Run, run_b: Run) -> str:
    """A warning that two runs are of different scenarios; empty if they are not."""
    a, b = (run.manifest["scenario"]["name"] for run in (run_a, run_b))
    return "" if a == b else (f"The runs are of different scenarios, {a} and {b}: differences are those of all that "
                              "differs between these, not of one setting.")


def _differences(run_a: Run, run_b: Run, tables: Mapping[str, pd.DataFrame]) -> Section:
    """Warnings, differing settings, and both summaries side by side."""
    blocks: list[Block] = [Note(f"{name}: {text}", strong=True) for name, run in (("A", run_a), ("B", run_b))
                           for text in warnings_of(run)]
    if note := scenario_note(run_a, run_b):
        blocks.append(Note(note, strong=True))
    if run_a.manifest["seed"] == run_b.manifest["seed"]:
        blocks.append(Note("Both runs have the same seed: jobs that exist in both use the same random draws, so "
                           "differences come from the settings below, amplified or damped by chance."))
    else:
        blocks.append(Note("The runs have different seeds, so part of every difference is chance.", strong=True))
    settings = setting_differences(run_a, run_b)
    more = len(settings) - MOST_DIFFERENCES
    blocks.append(TableBlock("Settings that differ", settings.head(MOST_DIFFERENCES),
                             f"{more} more differ." if more > 0 else "") if len(settings)
                  else Note("No setting differs."))
    values = {f"gdpconfig.{key}": entry["value"] for key, entry in run_b.manifest["gdpconfig"].items()}
    blocks += gdpconfig_lines({key: values[key] for key in settings.key if key in values})
    summary = tables["summary"].assign(metric=tables["summary"].metric.map(SUMMARY_LABELS))
    summary = summary.rename(columns={"base": "A", "changed": "B", "difference": "B − A"})
    blocks.append(first_jobs_block(run_a, run_b))
    blocks.append(TableBlock("Summary", summary, f"A over {metrics.window_of(run_a)}, B over "
                             f"{metrics.window_of(run_b)}.", mixed=True))
    return Section("summary", "Summary", tuple(blocks))


def first_jobs_block(run_a: Run, run_b: Run) -> Block:
    """The jobs with which two runs begin to differ, as a block of a page."""
    table = first_jobs_table(run_a, run_b)
    return TableBlock("Jobs that differ first", table, FIRST) if len(table) else Note("No job differs.")


def first_jobs_table(run_a: Run, run_b: Run, most: int = 10) -> pd.DataFrame:
    """The jobs with which two runs begin to differ in words: see `metrics.first_differences`."""
    def when(seconds: float) -> str:
        return "never" if math.isnan(seconds) else format_seconds(seconds)
    rows = metrics.first_differences(run_a, run_b, most)
    jobs = [f"{row.task} {row.jeditaskid}, job {row.chunk + 1}, attempt {row.attempt}" for row in rows.itertuples()]
    return pd.DataFrame({"Job": jobs, "State": rows.state, "A": rows.base_s.map(when),
                         "B": rows.changed_s.map(when), "Cause": rows.cause})


def _shares(table: pd.DataFrame, trees: list[Tree]) -> Section:
    """Delivered power of the shares that are leaves in either run; trees: the share trees of both."""
    level = {name: level for tree in trees for name, level in zip(tree.names, tree.level.tolist(), strict=True)}
    leaves = {name for tree in trees for name in tree.leaf_names}
    delivered = table[(table.metric == "delivered") & table.share.isin(leaves)]
    targets = table[table.metric == "target"].set_index("share")
    delivered = delivered.assign(target=delivered.share.map(targets.changed), value=delivered.changed,
                                 base_target=delivered.share.map(targets.base))
    columns = {"target": "Target, %", "delivered": "Delivered, %", "deviation": "Deviation", "near": "Within 10 %"}
    figures = table[table.metric.isin(columns) & (table.share.map(level) > 0)]
    rows = _side_by_side(figures, ["share"], columns)
    return Section("shares", "Global shares", (
        plot_or_note(Plot("shares", "Delivered power by share", delivered,
                          drawn_by("shares.compliance_pair"),
                          "Circle: A; diamond: B; marks in the same colours: the targets of each. Compliance improves "
                          "where the diamond is closer to its mark than the circle to its own.",
                          (10, 1.1 + 0.27 * max(len(delivered), 3))),
                     "no job was running."),
        TableBlock("Compliance of every share", rows,
                   "Deviation: mean absolute deviation, percentage points. Within 10 %: % of samples with work "
                   "waiting in which delivered power was within 10 % of the target.",
                   tuple(level[name] - 1 for name in rows.share))))


def _curves(run_a: Run, run_b: Run, marks: Marks) -> Section:
    cores = _both(run_a, run_b, lambda run: metrics.running_cores(run).groupby("time_s").value.sum().reset_index())
    queued = _both(run_a, run_b, _queued)
    blocks = [plot_or_note(Plot(name, title, table[table.time_s >= marks.start_s],
                                drawn_by("series.overlaid", ylabel=label, marks=marks), reading, (10, 3.4)),
                           "there is no sample.") for name, title, table, label, reading in (
        ("running_cores", "Running cores", cores, "running cores", "Cores of all running jobs."),
        ("queued_jobs", "Queued jobs", queued, "queued jobs", "Defined, assigned, activated and starting jobs."))]
    return Section("curves", "Cores and jobs over time", tuple(blocks))


def _queued(run: Run) -> pd.DataFrame:
    table = metrics.jobs_over_time(run)
    queued = table[table.state.isin(["activated", "assigned", "other queued"])]
    return queued.groupby("time_s").value.sum().reset_index()


def _waiting(run_a: Run, run_b: Run, table: pd.DataFrame) -> Section:
    both = _both(run_a, run_b, metrics.waiting_times)
    columns = {"wait_km_p50": "Median, h", "wait_km_p95": "95 %, h", "wait_p50": "Median of started, h",
               "wait_p95": "95 % of started, h", "still_waiting": "Still waiting"}
    return Section("waiting", "Waiting times", (
        plot_or_note(Plot("waiting", "Waiting time by share", both, drawn_by("bars.waiting_pair"),
                          "From activated to running, for jobs that started in the window: line 5 to 95 %, box 25 to "
                          "75 %, mark median.", (10, 1.2 + 0.36 * max(both.share.nunique(), 3))),
                     "no job started to run."),
        TableBlock("In figures", _side_by_side(table, ["share"], columns))))


def _life(tables: Mapping[str, pd.DataFrame]) -> Section:
    rules = tables["rules"][tables["rules"].metric == "jobs"]
    drawn = rules.groupby("cause", sort=False)[["base", "changed"]].sum().reset_index()
    plot = plot_or_note(Plot(
        "rules", "Timeout rules and rebrokerage", drawn.assign(value=drawn.changed),
        drawn_by("bars.pair_bars", by="cause", xlabel="jobs ended in the window"),
        "Jobs ended by each rule: pairs of bars, A above B, largest first.",
        (10, 1.0 + 0.32 * max(len(drawn), 3))), "no rule ended a job in either run.")
    return Section("life", "Attempts, timeouts and tasks", (plot, *_in_figures(tables, LIFE)))


def _in_figures(tables: Mapping[str, pd.DataFrame], chosen: Iterable[tuple[str, str, tuple[str, ...], dict[str, str]]]
                ) -> Iterator[TableBlock]:
    """The tables of LIFE or REST that have rows."""
    for name, title, by, columns in chosen:
        table = _largest(tables[name], list(by), next(iter(columns))) if name in BUSIEST else tables[name]
        if len(table):
            yield TableBlock(title, _side_by_side(table, list(by), columns))


def _largest(table: pd.DataFrame, by: list[str], metric: str) -> pd.DataFrame:
    """The MOST_ROWS groups of a table of differences with the largest `metric` in either run, in the table's order."""
    size = table[table.metric == metric].set_index(by)[["base", "changed"]].max(axis=1)
    kept = size.sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    keys = pd.MultiIndex.from_frame(table[by]) if len(by) > 1 else pd.Index(table[by[0]])
    return table[keys.isin(kept)]


def _rest(tables: Mapping[str, pd.DataFrame]) -> Section:
    blocks: list[Block] = []
    for name, title, by, label in (("sites", "Running cores by site", "site", "mean running cores"),
                                   ("refusals", "Refusals by rule", "rule", "refusals in the window"),
                                   ("failures", "Failures by cause", "cause", "attempts")):
        table = tables[name]
        drawn = table[table.metric.isin(["running_cores", "refusals", "jobs"])]
        drawn = drawn.groupby(by, sort=False)[["base", "changed"]].sum().reset_index()
        drawn["value"] = drawn.changed
        blocks.append(plot_or_note(Plot(name, title, drawn, drawn_by("bars.pair_bars", by=by, xlabel=label),
                                        "Pairs of bars, A above B, largest first.",
                                        (10, 1.0 + 0.32 * min(15, max(len(drawn), 3)))), "no values in either run."))
    return Section("rest", "Sites, refusals, failures, tasks", (*blocks, *_in_figures(tables, REST)))


def _both(run_a: Run, run_b: Run, metric: Callable[[Run], pd.DataFrame]) -> pd.DataFrame:
    names = differing_names([run_a.folder, run_b.folder])
    return pd.concat([metric(run).assign(run=f"{side}: {name}") for side, name, run in
                      zip("AB", names, (run_a, run_b), strict=True)], ignore_index=True)


def _side_by_side(table: pd.DataFrame, by: list[str], metrics_shown: Mapping[str, str]) -> pd.DataFrame:
    """One row per value of `by`, with A, B and B − A of each metric; `metrics_shown` maps metrics to labels."""
    rows = table[by].drop_duplicates()
    for name, label in metrics_shown.items():
        values = table[table.metric == name][[*by, "base", "changed", "difference"]]
        values = values.set_axis([*by, *(f"{label}:\N{NO-BREAK SPACE}{side}" for side in SIDES)], axis=1)
        rows = rows.merge(values, on=by, how="left")
    return rows
