"""Parts that the reports of studies share: what was asked, the runs with links, and figures with their errors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.experiments.study import DONE, FAILED, Study
from simgrid_broker.records import write_csv, write_whole
from simgrid_broker.report.blocks import REPORT, Block, Link, Note, Section, TableBlock
from simgrid_broker.report.drawing.pictures import plots_of, save_plots
from simgrid_broker.report.page import page
from simgrid_broker.report.words import SUMMARY_LABELS

INTERVALS = ("Error: standard error of the mean over the seeds. Low and high: Student's 95 % interval. Runs: number of "
             "seeds.")
BOOTSTRAP = " Bootstrap: the interval by the bootstrap-t method, which follows skewed values."
HEADS = {"group": "Group", "run": "Run", "seed": "Seed", "state": "State", "message": "Message"}
"""Heads of the columns of tables of runs; settings keep their keys."""
MOST_RUNS = 200
"""Runs that a report lists; the others are in the table of the study."""


def write_study_page(folder: Path, title: str, lead: str, sections: Sequence[Section],
                     steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write `report.html` with its plots into the folder of a study and return its path; raises OutputError."""
    pictures = save_plots(plots_of(sections), Path(folder) / "plots", steps)
    text = page(title, lead, sections, pictures, "Made by simgrid_broker. Plots and their tables are also in plots/.")
    return write_whole(Path(folder) / REPORT, text)


def write_table(folder: Path, name: str, table: pd.DataFrame) -> None:
    """Write a table as CSV and as Parquet; settings of several kinds become text in the latter."""
    write_csv(Path(folder) / f"{name}.csv", table)
    mixed = {column: table[column].map(str) for column in table.columns
             if table[column].dtype == object and table[column].map(type).nunique() > 1}
    write_whole(Path(folder) / f"{name}.parquet", table.assign(**mixed).to_parquet(index=False))


def terms(rows: Mapping[str, object], notes: Iterable[str] = ()) -> Section:
    """Section with the settings of a study, as a table of two columns."""
    table = pd.DataFrame([(name, str(value)) for name, value in rows.items()], columns=["what", "value"])
    return Section("asked", "What was asked", (TableBlock("", table), *(Note(text, strong=True) for text in notes)))


def failed_notes(study: Study) -> list[str]:
    """Warnings of points without a result."""
    states = study.points().state
    failed, open_ = (states == FAILED).sum(), (~states.isin([DONE, FAILED])).sum()
    notes = [f"{failed} of {len(states)} runs failed; the last section has their messages."] if failed else []
    return notes + ([f"{open_} of {len(states)} runs are not finished; the same command continues."] if open_ else [])


def runs_section(study: Study) -> Section:
    """A table of all runs with links, and the messages of those that failed."""
    points = study.points()
    shown = points.head(MOST_RUNS).copy()
    links = [Link(f"seed {row.seed}", _target(study, row)) if row.state == DONE else f"seed {row.seed}"
             for row in shown.itertuples()]
    shown = shown.assign(run=pd.Series(links, shown.index, dtype=object)).drop(columns=["seed", "message", "folder"])
    shown = shown[["group", "run", *[name for name in shown.columns if name not in ("group", "run")]]]
    shown = shown.rename(columns=HEADS)
    more = len(points) - len(shown)
    blocks: list[Block] = [TableBlock("", shown, f"{more} more are in points.csv." if more > 0 else "")]
    failed = points[points.state == FAILED][["group", "seed", "message"]]
    if len(failed):
        blocks.append(TableBlock("Failed runs", failed.assign(seed=failed.seed.map(str)).rename(columns=HEADS)))
    return Section("runs", "Runs", tuple(blocks))


def means_block(table: pd.DataFrame, title: str = "Means over the seeds") -> TableBlock:
    """Means with errors as a block of a page."""
    names = {"value": "Mean", "error": "Error", "low": "Low", "high": "High", "count": "Runs",
             "boot_low": "Bootstrap low", "boot_high": "Bootstrap high", "window": "Window"}
    groups = ["group"] if table.group.nunique() > 1 else []
    shown = table.assign(figure=table.figure.map(label_of))
    boot = ["boot_low", "boot_high"] if shown.boot_low.notna().any() else []        # needs eight seeds
    columns = [*groups, "figure", "value", "error", "low", "high", *boot, "count", "unit", "window"]
    return TableBlock(title, shown[columns].rename(columns=names), INTERVALS + BOOTSTRAP * bool(boot), mixed=True)


def label_of(figure: str) -> str:
    """A figure in words: `wait_p50` as "Waiting time, median"; figures of parts keep their names."""
    return SUMMARY_LABELS.get(figure, figure)


def with_unit(figure: str, unit: str) -> str:
    """A figure in words with its unit, for an axis."""
    return f"{label_of(figure)} ({unit})" if unit else label_of(figure)


def in_percent(values: pd.Series, whole: pd.Series) -> pd.Series:
    """Values as % of others; NaN where those are 0."""
    return 100 * values / whole.abs().where(whole != 0, np.nan)


def _target(study: Study, row) -> str:
    """Where the link of a run leads: its report if it has one, else its folder."""
    folder = Path(row.group) / f"seed-{row.seed}"
    return str(folder / REPORT) if (study.folder / folder / REPORT).is_file() else f"{folder}/"
