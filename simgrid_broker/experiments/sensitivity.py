"""`sensitivity`: on which settings a figure depends, by elementary effects (Morris) or parts of variance (Sobol)."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from SALib.analyze import morris as analyse_morris
from SALib.analyze import sobol as analyse_sobol
from SALib.sample import morris as sample_morris
from SALib.sample import sobol as sample_sobol

from simgrid_broker.experiments.figures import headlines
from simgrid_broker.experiments.intervals import student
from simgrid_broker.experiments.pages import (
    failed_notes,
    label_of,
    runs_section,
    terms,
    with_unit,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.running import LOCAL, Plan, Workers, run_study
from simgrid_broker.experiments.study import Point, Study, same
from simgrid_broker.experiments.study_file import SensitivityFile, base_scenario, read_study_file, seeds_of
from simgrid_broker.experiments.sweep import DRAWN, LUCK, Check, asked_of, described, folder_of, refuse, settings_at
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by

LEVELS = 4
"""Levels of each setting in Morris' design."""
KINDS = {"morris": {"mu_star": "mean size of the effects", "sigma": "their spread"},
         "sobol": {"S1": "first order", "ST": "total"}}
"""Indices of each method, with their meaning."""
COMPUTED = {"morris": ("mu", "mu_star", "mu_star_conf", "sigma"), "sobol": ("S1", "S1_conf", "ST", "ST_conf")}
"""Columns of the indices that SALib computes; _conf: half the width of a 95 % interval."""
READING = {
    "morris": "Elementary effect: change of the figure when one setting moves over its range, the others fixed. "
              "mu*: mean of their sizes; sigma: their spread, large where the effect is not linear or depends on other "
              "settings. Error: standard error over the seeds; with one seed that of the trajectories. Source: "
              "Morris, Technometrics 33 (1991) 161; Campolongo et al., Environ. Model. Softw. 22 (2007) 1509.",
    "sobol": "Parts of the variance of the figure over the whole space: first order: by this setting alone; total: "
             "with all that depends on it together with others. Chance of the runs counts as variance of its own. "
             "Error: standard error over the seeds; with one seed that of the samples. Source: Saltelli et al., "
             "Comput. Phys. Commun. 181 (2010) 259."}


def sensitivity(study: SensitivityFile | str | Path, out: str | Path | None = None,
                workers: Workers = LOCAL) -> pd.DataFrame:
    """Run a study file of a sensitivity analysis and return its indices: see `indices`.

    out: folder of the study, default results/<scenario>/<name of the file>. Raises StudyError, OutputError.
    """
    name = Path(study).stem if isinstance(study, (str, Path)) else "sensitivity"
    file = read_study_file(study, SensitivityFile) if isinstance(study, (str, Path)) else study
    done = analysed(file, out, workers, name)
    return indices(done.results(), file)


def analysed(file: SensitivityFile, out: str | Path | None, workers: Workers, name: str,
             check: Check | None = None) -> Study:
    """The study of `sensitivity`, with all its points run."""
    scenario = base_scenario(file)
    points = plan_of(file)
    refuse(file, scenario, points, file.figures, check)
    definition = {**asked_of(file, scenario), "method": file.method, "points": file.points}
    return run_study(folder_of(out, scenario, name), Plan("sensitivity", definition, points, (scenario,)), workers)


def plan_of(file: SensitivityFile) -> list[Point]:
    """Points p0001, ... of all rows of the design with each seed; rows with equal settings are one point."""
    settings = [settings_at(file.vary, row) for row in sample(file)]
    groups = group_names(settings)
    once = {group: one for group, one in zip(groups, settings, strict=True)}
    return [Point(group, seed, one) for group, one in once.items() for seed in seeds_of(file.seeds)]


def group_names(settings: list[dict[str, Any]]) -> list[str]:
    """Name of the point of each row of a design."""
    numbers: dict[str, int] = {}
    return [f"p{numbers.setdefault(same(one), len(numbers) + 1):04d}" for one in settings]


def sample(file: SensitivityFile) -> np.ndarray:
    """Rows of the design in the unit cube, (n_rows, n_settings)."""
    if file.method == "morris":
        return sample_morris.sample(_problem(file), file.points, num_levels=LEVELS, seed=LUCK)
    return sample_sobol.sample(_problem(file), file.points, calc_second_order=False, seed=LUCK)


