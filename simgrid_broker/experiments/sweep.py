"""`sweep`: a scenario over combinations of settings, each with several seeds."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import qmc

from simgrid_broker.errors import StudyError
from simgrid_broker.experiments.figures import headlines, known_figures, means, most_of, unknown_figures, without_value
from simgrid_broker.experiments.intervals import bounded, paired, student
from simgrid_broker.experiments.pages import (
    failed_notes,
    label_of,
    runs_section,
    terms,
    with_unit,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.replicate import without_seed
from simgrid_broker.experiments.running import LOCAL, Plan, Workers, as_workers, check_points, run_study
from simgrid_broker.experiments.study import Point, Study, folder_name, same, settings_columns
from simgrid_broker.experiments.study_file import Axis, StudyFile, SweepFile, as_study, base_scenario, seeds_of
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by
from simgrid_broker.report.settings import gdpconfig_lines
from simgrid_broker.report.words import number
from simgrid_broker.scenario import Scenario

STEPS, POINTS = 5, 16
"""Numbers of a range in a grid, and points of a sample, unless given."""
DIGITS = 6
"""Significant digits of numbers that a design chooses."""
LUCK = 1
"""Seed of the designs: the same study file has the same points."""


def combinations(axes: Mapping[str, Axis], design: str = "grid", points: int | None = None) -> Iterator[dict[str, Any]]:
    """Settings by dotted key of each point of a design (see `SweepFile.design`)."""
    if design in ("grid", "list"):
        listed = [levels(axis) for axis in axes.values()]
        chosen: Iterable[tuple[Any, ...]] = (itertools.product(*listed) if design == "grid" else
                                             zip(*listed, strict=True))
        return (dict(zip(axes, values, strict=True)) for values in chosen)
    number = points or POINTS
    if design == "latin_hypercube":
        places = qmc.LatinHypercube(len(axes), rng=LUCK).random(number)
    else:
        exponent = (number - 1).bit_length()                      # a sequence is balanced in powers of 2
        places = qmc.Sobol(len(axes), rng=LUCK).random_base2(exponent)[:number]
    return (settings_at(axes, place) for place in places)


def settings_at(axes: Mapping[str, Axis], place: Sequence[float] | np.ndarray) -> dict[str, Any]:
    """Settings at a place in the unit cube."""
    return {key: value_at(axis, float(part)) for (key, axis), part in zip(axes.items(), place, strict=True)}


def levels(axis: Axis) -> list[Any]:
    """The values of an axis in a grid, each once."""
    if axis.values is not None:
        return list(axis.values)
    return list(dict.fromkeys(value_at(axis, part) for part in np.linspace(0, 1, axis.steps or STEPS)))


def value_at(axis: Axis, part: float) -> Any:
    """The value at a part, 0 to 1, of an axis."""
    if axis.values is not None:
        return axis.values[min(int(part * len(axis.values)), len(axis.values) - 1)]
    low, high = bounds(axis)
    value = low * (high / low) ** part if axis.scale == "log" else low + part * (high - low)
    return round(value) if axis.whole else rounded(value)


def rounded(value: float) -> float:
    """A number with DIGITS significant digits."""
    return float(f"{value:.{DIGITS}g}")


def bounds(axis: Axis) -> tuple[float, float]:
    """Ends of the range of an axis."""
    assert axis.low is not None and axis.high is not None
    return axis.low, axis.high


DRAWN = ("finished", "core_occupancy", "wait_p50", "share_deviation")
"""Figures that are drawn unless others are asked for."""
MOST_LINES = 8
"""Values of a second setting that have a curve each; more are drawn as a map."""
EFFECT = ("Means over all other settings. Effect: largest less smallest mean, with its standard error and 95 % "
          "interval over pairs of runs with the same seed; the largest relative to the mean first. Extremes of many "
          "values are partly lucky.")

Check = Callable[[Scenario], None]


def sweep(study: SweepFile | Mapping[str, Any] | str | Path, out: str | Path | None = None,
          workers: Workers | int = LOCAL) -> pd.DataFrame:
    """Run a study file of a sweep, and return a row for each figure of each run: see `Study.results`.

    out: folder of the study, default results/<scenario>/<name of the file>. Raises StudyError, OutputError.
    """
    file, name = as_study(study, SweepFile, "sweep")
    return swept(file, out, as_workers(workers), name).results()


def swept(file: SweepFile, out: str | Path | None, workers: Workers, name: str, check: Check | None = None) -> Study:
    """The study of `sweep`, with all its points run."""
    scenario = base_scenario(file)
    points = list(numbered(combinations(file.vary, file.design, file.points), seeds_of(file.seeds)))
    refuse(file, scenario, points, file.figures, check)
    definition = {**asked_of(file, scenario), "design": file.design}
    return run_study(folder_of(out, scenario, name), Plan(
        "sweep", definition, points, (scenario,), file.figures), workers)


def numbered(settings: Iterable[Mapping[str, Any]], seeds: Iterable[int]) -> Iterator[Point]:
    """Points p0001, p0002, ... with each seed; equal settings are one point."""
    names: dict[str, str] = {}
    for one in settings:
        if (key := same(one)) not in names:
            names[key] = f"p{len(names) + 1:04d}"
            yield from (Point(names[key], seed, one) for seed in seeds)


def refuse(file: StudyFile, scenario: Scenario, points: list[Point], figures: Iterable[str],
           check: Check | None) -> None:
    """Raise StudyError for settings that cannot be used, and for figures that no run has."""
    origin = file.origin("figures")
    unknown = unknown_figures(tuple(figures), known_figures(scenario), origin.file, "figures")
    try:
        check_points(points, [scenario], file, check)
    except StudyError as error:
        raise StudyError([*error.problems, *unknown]) from None
    if unknown:
        raise StudyError(unknown)


def asked_of(file: StudyFile, scenario: Scenario) -> dict[str, Any]:
    """Definition of a study without seeds and figures, which may change between two calls."""
    return {"scenario": without_seed(scenario),
            "vary": {key: axis.model_dump(mode="json", by_alias=True) for key, axis in file.vary.items()}}


def folder_of(out: str | Path | None, scenario: Scenario, name: str) -> Path:
    """Folder of a study unless one is given."""
    return Path(out) if out is not None else Path("results") / folder_name(scenario.name) / folder_name(name)


def point_means(study: Study, results: pd.DataFrame, figures: tuple[str, ...] = ()) -> pd.DataFrame:
    """Means over the seeds of each point (see `figures.means`), with its settings."""
    table = means(results, figures)
    settings = {point.group: settings_columns(point) for point in study.plan}
    columns = pd.DataFrame([settings[group] for group in table.group], index=table.index)
    return pd.concat([table[["group"]], columns, table.drop(columns="group")], axis=1)


def marginal(results: pd.DataFrame, key: str, figure: str) -> pd.DataFrame:
    """Mean of a figure at each value of a setting, over all values of the others.

    Columns `key`, value, error, low, high, count. The other settings are averaged for each seed first, so the error is
    that over the seeds.
    """
    runs = _by_value(results, key, figure)
    return pd.DataFrame([{key: value, **bounded(student(runs[value]), most_of(figure)).columns()} for value in runs])


def _by_value(results: pd.DataFrame, key: str, figure: str) -> pd.DataFrame:
    """Means of a figure by seed (rows) and value of a setting (columns), over all values of the others."""
    part = results[results.figure == figure]
    means_by_value = part.groupby([key, "seed"], sort=False).value.mean().unstack(key)
    return means_by_value[list(dict.fromkeys(part[key]))]


def effects(results: pd.DataFrame, keys: Iterable[str], figures: Iterable[str]) -> pd.DataFrame:
    """Main effects: setting, figure, value (largest less smallest marginal mean) with error and 95 % interval, %, ends.

    The interval is that of pairs of runs with the same seed; percent: of the mean of all values.
    """
    rows = []
    for figure in figures:
        for key in keys:
            runs = _by_value(results, key, figure).dropna(axis=1, how="all")
            if runs.shape[1] > 1:
                averages = runs.mean()
                low, high = averages.idxmin(), averages.idxmax()
                effect, whole = paired(runs[low], runs[high]), abs(averages.mean())
                rows.append({"setting": key, "figure": figure, **effect.columns(),
                             "percent": 100 * effect.value / whole if whole else float("nan"),
                             "lowest": averages[low], "lowest_at": low, "highest": averages[high], "highest_at": high})
    columns = ["setting", "figure", "value", "error", "low", "high", "count", "percent", "lowest", "lowest_at",
               "highest", "highest_at"]
    return pd.DataFrame(rows, columns=columns).sort_values("percent", ascending=False, kind="stable")


def write_sweep_report(study: Study, file: SweepFile, steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write tables and report of a sweep and return the path of its page."""
    results = study.results()
    write_table(study.folder, "results", results)
    write_table(study.folder, "points", study.points())
    scenario = study.manifest["definition"]["scenario"]
    figures = tuple(dict.fromkeys(results.figure))
    shown = file.figures or headlines(figures)
    sections = [terms({"Scenario": scenario["name"], "Design": f"{file.design}, "
                       f"{len({point.group for point in study.plan})} points", "Seeds of each point": file.seeds,
                       **{f"Varied: {key}": described(axis) for key, axis in file.vary.items()},
                       **{f"Set: {key}": value for key, value in file.settings.items()}},
                      [*failed_notes(study), *without_value(results, shown)])]
    if len(results):
        table = point_means(study, results)
        write_table(study.folder, "means", table)
        drawn = file.figures or tuple(figure for figure in DRAWN if figure in figures)
        sections += [_main_effects(results, tuple(file.vary), shown, file.design), _extremes(study, table, file, shown),
                     *(_drawn(results, table, figure, file) for figure in drawn)]
    return write_study_page(study.folder, f"Sweep of {scenario['name']}", scenario["description"],
                            [*sections, runs_section(study)], steps)


