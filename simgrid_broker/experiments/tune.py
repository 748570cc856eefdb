"""`tune`: settings that make figures small or large within constraints, found by Optuna, confirmed on fresh seeds."""

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import optuna
import pandas as pd
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial, TrialState

from simgrid_broker.errors import Problem, StudyError
from simgrid_broker.experiments.compare import READING, difference_rows
from simgrid_broker.experiments.figures import differences, headlines, known_figures, means
from simgrid_broker.experiments.pages import (
    failed_notes,
    label_of,
    runs_section,
    terms,
    with_unit,
    write_study_page,
    write_table,
)
from simgrid_broker.experiments.running import (
    LOCAL,
    Common,
    Plan,
    Progress,
    Workers,
    as_workers,
    run_on,
    started,
    unfinished,
)
from simgrid_broker.experiments.study import DONE, Point, Study, begin, refuse_changes, state_of
from simgrid_broker.experiments.study_file import Axis, TuneFile, as_study, base_scenario, seeds_of
from simgrid_broker.experiments.sweep import (
    Check,
    asked_of,
    bounds,
    combinations,
    described,
    folder_of,
    levels,
    refuse,
    rounded,
)
from simgrid_broker.gdpconfig import Match, find
from simgrid_broker.notebook import watcher
from simgrid_broker.records import write_whole
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by
from simgrid_broker.report.settings import gdpconfig_lines
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.loading.origins import value_at as value_in
from simgrid_broker.scenario.loading.set_values import located, spread

DATABASE = "optuna.sqlite"
"""File in the folder of the study with its trials, which Optuna's own tools read."""
TODAY, LUCK = "today", 1
"""Name of the point with the settings of the scenario, and seed of the first search."""
STARTUP = 10
"""Trials at even places before the search learns from those that ended."""

Evaluate = Callable[[Sequence[tuple[str, Mapping[str, Any]]]], Sequence[Mapping[str, float] | None]]
"""Means of the figures of points, given by name and settings; None for one that failed."""


class Tuned(NamedTuple):
    """A tuned study: on disk, the trials, and the trial that wins, None if none keeps the constraints."""

    study: Study
    trials: pd.DataFrame
    winner: str | None


def tune(study: TuneFile | Mapping[str, Any] | str | Path, out: str | Path | None = None,
         workers: Workers | int = LOCAL) -> pd.DataFrame:
    """Run a study file of a search, and return its trials: see `trials_table`.

    out: folder of the study, default results/<scenario>/<name of the file>. Raises StudyError, OutputError.
    """
    file, name = as_study(study, TuneFile, "tune")
    return tuned(file, out, as_workers(workers), name).trials


def tuned(file: TuneFile, out: str | Path | None, workers: Workers, name: str, check: Check | None = None) -> Tuned:
    """The study of `tune`: trials, then today's settings and the winner with fresh seeds."""
    scenario = base_scenario(file)
    wanted = (*file.objectives, *file.constraints)
    refuse(file, scenario, _corners(file), wanted, check)
    folder = folder_of(out, scenario, name)
    definition = {**asked_of(file, scenario), "objectives": file.objectives, "seeds": file.seeds,
                  "constraints": {key: limit.model_dump() for key, limit in file.constraints.items()}}
    refuse_changes(folder, "tune", definition)
    with started(workers) as cluster:
        begin(folder, "tune", definition, ())
        runner = _Runner(folder, Plan("tune", definition, (), (scenario,)), file, workers, cluster)
        runner.ended = len(runner.seeds) * sum(
            trial.state.is_finished() for trial in open_search(file, folder / DATABASE).trials)
        search = optimise(file, folder / DATABASE, runner.means_of, max(cluster.n_workers // len(runner.seeds), 1))
        winner = best_of(file, search)
        confirm = seeds_of(file.confirm)
        points = [Point(TODAY, seed) for seed in confirm]
        if winner is not None:
            points += [Point(_name(winner), seed, settings_of(file, winner)) for seed in confirm]
        runner.run(points)
    return Tuned(Study(folder), trials_table(file, search), None if winner is None else _name(winner))


def optimise(file: TuneFile, database: Path, evaluate: Evaluate, at_once: int = 1) -> optuna.Study:
    """Ask Optuna for points and evaluate them, `at_once` at a time, until the database has the trials of the study.

    Trials that were interrupted are evaluated first; those that failed count, so a search always ends.
    """
    search = open_search(file, database)
    while True:
        waiting = list(search.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))[:at_once]
        ended = len(search.trials) - len(search.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))
        batch: list[FrozenTrial] = list(waiting)
        while len(batch) < min(at_once, file.trials - ended):
            batch.append(_asked(file, search))
        if not batch:
            return search
        means = evaluate([(_name(one), settings_of(file, one)) for one in batch])
        for trial, figures in zip(batch, means, strict=True):
            _record(file, search, trial, figures)


