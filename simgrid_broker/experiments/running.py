"""Running the points of a study on workers, with a progress that a terminal or a notebook can show."""

import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simgrid_broker.engine import simulate
from simgrid_broker.errors import Problem, ScenarioError, SimgridBrokerError, StudyError, extras_named, wrong_type
from simgrid_broker.experiments.figures import figures, figures_in
from simgrid_broker.experiments.processes import Processes
from simgrid_broker.experiments.study import (
    DONE,
    FAILED,
    Point,
    Study,
    begin,
    clear_unfinished,
    keep,
    keep_message,
    refuse_changes,
    same,
    state_of,
    unfinished_folder,
)
from simgrid_broker.experiments.study_file import MOST_REFUSED, StudyFile, laid_over
from simgrid_broker.notebook import watcher
from simgrid_broker.report import write_report
from simgrid_broker.scenario import Scenario

if TYPE_CHECKING:
    from simgrid_broker.experiments.cluster import Cluster

class Common(NamedTuple):
    """Values common to all points of a study: folder, scenarios, and pages, true if each run gets a report."""

    folder: Path
    scenarios: tuple[Scenario, ...]
    pages: bool = False


def run_point(common: Common, point: Point) -> tuple[str, str]:
    """Run a point unless it is finished; what became of it, and the message if it failed."""
    if state_of(point, common.folder)[0] == DONE:
        return DONE, ""
    written = unfinished_folder(point, common.folder)
    shutil.rmtree(written, ignore_errors=True)
    try:
        scenario = scenario_of(point, common.scenarios)
        run = simulate(scenario, folder=written)
        figures(run)
        if common.pages:
            write_report(run)
        keep(written, point, common.folder)
    except (SimgridBrokerError, MemoryError) as error:
        return _failed(str(error) or type(error).__name__, written, point, common.folder)
    except Exception:
        return _failed(traceback.format_exc().rstrip(), written, point, common.folder)
    return DONE, ""


def scenario_of(point: Point, scenarios: tuple[Scenario, ...]) -> Scenario:
    """The scenario of a point: that of the study with the point's settings and seed. Raises ScenarioError."""
    return scenarios[point.scenario].with_values({**point.settings, "seed": point.seed})


def _failed(message: str, written: Path, point: Point, folder: Path) -> tuple[str, str]:
    shutil.rmtree(written, ignore_errors=True)
    keep_message(message, point, folder)
    return FAILED, message


MOST_CHECKED = 100
"""Different settings that are all checked before a study begins: each takes up to half a second."""


class Progress(NamedTuple):
    """Progress of a study: points by state, and the expected time to its end, s (NaN at first)."""

    done: int
    failed: int
    running: int
    total: int
    left_s: float = float("nan")


Watcher = Callable[[Progress], None]


class Workers(NamedTuple):
    """Where points run: processes on this machine (default: one for each core), or a scheduler by its address; whether
    each run gets a report; and who is shown the progress.
    """

    number: int | None = None
    scheduler: str | None = None
    pages: bool = False
    watcher: Watcher | None = None


LOCAL = Workers()


def as_workers(given: Workers | int) -> Workers:
    """Workers, or their number on this machine; raises TypeError for anything else."""
    if isinstance(given, Workers):
        return given
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise wrong_type("workers", "Workers(...), or a number of processes above 0", given)
    return Workers(given)


class Plan(NamedTuple):
    """A study before it runs: its kind, what it asks as JSON has it, its points and their scenarios.

    figures: those that every run must have; the study ends at the first run that lacks one.
    """

    kind: str
    definition: Mapping[str, Any]
    points: Sequence[Point]
    scenarios: Sequence[Scenario]
    figures: tuple[str, ...] = ()


@contextmanager
def started(workers: Workers) -> "Iterator[Cluster | Processes]":
    """Processes of this machine, or workers of Dask, which is imported here, behind a scheduler.

    Raises StudyError if the scheduler does not answer.
    """
    if workers.scheduler is None:
        with Processes(workers.number) as processes:
            yield processes
        return
    with extras_named():
        kind = import_module("simgrid_broker.experiments.cluster").Cluster
    with kind(workers.scheduler) as cluster:
        yield cluster


def run_study(folder: Path, plan: Plan, workers: Workers) -> Study:
    """Begin or continue a study and run its points that are not finished; without any, no worker is started.

    Raises StudyError, before the folder is made, if it holds another study or a scheduler does not answer; and at the
    first run without one of the figures of the plan.
    """
    refuse_changes(folder, plan.kind, plan.definition)
    with ExitStack() as stack:
        cluster = stack.enter_context(started(workers)) if unfinished(plan.points, folder) else None
        study = begin(folder, plan.kind, plan.definition, plan.points)
        for point in study.finished()[:1]:
            refuse_without_value(point, study.folder, plan.figures)
        if cluster is not None and (left := unfinished(study.plan, folder)):
            common = Common(Path(folder).resolve(), tuple(plan.scenarios), workers.pages)
            run_on(cluster, study.plan, left, common, workers, plan.figures)
    return study


