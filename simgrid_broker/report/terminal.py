"""The summary of a run as plain text, at most 100 columns wide."""

import math
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.errors import InputFileError
from simgrid_broker.metrics import wide
from simgrid_broker.metrics.chain_words import limits, sentences
from simgrid_broker.metrics.passes import FOR_SUMMARY
from simgrid_broker.metrics.window import read_jobs
from simgrid_broker.notebook import shares_html
from simgrid_broker.records import Run, of_run
from simgrid_broker.report.caveats import warnings_of
from simgrid_broker.report.words import number, reason_in_words, shortened, spoken, texts_of_python

WIDTH = 100
"""Most columns of a line."""
LONGEST_NAME = 34
MOST_CAUSES = 5
"""Maximum number of entries in a list."""
MOST_SHARES = 40
"""Maximum number of listed nodes of the share tree; the deepest levels are dropped first."""


@texts_of_python()
@of_run
def terminal_summary(run: Run) -> str:
    """Jobs by status, core occupancy, waiting times, and delivered against target power by share, as text."""
    read_jobs(run, FOR_SUMMARY)
    value = {row.metric: number(row.value) for row in metrics.summary(run).itertuples()}
    lines = [f"{run.manifest['scenario']['name']} ({run.folder})",
             f"figures over {metrics.window_of(run)}; seed {run.manifest['seed']}, {run.manifest['status']}",
             *(line for warning in warnings_of(run) for line in _wrapped(warning, "  ! ", "    ")),
             "", *_jobs(run), "", *_figures(run, value), "", *_shares(run)]
    return "\n".join(line.rstrip() for line in lines)


def picture(run: Run) -> str:
    """Power that each share got, and its target, in bars of HTML; empty without the tables that say it."""
    try:
        rows = wide(metrics.share_compliance(run))
    except InputFileError:
        return ""
    rows = rows[(rows.level > 0) & rows.delivered.notna()]
    return shares_html((row.share, int(row.level), row.target, row.delivered) for row in rows.itertuples()) if len(
        rows) else ""


def jobs_per_second(manifest: Mapping) -> float:
    """Attempts ended per second of wall-clock time of the simulation; NaN for a run without these figures."""
    seconds, ended = manifest["timings"].get("ran_s"), manifest["counters"].get("jobs_ended")
    return ended / seconds if seconds and ended is not None else math.nan


def _figures(run: Run, value: Mapping[str, str]) -> list[str]:
    """Lines on cores, waiting times, losses, tasks, shares and speed; value: metrics of the summary as text."""
    waiting = [f"waiting   median {value['wait_km_p50']} h, 95 % {value['wait_km_p95']} h (Kaplan-Meier), "
               f"mean {value['wait_little']} h (Little)",
               f"          of the {value['started']} started jobs alone: median {value['wait_p50']} h, "
               f"95 % {value['wait_p95']} h, mean {value['wait_mean']} h"]
    if value["started"] == "0":
        waiting = ["waiting   no job started"]
    return [f"cores     busy on average: {value['running_cores']} of {value['capacity']} "
            f"(occupancy {value['core_occupancy']} %)",
            *waiting,
            f"          still waiting at the end: {value['still_waiting']}, "
            f"withdrawn before start: {value['taken_back']}",
            *_from_submission(value),
            *_out_of_memory(run), *_lost(run), *_tasks(run),
            "shares    power above due: " + ("not known, as no job ran" if
                                             value["share_misplaced"] == "–" else f"{value['share_misplaced']} %"),
            f"speed     {number(jobs_per_second(run.manifest))} simulated jobs per second of wall-clock time"]


def _from_submission(value: Mapping[str, str]) -> list[str]:
    """Wait of the jobs of a trace, which includes the time before they are activated; empty without a trace."""
    if "from_submission_p50" not in value:
        return []
    return [f"          from submission: median {value['from_submission_p50']} h, mean {value['from_submission_mean']} "
            f"h, 95 % {value['from_submission_p95']} h; not started: {value['not_started']}"]


