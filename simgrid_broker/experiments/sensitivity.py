"""`sensitivity`: on which settings a figure depends, by elementary effects (Morris) or parts of variance (Sobol)."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from SALib.sample import morris as sample_morris
from SALib.sample import sobol as sample_sobol
from scipy.special import stdtrit

from simgrid_broker.experiments.figures import headlines
from simgrid_broker.experiments.intervals import LEVEL
from simgrid_broker.experiments.pages import (
    failed_notes,
    label_of,
    runs_section,
    terms,
    with_unit,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.running import LOCAL, Plan, Workers, as_workers, run_study
from simgrid_broker.experiments.study import Point, Study, same, settings_columns
from simgrid_broker.experiments.study_file import (
    FEWEST_POINTS,
    SensitivityFile,
    as_study,
    base_scenario,
    seeds_of,
)
from simgrid_broker.experiments.sweep import DRAWN, LUCK, Check, asked_of, described, folder_of, refuse, settings_at
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by
from simgrid_broker.report.settings import gdpconfig_lines

LEVELS = 4
"""Levels of each setting in Morris' design."""
KINDS = {"morris": {"mu_star": "mean size of the effects", "sigma": "their spread"},
         "sobol": {"S1": "first order", "ST": "total"}}
"""Indices of each method, with their meaning."""
INDICES = {"morris": ("mu", "mu_star", "sigma"), "sobol": ("S1", "ST")}
"""Indices of each method, in the order of its estimator."""
WIDE = 0.1
"""Half the width of an interval of a part of the variance from which more base samples are advised."""
ENDS = {"all at their low ends": 0.0, "all at their high ends": 1.0}
"""Places in the unit cube whose keys of gdpconfig are shown."""
RESAMPLES = 200
"""Resamples of the trajectories or base samples, from which the error of the design follows."""
READING = {
    "morris": "Elementary effect: change of the figure when one setting moves over its range, the others fixed. "
              "mu*: mean of their sizes; sigma: their spread, large where the effect is not linear or depends on other "
              "settings. Error: of the trajectories, by resampling them, and of the seeds together. Source: "
              "Morris, Technometrics 33 (1991) 161; Campolongo et al., Environ. Model. Softw. 22 (2007) 1509.",
    "sobol": "Parts of the variance of the figure over the whole space: first order: by this setting alone; total: "
             "with all that depends on it together with others. Chance of the runs counts as variance of its own. "
             "Error: of the base samples, by resampling them, and of the seeds together. Source: Saltelli et al., "
             "Comput. Phys. Commun. 181 (2010) 259; Jansen, ibid. 117 (1999) 35."}
HEADS = {"setting": "Setting", "index": "Index", "error": "Error", "low": "Low", "high": "High", "count": "Seeds",
         "rows": "Rows", "unit": "Unit"}
"""Heads of the table of indices."""
OF_INDICES = ("figure", "setting", "index", "value", "error", "low", "high", "count", "rows", "unit", "window")


def sensitivity(study: SensitivityFile | Mapping[str, Any] | str | Path, out: str | Path | None = None,
                workers: Workers | int = LOCAL) -> pd.DataFrame:
    """Run a study file of a sensitivity analysis and return its indices: see `indices`.

    out: folder of the study, default results/<scenario>/<name of the file>. Raises StudyError, OutputError.
    """
    file, name = as_study(study, SensitivityFile, "sensitivity")
    done = analysed(file, out, as_workers(workers), name)
    return indices(done.results(), file)


def analysed(file: SensitivityFile, out: str | Path | None, workers: Workers, name: str,
             check: Check | None = None) -> Study:
    """The study of `sensitivity`, with all its points run."""
    scenario = base_scenario(file)
    points = plan_of(file)
    refuse(file, scenario, points, file.figures, check)
    definition = {**asked_of(file, scenario), "method": file.method}
    return run_study(folder_of(out, scenario, name), Plan("sensitivity", definition, points, (scenario,),
                                                          file.figures), workers)


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
        return sample_morris.sample(_problem(file), file.n_points, num_levels=LEVELS, seed=LUCK)
    return sample_sobol.sample(_problem(file), file.n_points, calc_second_order=False, seed=LUCK)


def indices(results: pd.DataFrame, file: SensitivityFile, figures: Iterable[str] = ()) -> pd.DataFrame:
    """Sensitivity of each figure to each setting, as means over the seeds: OF_INDICES.

    index: mu, mu_star, sigma; or S1, ST; low and high: 95 % interval, of the design and the seeds; count: seeds; rows:
    of the design; unit: of the figure, empty for parts of the variance. A figure that a point does not have is left
    out.
    """
    rows = sample(file)
    chosen = tuple(figures) or file.figures or headlines(tuple(dict.fromkeys(results.figure)))
    named = results.drop_duplicates("group")[["group", *file.vary]].itertuples(index=False, name=None)
    names = {same(dict(zip(file.vary, settings, strict=True))): group for group, *settings in named}
    groups = [names.get(same(settings_columns(Point("", 0, settings_at(file.vary, row))))) for row in rows]
    lines = []
    for figure in chosen:
        part = results[results.figure == figure]
        values = part.pivot_table("value", "group", "seed").reindex(groups)
        if len(part) and not values.isna().any().any():
            unit = part.unit.iloc[0] if file.method == "morris" else ""
            lines += [{"figure": figure, **row, "rows": len(rows), "unit": unit, "window": part.window.iloc[0]}
                      for row in _of_figure(file, rows, values.to_numpy(float))]
    return pd.DataFrame(lines, columns=list(OF_INDICES))


