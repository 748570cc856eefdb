"""The operator's dry run: one decision of a broker on a snapshot of a grid, without a simulation.

What lives here: `broker`, and putting its answer together. What does not: the decision itself, which is the one that
the agents make (agents, policy), the world in which they make it (world), and any printing (cli).
"""

from pathlib import Path

import numpy as np
import simpy

from simgrid_broker.agents.control import Control
from simgrid_broker.agents.job_generator import question
from simgrid_broker.agents.task_broker import decide
from simgrid_broker.agents.task_refiner import Tagger, tag_task
from simgrid_broker.dry_run.chances import chances_of_nuclei, chances_of_queues
from simgrid_broker.dry_run.decision import Candidate, Decision, Step
from simgrid_broker.errors import Problem, SnapshotError, nearest
from simgrid_broker.scenario import Snapshot, in_force, load_snapshot
from simgrid_broker.scenario.snapshot import TASK_BROKERAGE
from simgrid_broker.views import KEPT, Figures, Verdict
from simgrid_broker.world import observe
from simgrid_broker.world.from_snapshot import statistics_of, world_of
from simgrid_broker.world.nuclei import Burden


def broker(snapshot: Snapshot | str | Path, task: int | str | None = None, edition: str | None = None,
           **overrides) -> Decision:
    """One decision of a broker about a task of a snapshot.

    snapshot: a file or what `load_snapshot` made of one; task: its jeditaskid, needed if there are several; edition:
    instead of the snapshot's; overrides: values by dotted key, such as `**{"gdpconfig.NQUEUELIMITSITE_Express": 100}`.
    Raises SnapshotError, for an unknown task too, and LookupError for a policy that nobody offers.
    """
    snapshot = snapshot if isinstance(snapshot, Snapshot) else load_snapshot(snapshot)
    values = overrides | ({} if edition is None else {"edition": edition})
    snapshot = snapshot.with_values(values) if values else snapshot
    row = _row_of(snapshot, task)
    control = _control(snapshot)
    _tag(control, snapshot, row)
    about = list(snapshot.tasks.values())[row]
    decided = _nucleus if about.broker == TASK_BROKERAGE else _queues
    seen, n_jobs, names, verdict, chances = decided(control, snapshot, row, about)
    return Decision(
        snapshot=snapshot.name, time_s=snapshot.time, edition=snapshot.edition, brokerage=about.broker,
        policy=getattr(snapshot.policies, about.broker), task=seen, name=about.name, nucleus=about.nucleus,
        n_jobs=n_jobs, funnel=_funnel(verdict), candidates=_candidates(names, verdict, chances))


def _row_of(snapshot: Snapshot, task: int | str | None) -> int:
    """Position of a task; raises SnapshotError if there is no such task, or several and none is named."""
    numbers = list(snapshot.tasks)
    if not numbers:
        raise SnapshotError([Problem(None, None, "tasks", None, "the snapshot has no task that waits for brokerage")])
    if task is None and len(numbers) == 1:
        return 0
    if task is None:
        raise SnapshotError([Problem(None, None, "task", None, f"the snapshot has {len(numbers)} tasks; say which: "
                                     + ", ".join(numbers[:10]) + (", ..." if len(numbers) > 10 else ""))])
    if str(task) not in numbers:
        raise SnapshotError([Problem(None, None, "task", task, "no task of the snapshot has this jeditaskid",
                                     nearest(str(task), numbers) or tuple(numbers[:3]))])
    return numbers.index(str(task))


def _control(snapshot: Snapshot) -> Control:
    """The agents' books at the moment of a snapshot: no fabric, and nobody writes anything down."""
    world = world_of(snapshot)
    values = in_force(snapshot)
    control = Control(simpy.Environment(initial_time=snapshot.time), world, None, lambda changes: values, None)
    control.snapshot = statistics_of(world, snapshot)
    control.live_tasks.add(np.arange(len(world.arrays.tasks)))
    return control


def _tag(control, snapshot: Snapshot, row: int) -> None:
    """Give all tasks share and resource type as JEDI does; raises SnapshotError if the one in question gets none."""
    tagger = Tagger(control.world, snapshot.shares)
    found = [tag_task(control.world, number, tagger) for number in range(len(snapshot.tasks))]
    if not found[row]:
        key = f"tasks.{list(snapshot.tasks)[row]}"
        place = snapshot.origin(key)
        raise SnapshotError([Problem(place.file, place.line, key, None, "no share takes the task, or no resource type "
                                     "fits it; PanDA would declare it broken (give gshare, look at corecount)")])


def _nucleus(control, snapshot, row: int, about) -> tuple:
    """The task brokerage's view, verdict and chances."""
    task, seen, verdict = decide(control, row, Burden(control.world, control.live_tasks.rows))
    names = [control.world.vocabularies["sites"][site] for site in seen.site]
    return task, None, names, verdict, chances_of_nuclei(verdict)


def _queues(control, snapshot, row: int, about) -> tuple:
    """The job brokerage's view, verdict and chances."""
    wanted = about.n_jobs_to_broker or about.jobs_left
    task, parts = observe.task(control.world, row), observe.job_input(control.world, row)
    asked = question(control, task, parts, wanted)
    verdict = control.policies.job_brokerage(*asked, control.mask_cache)
    return task, wanted, control.queues.names, verdict, chances_of_queues(verdict)


def _funnel(verdict: Verdict) -> tuple[Step, ...]:
    """The tags that refused anybody, each once, with the candidates left."""
    refusals = np.bincount(verdict.refused_by[verdict.refused_by != KEPT], minlength=len(verdict.tags))
    left, steps = len(verdict.refused_by), []
    for tag, refused in zip(verdict.tags, refusals.tolist(), strict=True):
        left -= refused
        if refused:
            steps.append(Step(tag, refused, left))
    return tuple(steps)


def _candidates(names, verdict: Verdict, chances: np.ndarray) -> tuple[Candidate, ...]:
    """Every candidate with all that is known of it."""
    figures = Figures(None, None, {}) if verdict.figures is None else verdict.figures()
    best = verdict.order if verdict.queued is not None else verdict.order[np.argsort(-verdict.weight[verdict.order],
                                                                                     kind="stable")]
    place = {int(k): number for number, k in enumerate(best, start=1)}
    rows = []
    for k, name in enumerate(names):
        refused_by = int(verdict.refused_by[k])
        kept = refused_by == KEPT
        rows.append(Candidate(
            name=name, tag=None if kept else verdict.tags[refused_by],
            value=_figure(figures.value, k), limit=_figure(figures.limit, k), weight=float(verdict.weight[k]),
            factors={factor: number for factor, column in figures.factors.items()
                     if kept and (number := _figure(column, k)) is not None},
            order=place.get(k), probability=float(chances[k]),
            queued=_figure(verdict.queued, k) if kept else None, cap=_figure(verdict.cap, k) if kept else None))
    return tuple(rows)


def _figure(column, k: int) -> float | None:
    """The number of candidate k; None where there is none or it is not finite."""
    if column is None:
        return None
    number = float(column[k])
    return number if np.isfinite(number) else None