def described(axis: Any) -> str:
    """An axis in words."""
    if axis.values is not None:
        return ", ".join(map(str, axis.values))
    return f"{axis.low:g} to {axis.high:g}" + (", logarithmic" if axis.scale == "log" else "")


def _main_effects(results: pd.DataFrame, keys: tuple[str, ...], figures: tuple[str, ...], design: str) -> Section:
    if design not in ("grid", "list"):
        return Section("effects", "Main effects", (_correlations(results, keys, figures),))
    table = effects(results, keys, figures)
    idle = [key for key in keys if (table.value[table.setting == key] == 0).all() and key in set(table.setting)]
    table = table[~table.setting.isin(idle)]
    table.insert(3, "unit", table.figure.map(results.groupby("figure").unit.first()))
    names = {"setting": "Setting", "figure": "Figure", "value": "Effect", "unit": "Unit", "error": "Error",
             "low": "Low", "high": "High", "count": "Seeds", "percent": "% of mean", "ends": "Means at the ends"}
    ends = [f"{number(row.lowest)} ({row.lowest_at}), {number(row.highest)} ({row.highest_at})"
            for row in table.itertuples()]
    shown = table.assign(figure=table.figure.map(label_of), ends=ends)[list(names)].rename(columns=names)
    blocks: list[Block] = [TableBlock("", shown, EFFECT, mixed=True)] if len(shown) else []
    blocks[:0] = [Note(f"{key} changed none of these figures: whatever its value, runs with the same seed agree.", True)
                  for key in idle]
    if design == "list" and len(keys) > 1:
        blocks.insert(0, Note("In a list all settings change together, so their effects cannot be separated.", True))
    return Section("effects", "Main effects", tuple(blocks))