def open_search(file: TuneFile, database: Path) -> optuna.Study:
    """The search in a database, made if there is none."""
    optuna.logging.set_verbosity(logging.ERROR)
    storage = optuna.storages.RDBStorage(f"sqlite:///{Path(database).resolve()}")
    directions = list(file.objectives.values())
    search = optuna.create_study(storage=storage, study_name="tune", load_if_exists=True,
                                 directions=["minimize" if one == "minimise" else "maximize" for one in directions])
    search.sampler = optuna.samplers.TPESampler(
        n_startup_trials=STARTUP, seed=LUCK + len(search.trials), constant_liar=True)
    return search


def best_of(file: TuneFile, search: optuna.Study) -> FrozenTrial | None:
    """The best trial that keeps the constraints; of several objectives that of the Pareto front closest to the ideal.

    Closest: smallest sum of squares of the losses to the best of the front, each over its range on the front.
    """
    front = front_of(file, search)
    if not front:
        return None
    signs = [1 if direction == "minimise" else -1 for direction in file.objectives.values()]
    losses = [[sign * value for sign, value in zip(signs, trial.values, strict=True)] for trial in front]
    low, high = ([pick(column) for column in zip(*losses, strict=True)] for pick in (min, max))
    return min(zip(front, losses, strict=True), key=lambda pair: sum(
        ((loss - best) / (worst - best)) ** 2 for loss, best, worst in zip(pair[1], low, high, strict=True)
        if worst > best))[0]


def front_of(file: TuneFile, search: optuna.Study) -> list[FrozenTrial]:
    """The trials within the constraints that no other one beats in all objectives."""
    kept = [trial for trial in search.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)) if is_feasible(trial)]
    signs = [1 if direction == "minimise" else -1 for direction in file.objectives.values()]
    losses = [[sign * value for sign, value in zip(signs, trial.values, strict=True)] for trial in kept]
    return [trial for trial, mine in zip(kept, losses, strict=True) if not any(
        other != mine and all(b <= a for a, b in zip(mine, other, strict=True)) for other in losses)]


def is_feasible(trial: FrozenTrial) -> bool:
    """True if a trial keeps all constraints."""
    return all(excess <= 0 for excess in trial.constraints.values())


def trials_table(file: TuneFile, search: optuna.Study) -> pd.DataFrame:
    """A row for each trial: trial, state, settings, objectives, constraints, feasible, on_front."""
    front = {trial.number for trial in front_of(file, search)}
    rows = []
    for trial in search.get_trials(deepcopy=False):
        figures = trial.user_attrs.get("figures", {})
        rows.append({"trial": _name(trial), "state": trial.state.name.lower(), **settings_of(file, trial),
                     **{name: figures.get(name, math.nan) for name in (*file.objectives, *file.constraints)},
                     "feasible": trial.state == TrialState.COMPLETE and is_feasible(trial),
                     "on_front": trial.number in front})
    return pd.DataFrame(rows)


