"""`compare`: groups of runs against the first of them, with intervals of paired differences."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, StudyError, nearest, wrong_type
from simgrid_broker.experiments.figures import (
    differences,
    figures,
    headlines,
    known_figures,
    means,
    unknown_figures,
    without_value,
)
from simgrid_broker.experiments.pages import (
    in_percent,
    label_of,
    means_block,
    terms,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.replicate import MOST_SERIES, series_plots, without_seed
from simgrid_broker.experiments.running import LOCAL, Plan, Workers, as_workers, check_points, run_study
from simgrid_broker.experiments.study import FILE, Point, Study, folder_name, read_study
from simgrid_broker.experiments.study_file import seeds_of
from simgrid_broker.records import Run, read_run
from simgrid_broker.records.manifest import MANIFEST
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by, plot_or_note
from simgrid_broker.report.comparison import first_jobs_block, settings_of
from simgrid_broker.report.settings import ABSENT, differing, differing_names
from simgrid_broker.report.words import number
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.scenario.loading.documents import located


@dataclass(frozen=True)
class Group:
    """Runs that are to differ in their seeds only."""

    name: str
    runs: tuple[Run, ...]

    def results(self) -> pd.DataFrame:
        """A row for each figure of each run: group, seed, figure, value, unit, window."""
        return pd.concat([figures(run).assign(group=self.name, seed=run.manifest["seed"]) for run in self.runs],
                         ignore_index=True)[["group", "seed", "figure", "value", "unit", "window"]]

    def seeds(self) -> list[int]:
        """The seeds of the runs, ascending, each once."""
        return sorted({run.manifest["seed"] for run in self.runs})

    def mixed(self) -> list[str]:
        """Dotted keys of settings, other than the seed, in which its runs differ."""
        first = settings_of(self.runs[0])
        return list(dict.fromkeys(key for run in self.runs[1:] for key, *_ in differing(first, settings_of(run))
                                  if key != "seed"))


def recorded(folder: Path) -> list[tuple[str, tuple[Run, ...]]]:
    """Groups in a folder, each with a name to add to that of the folder: one run, the groups of a study, or all runs
    below it. Raises InputFileError if there are none.
    """
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        return [("", (read_run(folder),))]
    if (folder / FILE).is_file():
        return of_study(read_study(folder))
    below = sorted({path.parent for depth in ("*/", "*/*/") for path in folder.glob(depth + MANIFEST)})
    return [("", tuple(read_run(path) for path in below) if below else (read_run(folder),))]


def of_study(study: Study) -> list[tuple[str, tuple[Run, ...]]]:
    """The finished runs of a study by its groups."""
    by_group: dict[str, list[Run]] = {}
    for point in study.finished():
        by_group.setdefault(point.group, []).append(study.run(point))
    return [(name if len(by_group) > 1 else "", tuple(runs)) for name, runs in by_group.items()]


def setting_table(groups: Sequence[Group]) -> pd.DataFrame:
    """Settings in which groups differ from the first: key, and the value of each group."""
    first, rows = settings_of(groups[0].runs[0]), dict[str, dict[str, Any]]()
    for group in groups[1:]:
        for key, base, other in differing(first, settings_of(group.runs[0])):
            if key != "seed":
                rows.setdefault(key, {groups[0].name: base})[group.name] = other
    for key, values in rows.items():
        for group in groups[1:]:
            values.setdefault(group.name, values[groups[0].name])
        rows[key] = {"key": key, **values}
    return pd.DataFrame(rows.values(), columns=["key", *(group.name for group in groups)]).fillna(ABSENT)


def scenario_names(groups: Sequence[Group]) -> list[str]:
    """Names of the scenarios of the groups, each once."""
    return list(dict.fromkeys(run.manifest["scenario"]["name"] for group in groups for run in group.runs))


MOST_PAIRS = 4
"""Groups of which a page shows the jobs that differ first, the base included."""
MOST_SETTINGS = 60
"""Differing settings that a page lists; the others are counted."""
READING = ("Difference from {base}, with its standard error and 95 % interval. Real: such a difference by chance has a "
           "probability below 5 %, corrected for all rows together (Holm). Seeds needed: pairs of runs with which four "
           "of five studies would find a difference of this size real (∞: no number within reason). Pairs: runs of the "
           "same seed are compared; otherwise the means of both groups.")

Thing = Scenario | Run | Sequence[Run] | str | Path


def compare(*things: Thing, seeds: int | str | Iterable[int] = 10, out: str | Path | None = None,
            workers: Workers | int = LOCAL, figures: Iterable[str] = ()) -> pd.DataFrame:
    """Differences of scenarios, runs or groups of runs from the first of them: see `figures.differences`.

    things: a Scenario or the path of one, which is run with the seeds; a Run, its folder, or a folder or sequence of
    runs. Figures: default: the headlines. Raises StudyError, InputFileError, OutputError.
    """
    chosen = (figures,) if isinstance(figures, str) else tuple(figures)
    for thing in things:
        if not isinstance(thing, Scenario | Run | str | Path | Sequence):
            raise wrong_type("compare", "scenarios, runs, their paths, or lists of runs", thing)
    groups, _ = grouped(things, seeds, out, as_workers(workers), load_scenario, chosen)
    results = all_results(groups)
    return differences(results, groups[0].name, chosen_figures(results, chosen))


def grouped(things: Sequence[Thing], seeds: int | str | Iterable[int], out: str | Path | None, workers: Workers,
            load: Callable[[Path], Scenario], figures: tuple[str, ...] = ()) -> tuple[list[Group], Study | None]:
    """The groups to compare, and the study in which scenarios among them were run.

    Raises StudyError before anything runs, also for figures that no run of the scenarios has, and InputFileError for
    a path at which there is nothing.
    """
    if not things:
        raise StudyError([Problem(None, None, "", None, "name at least two scenarios, runs or folders of runs")])
    loaded: list[Thing] = [load(Path(thing)) if isinstance(thing, (str, Path)) and located(thing).is_file() else thing
                           for thing in things]
    scenarios = [thing for thing in loaded if isinstance(thing, Scenario)]
    of_runs = tuple(dict.fromkeys(name for scenario in scenarios for name in known_figures(scenario)))
    if scenarios and (problems := unknown_figures(figures, of_runs, None, "--figure")):
        raise StudyError(problems)
    names = _names(things, loaded)
    of_folders = [() if isinstance(thing, Scenario) else _runs(thing) for thing in loaded]
    study = _run(scenarios, [name for name, thing in zip(names, loaded, strict=True) if isinstance(thing, Scenario)],
                 seeds, out, workers, figures) if scenarios else None
    ran = dict(_by_group(study)) if study is not None else {}
    groups = []
    for name, thing, parts in zip(names, loaded, of_folders, strict=True):
        if isinstance(thing, Scenario):
            groups += [Group(name, ran[folder_name(name)])] if folder_name(name) in ran else []
        else:
            groups += [Group(" ".join(filter(None, (name, part))), runs) for part, runs in parts]
    if len(groups) < 2:
        raise StudyError([Problem(None, None, "", None, "there are no two groups of finished runs to compare")])
    return groups, study


def all_results(groups: Sequence[Group]) -> pd.DataFrame:
    """Figures of all runs of all groups."""
    return pd.concat([group.results() for group in groups], ignore_index=True)


def chosen_figures(results: pd.DataFrame, figures: tuple[str, ...]) -> tuple[str, ...]:
    """The figures to compare; raises StudyError for one that no run has."""
    names = tuple(dict.fromkeys(results.figure))
    if problems := unknown_figures(figures, names, None, "--figure"):
        raise StudyError(problems)
    return figures or headlines(names)


def remarks_on(groups: Sequence[Group], table: pd.DataFrame, figures: tuple[str, ...] = ()) -> list[str]:
    """Remarks to read before the differences of some figures (default: the headlines): other scenarios, mixed groups,
    single runs, no pairs, runs and groups without a value.
    """
    names = scenario_names(groups)
    remarks = [f"The runs are of different scenarios, {', '.join(names)}: differences are those of all that differs "
               "between these, not of one setting."] if len(names) > 1 else []
    remarks += [f"The runs of {group.name} differ in more than the seed ({', '.join(mixed[:3])}"
                f"{', ...' if len(mixed) > 3 else ''}): their mean is that of a mixture."
                for group in groups if (mixed := group.mixed())]
    if any(len(group.runs) < 2 for group in groups):
        remarks.append("A group has one run, so its differences have no intervals; replicate it with several seeds.")
    if unsettled := _unsettled(table):
        remarks.append(unsettled)
    if all(len(group.runs) > 1 for group in groups) and not table.is_paired.any():
        remarks.append("The groups have fewer than two seeds in common, so means are compared instead of pairs, which "
                       "takes more runs.")
    compared = tuple(dict.fromkeys(table.figure))
    results = all_results(groups)
    if missing := [name for name in chosen_figures(results, figures) if name not in compared]:
        remarks.append(f"{', '.join(missing[:3])}{f' and {len(missing) - 3} more' if len(missing) > 3 else ''}: not "
                       "compared, because no run of a group has a value.")
    return remarks + (without_value(results, compared) if compared else [])


def _unsettled(table: pd.DataFrame) -> str:
    """Says why differences whose intervals exclude 0 are not real; empty without any."""
    names = table.figure[((table.low > 0) | (table.high < 0)) & ~table.is_real]
    if not len(names):
        return ""
    shown = ", ".join(names.iloc[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (f"The intervals of {shown} exclude 0 and the differences are not called real: {table.chance.notna().sum()} "
            "differences are tested at once, of which one in twenty excludes 0 by luck, so Holm's correction asks more "
            "of each. Name the figures that matter with --figure, or add seeds.")


def write_groups_report(groups: Sequence[Group], folder: Path, figures: tuple[str, ...] = (),
                        steps: Callable[[Iterable], Iterable] = iter) -> tuple[Path, pd.DataFrame]:
    """Write tables and report of a comparison into `folder`; the path of the page, and the differences."""
    results = all_results(groups)
    shown, base = chosen_figures(results, figures), groups[0].name
    table, averages = differences(results, base, shown), means(results, shown)
    for name, rows in (("results", results), ("differences", table), ("means", averages)):
        write_table(folder, name, rows)
    about = {f"Group {k + 1}{', the base' if k == 0 else ''}": f"{group.name}: {len(group.runs)} runs, seeds "
             + ", ".join(map(str, group.seeds())) for k, group in enumerate(groups)}
    sections = [terms(about, remarks_on(groups, table, figures)), _settings(groups), _differences(table, base),
                Section("means", "Means", (means_block(averages, ""),)), *_first(groups), _curves(groups)]
    lead = " against ".join(group.name for group in reversed(groups))
    return write_study_page(folder, "Comparison of groups of runs", lead, sections, steps), table


def _names(things: Sequence[Thing], loaded: Sequence[Thing]) -> list[str]:
    """Names of the groups: of scenarios if these differ, of folders by the parts that differ."""
    scenarios = [thing.name for thing in loaded if isinstance(thing, Scenario)]
    if len(scenarios) == len(loaded) == len(set(scenarios)):
        return scenarios
    paths = [Path(thing) if isinstance(thing, (str, Path)) else _place(one)
             for thing, one in zip(things, loaded, strict=True)]
    return differing_names(paths)


def _place(thing: Thing) -> Path:
    """Something like a path for what was given as an object."""
    if isinstance(thing, Scenario):
        return Path(thing.name)
    if isinstance(thing, (str, Path)):
        return Path(thing)
    return (thing if isinstance(thing, Run) else thing[0]).folder


def _runs(thing: Thing) -> list[tuple[str, tuple[Run, ...]]]:
    if isinstance(thing, Run):
        return [("", (thing,))]
    if isinstance(thing, (str, Path)):
        if not Path(thing).exists():
            near = Path(thing).parent
            folders = sorted(str(path) for path in near.iterdir()) if near.is_dir() else []
            raise InputFileError([Problem(str(thing), None, "", None, "is neither a scenario nor a folder of runs",
                                          nearest(str(thing), folders))])
        return recorded(Path(thing))
    assert not isinstance(thing, Scenario)
    return [("", tuple(thing))]


def _run(scenarios: Sequence[Scenario], names: Sequence[str], seeds: int | str | Iterable[int], out: str | Path | None,
         workers: Workers, figures: tuple[str, ...]) -> Study:
    """Run scenarios with the same seeds."""
    points = [Point(folder_name(name), seed, {}, k) for k, name in enumerate(names) for seed in seeds_of(seeds)]
    check_points(points, scenarios)
    folder = Path(out) if out is not None else Path("results") / folder_name("-against-".join(reversed(names)))
    definition = {"scenarios": {name: without_seed(scenario) for name, scenario in zip(names, scenarios, strict=True)}}
    return run_study(folder, Plan("compare", definition, points, scenarios, figures), workers)


def _by_group(study: Study) -> list[tuple[str, tuple[Run, ...]]]:
    """As `of_study`, with the name of the group even if it is alone."""
    alone = study.plan[0].group
    return [(name or alone, runs) for name, runs in of_study(study)]


def _settings(groups: Sequence[Group]) -> Section:
    table = setting_table(groups)
    more = len(table) - MOST_SETTINGS
    block: Block = TableBlock("", table.head(MOST_SETTINGS), f"{more} more differ." if more > 0 else "")
    return Section("settings", "Settings that differ", (block if len(table) else Note("No setting differs."),))


def _differences(table: pd.DataFrame, base: str) -> Section:
    """Forest plot and table of differences."""
    drawn = pd.DataFrame({"name": table.figure.map(label_of), "group": table.group, "is_real": table.is_real, **{
        name: in_percent(table[column], table.base)
        for name, column in (("value", "difference"), ("low", "low"), ("high", "high"))}}).dropna(subset="value")
    size = (10, 1.2 + (0.2 + 0.16 * max(table.group.nunique(), 1)) * max(drawn.name.nunique(), 3))
    plot = plot_or_note(Plot("differences", f"Differences from {base}", drawn, drawn_by(
        "studies.forest", xlabel=f"difference, % of {base}"),
        "Mark: mean difference; line: its 95 % interval; filled: real after correction for all rows. Figures that are "
        f"0 in {base} are not drawn.", size), "no figure has a difference.")
    return Section("differences", "Which differences are real", (plot, TableBlock(
        "", difference_rows(table), READING.format(base=base), mixed=True)))


def difference_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Differences as a page and a terminal show them."""
    rows = table.assign(figure=table.figure.map(label_of), real=table.is_real.map({True: "yes", False: "no"}),
                        pairs=table.is_paired.map({True: "pairs", False: "means"}),
                        needed=[number(value) for value in table.seeds_needed])
    names = {"figure": "Figure", "base": "Base", "changed": "Value", "difference": "Difference", "error": "Error",
             "low": "Low", "high": "High", "corrected": "Corrected probability", "real": "Real",
             "needed": "Seeds needed", "count": "Runs", "pairs": "Of", "unit": "Unit", "window": "Window"}
    groups = ["group"] if table.group.nunique() > 1 else []
    return rows[[*groups, *names]].rename(columns=names)


def _first(groups: Sequence[Group]) -> Iterator[Section]:
    """Jobs with which the first pair of runs of each group begins to differ."""
    for group in groups[1:MOST_PAIRS]:
        pairs = [(base, run) for base in groups[0].runs for run in group.runs
                 if base.manifest["seed"] == run.manifest["seed"]]
        if pairs:
            seed, name = pairs[0][0].manifest["seed"], f"A: {groups[0].name}, B: {group.name}"
            yield Section(folder_name(f"first-{group.name}"), f"Jobs that differ first, seed {seed}",
                          (Note(name), first_jobs_block(*pairs[0])))


def _curves(groups: Sequence[Group]) -> Section:
    runs = [(group.name, run) for group in groups for run in group.runs[:MOST_SERIES]]
    return Section("curves", "Cores and jobs over time", series_plots(runs))