def _correlations(results: pd.DataFrame, keys: tuple[str, ...], figures: tuple[str, ...]) -> TableBlock:
    """Rank correlation of each figure with each numeric setting over the points."""
    rows = []
    for figure in figures:
        one = results[results.figure == figure].groupby("group", sort=False).agg(
            {**dict.fromkeys(keys, "first"), "value": "mean"})
        for key in keys:
            places = pd.to_numeric(one[key], errors="coerce")
            if places.notna().all() and places.nunique() > 2 and one.value.nunique() > 2:
                rows.append((key, label_of(figure), places.rank().corr(one.value.rank()), len(one)))
    table = pd.DataFrame(rows, columns=["Setting", "Figure", "Rank correlation", "Points"])
    return TableBlock("", table, "Spearman's correlation over the points, of means over the seeds; a sample of 16 "
                      "points without any dependence exceeds 0.5 in size in 5 %.", mixed=True)


def extremes(table: pd.DataFrame, figures: Iterable[str], keys: Iterable[str]) -> pd.DataFrame:
    """Rows of `point_means` with the smallest and the largest mean of each figure, in the column `end`.

    One row, of all points and any values of the keys, if the means of all points are equal.
    """
    rows = []
    for figure in figures:
        one = table[(table.figure == figure) & table.value.notna()]
        if len(one) > 1 and one.value.nunique() == 1:
            rows.append(one.iloc[0].to_dict() | {"end": "equal", "group": "all", **dict.fromkeys(keys, "any")})
            continue
        rows += [one.loc[getattr(one.value, place)()].to_dict() | {"end": end} for end, place in (
            ("smallest", "idxmin"), ("largest", "idxmax")) if len(one)]
    return pd.DataFrame(rows, columns=[*table.columns, "end"])