def importance(file: TuneFile, search: optuna.Study) -> pd.DataFrame:
    """Importance of each setting for each objective, parts of 1, by PED-ANOVA: objective, setting, importance.

    Empty for fewer than STARTUP ended trials. Source: Watanabe, Bansal and Hutter, IJCAI 2023, 4389.
    """
    ended = search.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    rows = []
    for k, (objective, way) in enumerate(file.objectives.items()):
        if len(ended) >= STARTUP and len({trial.values[k] for trial in ended}) > 1:
            loss = partial(_loss, place=k, sign=1 if way == "minimise" else -1)
            with catch_warnings():
                simplefilter("ignore")                      # it warns that small values count as good, as these do
                parts = get_param_importances(search, evaluator=PedAnovaImportanceEvaluator(), target=loss)
            rows += [(objective, key, float(part)) for key, part in parts.items()]
    return pd.DataFrame(rows, columns=["objective", "setting", "importance"])


def today(file: TuneFile, scenario: Scenario) -> dict[str, Any]:
    """Values of the varied settings in the scenario; None where it has none."""
    return {key: _today(scenario, key) for key in file.vary}


def confirmation(result: Tuned, file: TuneFile) -> pd.DataFrame:
    """The winner against today's settings with the seeds of `confirm`: see `figures.differences`; empty without one."""
    results = result.study.results()
    fresh = results[results.seed.isin(seeds_of(file.confirm)) & results.group.isin([TODAY, result.winner])]
    wanted = (*file.objectives, *file.constraints)
    return differences(fresh, TODAY, (*wanted, *(name for name in headlines(known_figures(base_scenario(file)))
                                                 if name not in wanted)))


def undecided(rows: pd.DataFrame, file: TuneFile) -> list[str]:
    """A sentence if the winner cannot be told from today's settings by any objective; rows: of `confirmation`."""
    of_objectives = rows[rows.figure.isin(list(file.objectives))]
    if not len(of_objectives) or of_objectives.is_real.any():
        return []
    needed = of_objectives.seeds_needed.min()
    seeds = f"; about {needed:.0f} seeds in `confirm` would tell such a difference" if math.isfinite(needed) else ""
    return ["The winner is not distinguishable from today's settings: on the fresh seeds no objective differs by more "
            f"than chance{seeds}."]


def settings_of(file: TuneFile, trial: FrozenTrial) -> dict[str, Any]:
    """Settings of a trial by dotted key; lists are kept by position, because Optuna knows single values only."""
    settings = {}
    for key, axis in file.vary.items():
        value = trial.params[key]
        settings[key] = levels(axis)[value] if axis.values is not None else value if axis.whole else rounded(value)
    return settings


class _Runner:
    """Runs points of a search and returns their means."""

    def __init__(self, folder: Path, plan: Plan, file: TuneFile, workers: Workers, cluster: Any):
        self.folder, self.plan, self.file, self.cluster = folder.resolve(), plan, file, cluster
        self.seeds, self.total = seeds_of(file.seeds), 0
        self.workers = workers._replace(watcher=self._watch)
        self.shown = workers.watcher or watcher()
        self.ended = 0
        self.wanted = (*file.objectives, *file.constraints)

    def means_of(self, trials: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, float] | None]:
        """Means of all figures of some points, None for one with a failed run."""
        points = [Point(name, seed, dict(settings)) for name, settings in trials for seed in self.seeds]
        self.run(points)
        states = {name: all(state_of(point, self.folder)[0] == DONE for point in points if point.group == name)
                  for name, _ in trials}
        study = Study(self.folder)
        done = study.results_of([point for point in points if states[point.group]])
        table = means(done)
        return [dict(zip(part.figure, part.value, strict=True)) if states[name] else None
                for name, _ in trials for part in [table[table.group == name]]]

    def run(self, points: Sequence[Point]) -> None:
        """Run what is not finished of some points, which become part of the study."""
        begin(self.folder, "tune", self.plan.definition, points)
        common = Common(self.folder, tuple(self.plan.scenarios), self.workers.pages)
        if left := unfinished(points, self.folder):
            run_on(self.cluster, points, left, common, self.workers, self.wanted)
        self.wanted = ()
        self.ended += len(points)

    def _watch(self, progress: Progress) -> None:
        """Show progress of the whole search instead of that of a batch."""
        if self.shown is not None:
            total = self.file.trials * len(self.seeds) + 2 * len(seeds_of(self.file.confirm))
            each = progress.left_s / max(progress.total - progress.done - progress.failed, 1)
            done = self.ended + progress.done
            self.shown(Progress(done, progress.failed, progress.running, total, each * (total - done)))


