"""The report of a search: trials, Pareto front, importance, and the winner against today's settings."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from simgrid_broker.experiments.compare import READING, difference_rows
from simgrid_broker.experiments.figures import headlines
from simgrid_broker.experiments.pages import (
    failed_notes,
    label_of,
    runs_section,
    terms,
    with_unit,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.study_file import TuneFile, base_scenario
from simgrid_broker.experiments.sweep import described
from simgrid_broker.experiments.tune import DATABASE, Tuned, confirmation, importance, open_search, today
from simgrid_broker.records import write_whole
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by

FRAGMENT = "winner.yaml"
"""File with the settings of the winner."""
NO_WINNER = "No trial keeps all constraints, so there is no winner; the trials show by how much each limit is exceeded."


def write_tune_report(result: Tuned, file: TuneFile, steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write tables, report and the settings of the winner, and return the path of the page."""
    folder, scenario = result.study.folder, base_scenario(file)
    weights = importance(file, open_search(file, folder / DATABASE))
    rows = confirmation(result, file)
    for name, table in (("trials", result.trials), ("importance", weights), ("confirmation", rows),
                        ("results", result.study.results())):
        write_table(folder, name, table)
    about = {"Scenario": scenario.name, **{f"Objective: {name}": way for name, way in file.objectives.items()},
             **{f"Constraint: {name}": _limit(limit) for name, limit in file.constraints.items()},
             **{f"Varied: {key}": described(axis) for key, axis in file.vary.items()},
             "Trials": len(result.trials), "Seeds of each trial": file.seeds, "Seeds of the confirmation": file.confirm}
    sections = [terms(about, [*failed_notes(result.study), *([] if result.winner else [NO_WINNER])])]
    if result.winner is not None:
        text = fragment(result, today(file, scenario))
        write_whole(folder / FRAGMENT, text)
        sections.append(_winner(result, file, today(file, scenario), rows))
    sections += [_search(result, file), _importance(weights)]
    return write_study_page(folder, f"Tuning of {scenario.name}", scenario.description,
                            [*sections, runs_section(result.study)], steps)


def fragment(result: Tuned, before: Mapping[str, Any]) -> str:
    """YAML of the winner's settings: keys of gdpconfig as a part of a scenario, others as comments with --set."""
    lines = [f"# Trial {result.winner} of the study {result.study.folder.name}: the value of each setting, and today's"]
    chosen = winner_settings(result, before)
    config = {key.removeprefix("gdpconfig."): value for key, value in chosen.items() if key.startswith("gdpconfig.")}
    if config:
        lines += ["gdpconfig:", *(f"  {key}: {json.dumps(value)}  # from {json.dumps(before['gdpconfig.' + key])}"
                                  for key, value in config.items())]
    lines += [f"# --set {key}={json.dumps(value)}  (from {json.dumps(before[key])})" for key, value in chosen.items()
              if not key.startswith("gdpconfig.")]
    return "\n".join(lines) + "\n"


def winner_settings(result: Tuned, keys: Iterable[str]) -> dict[str, Any]:
    """Settings of the winner by dotted key, as plain values."""
    row = result.trials[result.trials.trial == result.winner].iloc[0]
    return {key: row[key].item() if hasattr(row[key], "item") else row[key] for key in keys}


def _winner(result: Tuned, file: TuneFile, before: Mapping[str, Any], rows: pd.DataFrame) -> Section:
    chosen = winner_settings(result, before)
    settings = pd.DataFrame([(key, in_words(before[key]), in_words(value)) for key, value in chosen.items()],
                            columns=["Setting", "From (today)", "To"])
    figures = [*file.objectives, *file.constraints]
    figures += [name for name in headlines(tuple(rows.figure)) if name not in figures]
    shown = rows[rows.figure.isin(figures)]
    how = ("The trial with the best objective within the constraints." if len(file.objectives) == 1 else
           "Of the Pareto front the trial closest to the best of each objective, each over its range on the front.")
    return Section("winner", f"Winner: {result.winner}", (
        TableBlock("Settings", settings, f"{how} {FRAGMENT} has them as a part of a scenario."),
        TableBlock("Against today's settings, with fresh seeds", difference_rows(shown),
                   READING.format(base="today's settings") + " None of these seeds was used to choose the winner.",
                   mixed=True)))


def _search(result: Tuned, file: TuneFile) -> Section:
    """Trials over time, and the trade-off of the first two objectives."""
    ended = result.trials[result.trials.state == "complete"]
    kinds = ended.on_front.map({True: "Pareto front", False: "other"}).where(ended.feasible, "breaks a constraint")
    names, blocks = list(file.objectives), list[Block]()
    units = result.study.results().groupby("figure").unit.first().to_dict()
    if not len(ended):
        blocks.append(Note("No trial ended with all figures."))
    if len(names) > 1 and len(ended):
        drawn = pd.DataFrame({"x": ended[names[0]], "y": ended[names[1]], "kind": kinds})
        blocks.append(Plot("front", f"{label_of(names[0])} against {label_of(names[1])}", drawn, drawn_by(
            "studies.trade_off", xlabel=_way(file, names[0], units),
            ylabel=_way(file, names[1], units)),
            "Each point is a trial, mean over its seeds; no other trial beats those of the front in all objectives.",
            (10, 4.6)))
    for name in names if len(ended) else ():
        drawn = pd.DataFrame({"x": ended.trial.str[1:].astype(int), "y": ended[name], "kind": kinds})
        blocks.append(Plot(f"trials-{name}", f"{label_of(name)} by trial", drawn, drawn_by(
            "studies.trade_off", xlabel="trial", ylabel=_way(file, name, units)),
            "Mean over the seeds of each trial.", (10, 3.6)))
    shown = result.trials.assign(feasible=result.trials.feasible.map(_yes), on_front=result.trials.on_front.map(_yes))
    return Section("trials", "Trials", (*blocks, TableBlock("All trials", shown, mixed=True)))


def _importance(weights: pd.DataFrame) -> Section:
    if not len(weights):
        return Section("importance", "Importance", (Note("Too few trials ended to tell which settings matter."),))
    rows = pd.DataFrame({"name": weights.setting, "kind": weights.objective.map(label_of), "value": weights.importance,
                         "error": float("nan")})
    plot = Plot("importance", "Importance of the settings", rows, drawn_by(
        "studies.effects", xlabel="importance, part of all", kinds=tuple(dict.fromkeys(rows.kind))),
        "How much better trials depend on each setting (PED-ANOVA).", (10, 1.2 + 0.4 * max(rows.name.nunique(), 3)))
    return Section("importance", "Importance", (plot,))


def _limit(limit: Any) -> str:
    parts = [f"{word} {value:g}" for word, value in (("at least", limit.at_least), ("at most", limit.at_most))
             if value is not None]
    return " and ".join(parts)


def _way(file: TuneFile, name: str, units: Mapping[str, str]) -> str:
    """Label of the axis of an objective."""
    return f"{with_unit(name, units.get(name, ''))}, to {file.objectives[name]}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def in_words(value: Any) -> str:
    """The value of a setting; none where the scenario has none."""
    return "none" if value is None else str(value)