def refuse_without_value(point: Point, folder: Path, names: Sequence[str]) -> None:
    """Raise StudyError for figures that a finished point does not have."""
    if not names:
        return
    values = figures_in(point.folder(folder)).set_index("figure").value.reindex(list(names))
    if problems := [Problem(None, None, "figures", name, f"has no value in the run {point.folder(folder)}, with which "
                            "the study ends: a longer run or more work may give it one")
                    for name in values.index[values.isna()]]:
        raise StudyError(problems)


def unfinished(points: Sequence[Point], folder: Path) -> list[Point]:
    """The points without a complete run: not begun, interrupted or failed."""
    return [point for point in points if state_of(point, folder)[0] != DONE]


def run_on(cluster: "Cluster | Processes", points: Sequence[Point], left: Sequence[Point], common: Common,
           workers: Workers, wanted: Sequence[str] = ()) -> None:
    """Run the points that are `left` of all `points` on workers that are there.

    Raises StudyError if the first run does not have a value of each figure that is wanted.
    """
    clear_unfinished(common.folder)
    pace = _Pace(len(points), len(points) - len(left))
    watch = workers.watcher or watcher()
    watch(pace.now(cluster.n_workers))
    for place, result in cluster.results(run_point, common, left):
        if isinstance(result, BaseException):
            result = FAILED, f"{type(result).__name__}: {result}"
            keep_message(result[1], left[place], common.folder)
        if result[0] == DONE and wanted:
            refuse_without_value(left[place], common.folder, wanted)
            wanted = ()
        pace.count(result[0])
        watch(pace.now(cluster.n_workers))


class _Pace:
    """Counts of points, and the expected end by the mean time of a point so far."""

    def __init__(self, total: int, before: int):
        self.total, self.before = total, before
        self.done, self.failed, self.began = before, 0, time.monotonic()

    def count(self, state: str) -> None:
        """Add a point that ended."""
        self.done += state == DONE
        self.failed += state != DONE

    def now(self, n_workers: int) -> Progress:
        """The progress at this moment; n_workers: there are now."""
        ended = self.done + self.failed
        left, ran = self.total - ended, ended - self.before
        seconds = (time.monotonic() - self.began) / ran * left if ran else float("nan")
        return Progress(self.done, self.failed, min(left, n_workers), self.total, seconds)


def check_points(points: Sequence[Point], scenarios: Sequence[Scenario], study: StudyFile | None = None,
                 check: Callable[[Scenario], None] | None = None) -> None:
    """Raise StudyError with the problems of points whose settings cannot be used, before anything runs.

    Of a study of more than MOST_CHECKED different settings, the ends of each range, each other value and MOST_CHECKED
    combinations are checked. check: raises a ScenarioError for what else is wrong with the scenario of a point. A name
    that is unknown whatever its value is said once.
    """
    problems: dict[str, Problem] = {}
    refused = 0
    for point in _telling(list(_once(points))):
        try:
            scenario = laid_over(scenarios[point.scenario], point.settings, study, "vary")
            if check is not None:
                check(scenario)
        except ScenarioError as error:
            for problem in error.problems:
                is_name = problem.expected.startswith("unknown")
                problems.setdefault(str(replace(problem, value=None) if is_name else problem), problem)
            refused += 1
        if refused >= MOST_REFUSED:
            break
    if problems:
        raise StudyError(problems.values())


def _telling(points: Sequence[Point]) -> list[Point]:
    """Points that show what is wrong with any: all of a small study."""
    chosen = list(points[:MOST_CHECKED])
    for key in {key: None for point in points[MOST_CHECKED:] for key in point.settings}:
        those = [point for point in points if key in point.settings]
        values = [point.settings[key] for point in those]
        if all(isinstance(value, (int, float)) for value in values):
            chosen += [those[values.index(min(values))], those[values.index(max(values))]]
        else:
            chosen += {same(value): point for value, point in zip(values, those, strict=True)}.values()
    return list(_once(chosen))


def _once(points: Sequence[Point]) -> Iterator[Point]:
    """The first point with each settings."""
    seen: set[tuple[int, str]] = set()
    for point in points:
        key = point.scenario, same(dict(point.settings))
        if key not in seen:
            seen.add(key)
            yield point