def _lost(run: Run) -> list[str]:
    """Lost core-hours by cause, and jobs closed by each rule with their lost wait; empty if there are none."""
    table = wide(metrics.failures(run))
    if not len(table):
        return []
    lost = table.groupby("cause", sort=False)[["jobs", "lost_core_hours"]].sum().sort_values(
        "lost_core_hours", ascending=False, kind="stable")
    lost = lost[lost.lost_core_hours > 0]
    closed = table[(table.status == "closed") & table.cause.isin(metrics.RULES)]
    causes = [f"{spoken(cause)} {number(round(row.lost_core_hours))}" for cause, row in lost.iterrows()]
    rules = [f"{spoken(row.cause)} {number(row.jobs)} ({number(round(row.lost_wait_hours))} h lost wait)"
             for row in closed.itertuples()]
    return [*_listed("lost      core h: ", causes), *_listed("closed    by rules: ", rules)]


def _tasks(run: Run) -> list[str]:
    rows = wide(metrics.tasks_by_status(run))
    lines = _listed("tasks     ", [f"{spoken(row.status)} {number(row.tasks)}" for row in rows.itertuples()], len(rows))
    stopped = wide(metrics.stopped_tasks(run))
    for what, table in stopped.groupby("what", sort=False):
        lines += _listed(f"{what:<9} ", [f"{number(row.tasks)} of {row.name}: {reason_in_words(row.reason)}"
                                         for row in table.itertuples(index=False)])
    return lines


def _listed(head: str, parts: Sequence[str], most: int = MOST_CAUSES) -> list[str]:
    """Wrapped lines with `head` and the first `most` parts; empty without parts."""
    more = [f"{len(parts) - most} more"] if len(parts) > most else []
    return _wrapped(head + ", ".join([*parts[:most], *more]), after=" " * 10) if parts else []


def _out_of_memory(run: Run) -> list[str]:
    """Cost of jobs that ran out of memory, and finished later attempts of their tasks; empty if there are none."""
    table = wide(metrics.memory_retries(run))
    killed, later = table.out_of_memory.sum(), table[table.attempt > 1]
    if not killed:
        return []
    return [f"memory    {number(killed)} jobs ran out of memory and lost {number(table.lost_core_hours.sum())} core h; "
            f"of later attempts {number(later.finished.sum())} finished"]


def _jobs(run: Run) -> list[str]:
    rows = wide(metrics.jobs_by_status(run))
    total = rows.jobs.sum()
    cells = [(spoken(row.status) + ("" if row.state == "ended" else " (alive)"), number(row.jobs),
              f"{100 * row.jobs / total:.1f} %" if total else "–") for row in rows.itertuples()]
    return _table(("jobs", "number", "fraction"), cells)


def _shares(run: Run) -> list[str]:
    rows = every = wide(metrics.share_compliance(run))
    rows = rows[rows.level > 0]
    while len(rows) > MOST_SHARES and rows.level.max() > 1:
        rows = rows[rows.level < rows.level.max()]
    left_out = len(every) - 1 - len(rows)
    limit = limits(run)
    cells = [("  " * (row.level - 1) + row.share,
              *_percents(row.target, row.due, row.delivered, row.deviation, row.near),
              limit.get(row.share, "").partition(":")[0]) for row in rows.itertuples()]
    lines = _table(("share", "target %", "due %", "delivered %", "deviation", "within 10 %", "limit"), cells)
    lines += [f"({left_out} shares at deeper levels are in the report)"] if left_out else []
    said = ["due: target with what shares without work leave; in samples with work that did not run:",
            "mean absolute deviation from due, % points, and % of them within 10 % of due",
            *(f"{text} `simgrid-broker why RUN` says more." for text in sentences(run))]
    return [*lines, *(line for text in said for line in _wrapped(text))]


def _wrapped(text: str, before: str = "", after: str = "") -> list[str]:
    """Lines of a text, the first after `before`, the others after `after`; commands are not cut at hyphens."""
    return wrap(text, _width(), initial_indent=before, subsequent_indent=after, break_on_hyphens=False)


def _width() -> int:
    """Columns of a line: those of the terminal, if it has fewer."""
    return min(get_terminal_size((WIDTH, 24)).columns, WIDTH)


def _percents(*values: float) -> tuple[str, ...]:
    return tuple("–" if pd.isna(value) else f"{value:.2f}" for value in values)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: first column left-aligned, the others right-aligned."""
    cells = [head, *([shortened(row[0], LONGEST_NAME), *row[1:]] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = ["  ".join(cell.ljust(width) if k == 0 else cell.rjust(width)
                       for k, (cell, width) in enumerate(zip(row, widths, strict=True))) for row in cells]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]