def _of_figure(file: SensitivityFile, rows: np.ndarray, values: np.ndarray) -> Iterator[dict[str, Any]]:
    """Indices of one figure; values: (n_rows, n_seeds)."""
    blocks, n_points, n_seeds = _blocks(file, rows, values), file.n_points, values.shape[1]
    each = _estimates(file.method, blocks)
    drawn = np.random.default_rng(LUCK).integers(n_points, size=(RESAMPLES, n_points))
    resampled = np.array([_estimates(file.method, blocks[one]).mean(axis=-1) for one in drawn])
    of_design = resampled.var(axis=0, ddof=1) * n_points / (n_points - 1)
    of_seeds = each.var(axis=-1, ddof=1) / n_seeds if n_seeds > 1 else np.zeros_like(of_design)
    value, error = each.mean(axis=-1), np.sqrt(of_design + of_seeds)
    half = error * stdtrit(n_points - 1, (1 + LEVEL) / 2)
    for i, index in enumerate(INDICES[file.method]):
        for k, key in enumerate(file.vary):
            yield {"setting": key, "index": index, "value": value[i, k], "error": error[i, k],
                   "low": value[i, k] - half[i, k], "high": value[i, k] + half[i, k], "count": n_seeds}


def _blocks(file: SensitivityFile, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values by sample, (n_points, n_settings + 2, n_seeds), or Morris' effects, (n_points, n_settings, n_seeds)."""
    n, n_points = len(file.vary), file.n_points
    if file.method == "sobol":
        return values.reshape(n_points, n + 2, -1)
    steps = np.diff(rows.reshape(n_points, n + 1, n), axis=1)
    changes = np.diff(values.reshape(n_points, n + 1, -1), axis=1)
    moved, size = np.abs(steps).argmax(axis=2), steps.sum(axis=2)
    effects = np.empty_like(changes)
    np.put_along_axis(effects, moved[:, :, None], changes / size[:, :, None], axis=1)
    return effects


def _estimates(method: str, blocks: np.ndarray) -> np.ndarray:
    """Indices of each seed, (n_indices, n_settings, n_seeds); 0 for a figure that never changes.

    First order: mean of B (AB - A) over the variance (Saltelli); total: half the mean of (A - AB)^2 over it (Jansen).
    """
    if method == "morris":
        return np.stack([blocks.mean(axis=0), np.abs(blocks).mean(axis=0), blocks.std(axis=0, ddof=1)])
    whole = np.concatenate([blocks[:, 0], blocks[:, -1]])
    a, mixed, b = blocks[:, :1] - whole.mean(axis=0), blocks[:, 1:-1] - whole.mean(axis=0), blocks[:, -1:] - whole.mean(
        axis=0)
    variance = whole.var(axis=0)
    parts = np.stack([(b * (mixed - a)).mean(axis=0), np.square(a - mixed).mean(axis=0) / 2])
    return np.divide(parts, variance, out=np.zeros_like(parts), where=variance > 0)


def too_few(file: SensitivityFile, table: pd.DataFrame) -> list[str]:
    """A sentence if the design has too few points for its errors, or for telling the settings apart."""
    least, n_points = FEWEST_POINTS[file.method], file.n_points
    what = "base samples" if file.method == "sobol" else "trajectories"
    if n_points < least:
        return [f"{n_points} {what} are too few: errors from fewer than {least} are too small themselves; set "
                f"points: {least}."]
    wide = table[table["index"] == "ST"] if file.method == "sobol" else table[:0]
    half = ((wide.high - wide.low) / 2).max() if len(wide) else 0.0
    if half <= WIDE:
        return []
    needed = 2 ** math.ceil(math.log2(n_points * (half / WIDE)**2))
    return [f"{n_points} {what} leave indices uncertain by up to {half:.2f} of the variance; about {needed} would give "
            f"{WIDE:g}."]


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
    sections = [terms(about, [*failed_notes(study), *too_few(file, table)]),
                _indices_section(table, drawn, file), runs_section(study)]
    return write_study_page(study.folder, f"Sensitivity of {scenario['name']}", scenario["description"], sections,
                            steps)


def _indices_section(table: pd.DataFrame, drawn: Iterable[str], file: SensitivityFile) -> Section:
    method = file.method
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
    shown = table.assign(figure=table.figure.map(label_of)).drop(columns="window").rename(columns=HEADS)
    blocks.append(TableBlock("Indices", shown, READING[method], mixed=True))
    for name, end in ENDS.items():
        blocks += gdpconfig_lines({**file.settings, **settings_at(file.vary, [end] * len(file.vary))}, name)
    return Section("indices", "Sensitivity", tuple(blocks))


def _problem(file: SensitivityFile) -> dict[str, Any]:
    """The settings as SALib has them: parts, 0 to 1, of their ranges."""
    return {"num_vars": len(file.vary), "names": list(file.vary), "bounds": [[0.0, 1.0]] * len(file.vary)}