def _asked(file: TuneFile, search: optuna.Study) -> FrozenTrial:
    """A new trial with its settings; the first ones fill the space evenly, so that none of its ends is left out."""
    if (number := len(search.trials)) < STARTUP:
        settings = list(combinations(file.vary, "sobol", STARTUP))[number]
        search.enqueue_trial({key: settings[key] if axis.values is None else axis.values.index(settings[key])
                              for key, axis in file.vary.items()})
    trial = search.ask()
    for key, axis in file.vary.items():
        _suggest(trial, key, axis)
    return search.trials[trial.number]


def _suggest(trial: optuna.Trial, key: str, axis: Axis) -> None:
    if axis.values is not None:
        trial.suggest_categorical(key, list(range(len(axis.values))))
        return
    low, high = bounds(axis)
    if axis.whole:
        trial.suggest_int(key, math.ceil(low), math.floor(high), log=axis.scale == "log")
    else:
        trial.suggest_float(key, low, high, log=axis.scale == "log")


def _record(file: TuneFile, search: optuna.Study, trial: FrozenTrial, figures: Mapping[str, float] | None) -> None:
    """Tell Optuna what became of a trial; one without all figures failed."""
    wanted = [*file.objectives, *file.constraints]
    values = {name: float((figures or {}).get(name, math.nan)) for name in wanted}
    if any(math.isnan(value) for value in values.values()):
        search.tell(trial.number, state=TrialState.FAIL)
        return
    kept = optuna.trial.Trial(search, trial._trial_id)
    kept.set_user_attr("figures", values)
    for name, limit in file.constraints.items():
        if limit.at_least is not None:
            kept.set_constraint(f"{name} at least", limit.at_least - values[name])
        if limit.at_most is not None:
            kept.set_constraint(f"{name} at most", values[name] - limit.at_most)
    search.tell(trial.number, [values[name] for name in file.objectives])


def _corners(file: TuneFile) -> list[Point]:
    """Each end of each setting alone, to be checked before anything runs."""
    ends = {key: list(axis.values) if axis.values is not None else list(bounds(axis))
            for key, axis in file.vary.items()}
    ends = {key: [round(value) for value in values] if file.vary[key].whole else values for key, values in ends.items()}
    return [Point("checked", 1, {key: value}) for key, values in ends.items() for value in values]


def _today(scenario: Scenario, key: str) -> Any:
    if key.startswith("gdpconfig."):
        return next(_in_force(in_force(scenario), find(key.removeprefix("gdpconfig."))), None)
    values = scenario.to_dict()
    found = [value_in(values, located(values, name)) for name in spread(values, key)]
    if any(other != found[0] for other in found):
        raise StudyError([Problem(None, None, key, None, "has several values in the scenario, so no one is today's")])
    return found[0]


def _in_force(values: Mapping[tuple[str, str], Any], matches: Iterable[Match]) -> Iterator[Any]:
    """Values in force of keys; that of a member of a family which was not set is the family's."""
    for match in matches:
        component = match.entry.component
        yield values.get((component, match.key), values.get((component, match.entry.prefix), match.entry.default))


def _loss(trial: FrozenTrial, place: int, sign: int) -> float:
    """An objective of a trial, small if it is good."""
    return sign * trial.values[place]


def _name(trial: FrozenTrial) -> str:
    return f"t{trial.number + 1:04d}"


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
    sections = [terms(about, [*failed_notes(result.study), *([] if result.winner else [NO_WINNER]),
                              *undecided(rows, file)])]
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
        *gdpconfig_lines(chosen),
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