def _extremes(study: Study, table: pd.DataFrame, file: SweepFile, figures: tuple[str, ...]) -> Section:
    """Points with the smallest and the largest mean of each figure, and their keys of gdpconfig."""
    ends = extremes(table, figures, file.vary)
    rows = [{"Figure": label_of(best["figure"]), "": best["end"], "Mean": best["value"], "Low": best["low"],
             "High": best["high"], "Unit": best["unit"], "Point": best["group"],
             **{key: str(best[key]) for key in file.vary}}
            for best in ends.to_dict("records")]
    return Section("extremes", "Best and worst points", (TableBlock("", pd.DataFrame(rows), "Means over the seeds with "
                   "their 95 % intervals. The best of many points is partly lucky: confirm it with other seeds.",
                   mixed=True), *_to_paste(study, ends, file)))


def _to_paste(study: Study, ends: pd.DataFrame, file: SweepFile) -> Iterator[Block]:
    """Keys of gdpconfig of the best and worst points, as rows of its table."""
    settings = {point.group: point.settings for point in study.plan}
    for group in ends.group[ends.end != "equal"].unique():
        yield from gdpconfig_lines({**file.settings, **settings[group]}, f"point {group}")


def _drawn(results: pd.DataFrame, table: pd.DataFrame, figure: str, file: SweepFile) -> Section:
    """Plots of one figure: curves and maps of a grid, points of a sample."""
    one = table[table.figure == figure].dropna(subset="value")
    if not len(one):
        return Section(folder_name(figure), label_of(figure), (Note("No point has this figure."),))
    label, keys = with_unit(figure, one.unit.iloc[0]), list(file.vary)
    if file.design == "grid":
        plots = list(_of_grid(results, one, figure, label, keys))
    else:
        plots = [_plot(f"{figure}-{key}", f"{label_of(figure)} over {key}", one, "scattered", x=key, ylabel=label)
                 for key in keys]
    return Section(folder_name(figure), label_of(figure), tuple(plots))


def _of_grid(results: pd.DataFrame, one: pd.DataFrame, figure: str, label: str, keys: list[str]) -> Iterator[Plot]:
    if len(keys) == 2 and one[keys[1]].nunique() <= MOST_LINES:
        lines = one.assign(line=[f"{keys[1]} = {_short(value)}" for value in one[keys[1]]])
        yield _plot(f"{figure}-curves", f"{label_of(figure)} over {keys[0]}", lines, "response", x=keys[0],
                    ylabel=label)
    if len(keys) != 2:
        for key in keys:
            curve = marginal(results, key, figure).assign(line="")
            yield _plot(f"{figure}-{key}", f"{label_of(figure)} over {key}", curve, "response", x=key, ylabel=label)
    for k, first in enumerate(keys):
        for second in keys[k + 1:]:
            runs = results[results.figure == figure].groupby([first, second, "seed"], sort=False).value.mean()
            cells = pd.DataFrame([{first: at, second: other, **bounded(student(part), most_of(figure)).columns()}
                                  for (at, other), part in runs.groupby([first, second], sort=False)])
            yield _plot(f"{figure}-{first}-{second}", f"{label_of(figure)} over {first} and {second}",
                        cells.dropna(subset="value"), "heat_map", x=first, y=second, label=label)


def _plot(name: str, title: str, table: pd.DataFrame, draw: str, **options: str) -> Plot:
    reading = {"response": "Mean over the seeds and all settings that are not shown; bars: 95 % interval.",
               "scattered": "Each point: mean over the seeds with its 95 % interval; the other settings vary too.",
               "heat_map": "Mean over the seeds and all other settings, ± half the width of the 95 % interval."}[draw]
    return Plot(folder_name(name), title, table, drawn_by(f"studies.{draw}", **options), reading,
                (10, 4.6 if draw == "heat_map" else 3.8))


def _short(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
