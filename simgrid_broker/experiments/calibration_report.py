"""Files of a calibration: the fitted values as a part of a scenario, tables, and a page."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from simgrid_broker.experiments import calibration_jobs
from simgrid_broker.experiments.calibrate import FEWEST, OF_PARAMETERS, WRITTEN, Calibration, left_as_they_were
from simgrid_broker.experiments.pages import terms, write_study_page, write_table
from simgrid_broker.files import write_whole
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by
from simgrid_broker.report.words import number
from simgrid_broker.scenario.importers import write_part

FRAGMENT, RUNNABLE = "calibrated.yaml", "scenario.yaml"
"""The fitted values, and a scenario that lays them over the one that was calibrated."""

MOST_GROUPS = 25
MOST_ROWS = 400

READING = ("Wall time of finished jobs, predicted by the figures before and after, and by medians of earlier jobs, "
           "less recorded, % of recorded: line 5 to 95 %, box 25 to 75 %, mark median. ")
ESTIMATES = (f"Robust estimates from jobs that are not held out; at least {FEWEST} of them for each. Low, high: 95 % "
             "interval from errors of clusters of jobs, one a task, at the queue and at the others; "
             "error: half of it over 1.96. cpu_efficiency is a factor on that of the tasks, about 1 on average.")


WAITS = ("Recorded and predicted distributions: each queue serves its jobs in the order of their creation with its "
         "batch latency and cores, before and after the fit; the others draw the wait of an earlier job of the same "
         "task, group (task, type, cores, events), or group and site. CRPS: mean distance of the recorded waits from "
         "the distribution, less half of the mean distance within it.")


def write_calibration(result: Calibration, scenario: Path, records: Path, folder: Path, held_out: float,
                      steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write part, scenario, tables and page of a calibration and return the path of the page; raises OutputError."""
    folder = Path(folder)
    write_table(folder, "parameters", result.parameters)
    write_table(folder, "errors", result.errors)
    write_table(folder, "waits", result.waits)
    write_table(folder, "others", result.others)
    remarks = [*result.verdicts, *result.remarks, *left_as_they_were(result.parameters)]
    fitted = f"Fitted to {len(result.jobs)} jobs of {Path(records).name}."
    write_part(result.part, folder / FRAGMENT, [fitted, *remarks])
    write_whole(folder / RUNNABLE, f"extends: [{os.path.relpath(scenario, folder)}, {FRAGMENT}]\n")
    about = {"Scenario": scenario, "Records": records, "Jobs": len(result.jobs),
             "Held out": f"{100 * held_out:g} %, {int(result.jobs.held_out.sum())} jobs"}
    errors = [block for by in ("site", "queue", "share") for block in _errors(result, by)]
    sections = [terms(about), Section("errors", "Errors of predicted wall times", (*_whole(result), *errors)),
                Section("waits", "Waits", _waits(result)),
                Section("parameters", "Fitted values", _parameters(result)),
                Section("remarks", "Remarks", tuple(Note(text) for text in remarks) or (Note("There are none."),))]
    return write_study_page(folder, f"Calibration of {Path(scenario).stem}", f"By job records of {Path(records).name}.",
                            sections, steps)


def by_dimension(result: Calibration, by: str) -> pd.DataFrame:
    """Rows of the errors of one dimension, tidy, `name` under the name of the dimension."""
    rows = result.errors[result.errors.dimension == by].drop(columns="dimension")
    return rows.rename(columns={"name": by})


def _whole(result: Calibration) -> list[Block]:
    rows = result.errors[result.errors.dimension == "all"]
    if not len(rows):
        return [Note("No job with a known work was held out, so there are no errors to compare.")]
    return [*map(Note, (*calibration_jobs.verdicts(result.errors)[0],
                        *calibration_jobs.verdicts_on_others(result.others))),
            TableBlock("All jobs", wide(rows.drop(columns=["dimension", "name"])))]


def _waits(result: Calibration) -> tuple[Block, ...]:
    table = result.waits.head(MOST_ROWS)
    return (*map(Note, calibration_jobs.sentences(result.waits)),
            *((TableBlock("Waits of held-out jobs", table, WAITS),) if len(table) else ()))


def _errors(result: Calibration, by: str) -> list[Block]:
    table = by_dimension(result, by)
    names = list(dict.fromkeys(table[by]))
    if not names:
        return []
    shown = table[table[by].isin(names[:MOST_GROUPS])]
    more = f" The {MOST_GROUPS} largest of {len(names)}; errors.csv has all." if len(names) > MOST_GROUPS else ""
    return [Plot(f"errors_{by}", f"Errors by {by}", shown, drawn_by(
                "data.errors", by=by, kind="when", xlabel="predicted less recorded wall time, % of recorded"),
                READING + more, (10, 1.4 + 0.4 * shown[by].nunique())),
            TableBlock(f"Errors by {by}: figures", wide(shown), more.strip())]


def _parameters(result: Calibration) -> tuple[Block, ...]:
    """Powers before and after, and all fitted values."""
    powers = result.parameters[(result.parameters.parameter == "corepower") & result.parameters.state.isin(WRITTEN)]
    blocks: list[Block] = []
    if len(powers):
        shown = powers.nlargest(MOST_GROUPS, "jobs")
        drawn = pd.DataFrame({"name": shown.name, "value": shown.after, "before": shown.before,
                              "low": shown.low, "high": shown.high})
        blocks.append(Plot("corepower", "Power of the queues", drawn, drawn_by(
            "studies.moved", xlabel="HS06 per core"), "Ring: before; dot: fitted, with its 95 % interval."
            + (f" The {MOST_GROUPS} queues with most jobs." if len(powers) > MOST_GROUPS else ""),
            (10, 1.2 + 0.3 * len(shown))))
    table = result.parameters[list(OF_PARAMETERS)].head(MOST_ROWS)
    texts = table.assign(**{name: table[name].map(number) for name in ("before", "after", "error", "low", "high")})
    more = f" {len(result.parameters) - MOST_ROWS} more rows are in parameters.csv." if len(
        result.parameters) > MOST_ROWS else ""
    return (*blocks, TableBlock("All values", texts, ESTIMATES + more, mixed=True))
