"""`replicate`: one scenario with several seeds, and its figures with their errors."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.editions import edition_of
from simgrid_broker.errors import StudyError
from simgrid_broker.experiments.figures import headlines, known_figures, means, unknown_figures, without_value
from simgrid_broker.experiments.intervals import bounded, steadiness, student
from simgrid_broker.experiments.pages import (
    failed_notes,
    in_percent,
    label_of,
    means_block,
    runs_section,
    terms,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.running import LOCAL, Plan, Workers, as_workers, check_points, run_study
from simgrid_broker.experiments.study import Point, Study, folder_name
from simgrid_broker.experiments.study_file import seeds_of
from simgrid_broker.records import Run
from simgrid_broker.report.blocks import NO_MARKS, Block, Marks, Plot, Section, TableBlock, drawn_by, plot_or_note
from simgrid_broker.scenario import Scenario, as_scenario
from simgrid_broker.units import HOUR

SERIES = (("running_cores", "running_cores", "Running cores", "running cores"),
          ("queued_jobs", "queued", "Queued jobs", "queued jobs"))
"""Name, column of the samples, title and label of each series."""


def bands(runs: Iterable[tuple[str, Run]], column: str) -> pd.DataFrame:
    """Mean of a column of `metrics.totals_over_time` over the runs of each group with Student's 95 % interval.

    Columns group, time_s, value, low, high, count. Runs of a group are sampled at the same times; times that
    only some of them have are averaged over these.
    """
    tables = [metrics.totals_over_time(run, column)[column].rename("value").reset_index().assign(group=group)
              for group, run in runs]
    rows = [{"group": group, "time_s": time_s, **bounded(student(part.value)).columns()}
            for (group, time_s), part in pd.concat(tables).groupby(["group", "time_s"], sort=False)]
    table = pd.DataFrame(rows).drop(columns="error")
    alone = table["count"] < 2
    table[["low", "high"]] = table[["low", "high"]].where(~alone, np.nan)
    return table


MOST_SERIES = 20
"""Runs of a group whose series are averaged; more would take longer than the report deserves."""
WARM_UP = ("MSER-5: beginning of each run that its means should leave out; runs that still drift in their second half "
           "do not settle, and are too short to say. Independent batches: the means of 20 batches of the window are "
           "not correlated, so the error of a single run's mean can be estimated.")


def replicate(scenario: Scenario | str | Path, seeds: int | str | Iterable[int] = 20, out: str | Path | None = None,
              workers: Workers | int = LOCAL, figures: Iterable[str] = ()) -> pd.DataFrame:
    """Run a scenario with several seeds, and return the means of its figures: see `figures.means`.

    seeds: a number (3 = 1 to 3), a range (`5-9`) or a list; out: folder of the study, default
    results/<scenario>/replicate, in which finished runs are kept and not repeated; figures: those that the report
    shows, default: the headlines. Raises StudyError, OutputError.
    """
    chosen = (figures,) if isinstance(figures, str) else tuple(figures)
    study = replicated(as_scenario(scenario, "replicate: scenario"), seeds, out, as_workers(workers), chosen)
    return means(study.results())


def replicated(scenario: Scenario, seeds: int | str | Iterable[int], out: str | Path | None, workers: Workers,
               figures: tuple[str, ...] = ()) -> Study:
    """The study of `replicate`, with all its points run."""
    name = folder_name(scenario.name)
    points = [Point(name, seed) for seed in seeds_of(seeds)]
    if problems := unknown_figures(figures, known_figures(scenario), None, "--figure"):
        raise StudyError(problems)
    check_points(points, [scenario])
    folder = Path(out) if out is not None else Path("results") / name / "replicate"
    plan = Plan("replicate", {"scenario": without_seed(scenario)}, points, (scenario,), figures)
    return run_study(folder, plan, workers)


def without_seed(scenario: Scenario) -> dict:
    """All values of a scenario but its seed, which every point has of its own."""
    return {key: value for key, value in scenario.to_dict().items() if key != "seed"}


def write_replicate_report(study: Study, figures: Iterable[str] = (),
                           steps: Callable[[Iterable], Iterable] = iter) -> Path:
    """Write tables and report of a study of one scenario and return the path of its page."""
    results = study.results()
    table = means(results)
    write_table(study.folder, "results", results)
    write_table(study.folder, "means", table)
    shown = tuple(figures) or headlines(tuple(dict.fromkeys(results.figure)))
    scenario = study.manifest["definition"]["scenario"]
    seeds = sorted(point.seed for point in study.plan)
    sections = [terms({"Scenario": scenario["name"], "Description": scenario["description"],
                       "Edition": edition_of(scenario["edition"]).name, "Seeds": _listed(seeds),
                       "Finished runs": len(study.finished())},
                      [*failed_notes(study), *without_value(results, shown)])]
    if len(results):
        sections += [_figures(results, table, shown), _series(study), _steadiness(study)]
    return write_study_page(study.folder, f"{scenario['name']}: {len(seeds)} seeds", scenario["description"],
                            [*sections, runs_section(study)], steps)


def _listed(seeds: list[int]) -> str:
    whole = seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole and len(seeds) > 1 else ", ".join(map(str, seeds))


def _figures(results: pd.DataFrame, table: pd.DataFrame, shown: tuple[str, ...]) -> Section:
    """Dots of all runs with the intervals of their means, and the means in figures."""
    runs = results[results.figure.isin(shown)].merge(
        table[["figure", "value", "low", "high"]].rename(columns={"value": "mean"}), on="figure")
    drawn = pd.DataFrame({"name": runs.figure.map(label_of), **{
        column: in_percent(runs[column], runs["mean"]) for column in ("value", "low", "high")}}).dropna(subset="value")
    blocks: list[Block] = [plot_or_note(Plot(
        "spread", "Spread of the figures over the seeds", drawn, drawn_by("studies.spread_of_runs"),
        "Each dot is a run, in % of the mean over the seeds; the bar is the 95 % interval of the mean. Figures whose "
        "mean is 0 are not drawn.", (10, 1.2 + 0.3 * max(drawn.name.nunique(), 3))), "no figure has a mean.")]
    return Section("figures", "Figures with their errors", (*blocks, means_block(table[table.figure.isin(shown)])))


def _series(study: Study) -> Section:
    points = study.finished()[:MOST_SERIES]
    runs = [(point.group, study.run(point)) for point in points]
    return Section("curves", "Cores and jobs over time", series_plots(runs))


def series_plots(runs: list, marks: Marks = NO_MARKS) -> tuple[Block, ...]:
    """Series averaged over the runs of each group, with bands."""
    blocks = []
    for name, column, title, label in SERIES:
        blocks.append(plot_or_note(Plot(
            name, title, bands(runs, column), drawn_by("studies.bands", ylabel=label, marks=marks),
            "Mean over the runs of each group; band: 95 % interval of the mean at each time.", (10, 3.4)),
            "there is no sample."))
    return tuple(blocks)


def _steadiness(study: Study) -> Section:
    table = pd.concat([steadiness(study.run(point)).assign(seed=point.seed) for point in study.finished()])
    rows = table.groupby("series", sort=False).agg(
        runs=("seed", "size"), settled=("suggested_s", "count"), suggested_h=("suggested_s", _median_hours),
        largest_h=("suggested_s", _longest_hours), warm_up_h=("warm_up_s", _longest_hours),
        independent=("independent", "sum")).reset_index()
    rows["series"] = rows.series.map({"activated": "Activated jobs", "running_cores": "Running cores"})
    names = {"series": "Series", "runs": "Runs", "settled": "Runs that settle", "suggested_h": "MSER-5, median, h",
             "largest_h": "MSER-5, largest, h", "warm_up_h": "Warm-up of the scenario, h",
             "independent": "Runs with independent batches"}
    return Section("warm_up", "Warm-up", (TableBlock("", rows.rename(columns=names), WARM_UP, mixed=True),))


def _median_hours(seconds: pd.Series) -> float:
    return seconds.median() / HOUR


def _longest_hours(seconds: pd.Series) -> float:
    return seconds.max() / HOUR