def indices(results: pd.DataFrame, file: SensitivityFile, figures: Iterable[str] = ()) -> pd.DataFrame:
    """Sensitivity of each figure to each setting, as means over the seeds.

    Columns figure, setting, index (mu, mu_star, sigma; or S1, ST), value, error, count (seeds), rows of the design,
    unit (of the figure; empty for parts of the variance), window. A figure that a point does not have is left out.
    """
    rows = sample(file)
    groups = group_names([settings_at(file.vary, row) for row in rows])
    chosen = tuple(figures) or file.figures or headlines(tuple(dict.fromkeys(results.figure)))
    lines = []
    for figure in chosen:
        part = results[results.figure == figure]
        values = part.pivot_table("value", "group", "seed").reindex(groups)
        if len(part) and not values.isna().any().any():
            unit = part.unit.iloc[0] if file.method == "morris" else ""
            lines += [{"figure": figure, **row, "rows": len(rows), "unit": unit, "window": part.window.iloc[0]}
                      for row in _of_figure(file, rows, values)]
    return pd.DataFrame(lines, columns=["figure", "setting", "index", "value", "error", "count", "rows", "unit",
                                        "window"])


def _of_figure(file: SensitivityFile, rows: np.ndarray, values: pd.DataFrame) -> list[dict[str, Any]]:
    """Indices of one figure; values: rows of the design by seeds."""
    each = [_analysis(file, rows, values[seed].to_numpy(float)) for seed in values]
    lines = []
    for index in each[0]:
        if index.endswith("_conf"):
            continue
        for k, key in enumerate(file.vary):
            interval = student([one[index][k] for one in each])
            error = interval.error
            if len(each) == 1:
                error = float(each[0].get(f"{index}_conf", np.full(len(file.vary), np.nan))[k]) / 1.96
            lines.append({"setting": key, "index": index, "value": interval.value, "error": error, "count": len(each)})
    return lines


def _analysis(file: SensitivityFile, rows: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    """SALib's indices by name; zero for a figure that never changes."""
    names = COMPUTED[file.method]
    if np.ptp(values) == 0:
        return {name: np.zeros(len(file.vary)) for name in names}
    if file.method == "morris":
        computed = analyse_morris.analyze(_problem(file), rows, values, num_levels=LEVELS, seed=LUCK)
    else:
        computed = analyse_sobol.analyze(_problem(file), values, calc_second_order=False, seed=LUCK)
    return {name: np.asarray(computed[name], float) for name in names}


def write_sensitivity_report(study: Study, file: SensitivityFile,
                             steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write tables and report of a sensitivity analysis and return the path of its page."""
    results = study.results()
    scenario = study.manifest["definition"]["scenario"]
    figures = tuple(dict.fromkeys(results.figure))
    table = indices(results, file, file.figures or headlines(figures))
    for name, rows in (("results", results), ("points", study.points()), ("sensitivity", table)):
        write_table(study.folder, name, rows)
    about = {"Scenario": scenario["name"], "Method": f"{file.method}, {len(sample(file))} rows",
             "Seeds of each point": file.seeds,
             **{f"Varied: {key}": described(axis) for key, axis in file.vary.items()}}
    drawn = file.figures or tuple(figure for figure in DRAWN if figure in figures)
    sections = [terms(about, failed_notes(study)), _indices_section(table, drawn, file.method), runs_section(study)]
    return write_study_page(study.folder, f"Sensitivity of {scenario['name']}", scenario["description"], sections,
                            steps)


def _indices_section(table: pd.DataFrame, drawn: Iterable[str], method: str) -> Section:
    kinds, blocks = KINDS[method], list[Block]()
    for figure in drawn:
        one = table[(table.figure == figure) & table["index"].isin(kinds)]
        if not len(one):
            blocks.append(Note(f"{label_of(figure)}: not every point has this figure, so it has no indices."))
            continue
        rows = pd.DataFrame({"name": one.setting, "kind": one["index"].map(kinds), "value": one.value,
                             "error": one.error})
        order = rows[rows.kind == list(kinds.values())[-1 if method == "sobol" else 0]].sort_values(
            "value", ascending=False).name
        rows = rows.set_index("name").loc[list(order)].reset_index()
        xlabel = with_unit(figure, one.unit.iloc[0]) if method == "morris" else "part of the variance"
        blocks.append(Plot(f"sensitivity-{figure}", label_of(figure), rows, drawn_by(
            "studies.effects", xlabel=xlabel, kinds=tuple(kinds.values())),
            "Bars: index; lines: ± one standard error.", (10, 1.2 + 0.45 * max(len(order), 3))))
    shown = table.assign(figure=table.figure.map(label_of)).drop(columns="window")
    return Section("indices", "Sensitivity", (*blocks, TableBlock("Indices", shown, READING[method], mixed=True)))


def _problem(file: SensitivityFile) -> dict[str, Any]:
    """The settings as SALib has them: parts, 0 to 1, of their ranges."""
    return {"num_vars": len(file.vary), "names": list(file.vary), "bounds": [[0.0, 1.0]] * len(file.vary)}
