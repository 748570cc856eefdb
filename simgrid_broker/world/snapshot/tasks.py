"""Tasks and merge jobs of a running world that wait for brokerage, and their users, as plain values of a snapshot."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, OF_CLONES, RAM_LIMITS_MB, SiteClass, TaskClass, TaskStatus
from simgrid_broker.scenario.snapshot import ANALYSIS_BROKERAGE, JOB_BROKERAGE, TASK_BROKERAGE, SnapshotTask
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.tasks import BrokerParameters, Chain, UserParameters
from simgrid_broker.views import Task, UserView
from simgrid_broker.world.arrays import N_RAM_LEVELS
from simgrid_broker.world.data.datasets import secondaries_of_task
from simgrid_broker.world.tasks.input_files import is_cut, pieces_at_once, take_in_hand_of, waiting_at
from simgrid_broker.world.views.nuclei import Burden, parts_of_masters_at
from simgrid_broker.world.views.observe import job_input, replicas, values_of
from simgrid_broker.world.views.users import figures_to_look_at, user_view
from simgrid_broker.world.world import World

T = TaskStatus
ORDER = (
    "jeditaskid brokerage name username processingtype prodsourcelabel workinggroup campaign transpath architecture "
    "transhome container_name ipConnectivity priority corecount n_jobs n_finished n_failed events_per_job cputime "
    "cpuefficiency basewalltime ramcount baseramcount workdiskcount iointensity input_per_job output_per_job "
    "files_per_job t1Weight inputPreStaging taskBrokerOnMaster secondary_input onlyTagsForFC diskIO maxCoreCount "
    "useLocalIO mergeOutput eventService nEsConsumers nJumboJobs maxAttemptEsJob minGranularity walltime allowInputLAN "
    "site maxEventsPerJob gshare ramunit frozen_for input fullChain parent nucleus n_jobs_to_broker"
).split()
"""Keys of a task in the order of the file; others follow."""
Raised = Callable[[int, int], Task]
"""Function that gives the view of a task, by its row, for input of a level of ramCount."""


class PlannedMerge(NamedTuple):
    """A merge job that waits for brokerage: the row of its task, and its view."""

    row: int
    view: Task


class InHand(NamedTuple):
    """Jobs about which a broker is asked: the row of their task, their level of ramCount, and their number.

    The dataset that they read is the one in hand. In task brokerage n_jobs is 0, and burden what the nuclei owe now.
    """

    row: int
    level: int = 0
    n_jobs: int = 0
    burden: Burden | None = None


Waits = InHand | PlannedMerge | int
"""Jobs that wait for brokerage: in hand, a merge job, or the next jobs of the task in a row."""


def waiting(world: World, live_rows) -> np.ndarray:
    """Rows of the live tasks that wait for either brokerage, the highest priority first."""
    tasks = world.arrays.tasks[live_rows]
    has_input = input_by_level(world, live_rows).any(axis=1)
    mask = np.isin(tasks["status"], (T.READY, T.SCOUTING, T.RUNNING, T.PENDING)) & has_input
    mask |= tasks["status"] == T.ASSIGNING
    return live_rows[mask][np.argsort(-tasks["priority"][mask], kind="stable")]


def input_by_level(world: World, rows) -> np.ndarray:
    """Pieces of input of tasks that await jobs, by level of ramCount, (n_rows, N_RAM_LEVELS)."""
    pieces = [[waiting_at(world.arrays, row, level) for level in range(N_RAM_LEVELS)] for row in rows]
    return np.array(pieces, np.int32).reshape(-1, N_RAM_LEVELS)


def tasks_of(world: World, statistics, live_rows, merges: Sequence[PlannedMerge], raised: Raised,
             asks_about_users: bool) -> tuple:
    """The tasks of a snapshot by name, at most `record.snapshot_tasks`, the rows of those that are no merge jobs, and
    the row behind each name.

    The highest priority comes first, and of equal ones merge jobs; raised: for input that asks for more memory;
    asks_about_users: whether jobs of analysis tasks go by analysis brokerage.
    """
    rows, priority = waiting(world, live_rows).tolist(), world.arrays.tasks["priority"]
    entries: list[tuple[int, Waits]] = [(-merge.view.currentpriority, merge) for merge in merges]
    entries += [(-int(priority[row]), row) for row in rows]
    chosen = [of for _, of in sorted(entries, key=lambda entry: entry[0])[:world.scenario.record.snapshot_tasks]]
    return as_plain(world, statistics, chosen, raised, asks_about_users)


def as_plain(world: World, statistics, waits: Sequence[Waits], raised: Raised, asks_about_users: bool) -> tuple:
    """The tables of `tasks_of`, of chosen jobs."""
    numbers, merges = world.arrays.tasks["jeditaskid"], dict[int, Iterator[int]]()
    chosen = {f"{numbers[of.row]}-merge-{next(merges.setdefault(of.row, count(1)))}" if isinstance(of, PlannedMerge)
              else str(numbers[of if isinstance(of, int) else of.row]): of for of in waits}
    plain = {name: _ordered(_merge(world, statistics, of, asks_about_users) if isinstance(of, PlannedMerge) else
                            _task(world, statistics, of, raised, asks_about_users)) for name, of in chosen.items()}
    rows = {name: of if isinstance(of, int) else of.row for name, of in chosen.items()}
    return plain, np.array([rows[name] for name, of in chosen.items() if not isinstance(of, PlannedMerge)],
                           np.int64), rows


def _ordered(plain: dict) -> dict:
    """The keys of a task in the order of the file."""
    return {key: plain[key] for key in (*ORDER, *plain) if key in plain}


def _task(world: World, statistics, of: InHand | int, raised: Raised, asks_about_users: bool) -> dict:
    """Claims and state of a task that brokers may know, by the keys of a snapshot; leaves it as it was."""
    if isinstance(of, InHand):
        return _task_in_hand(world, statistics, of, raised, asks_about_users)
    arrays, task = world.arrays, world.arrays.tasks[of]
    if task["status"] == T.ASSIGNING or (task["status"] == T.PENDING and task["old_status"] == T.ASSIGNING):
        return _task_in_hand(world, statistics, InHand(of), raised, asks_about_users)
    in_hand = arrays.containers["now"][of], arrays.input_dataset[of]
    level = _next_level(world, of)
    pieces = int(take_in_hand_of(arrays, of, level, -1))
    asked = InHand(of, level, math.ceil(pieces / pieces_at_once(arrays, of)))
    plain = _task_in_hand(world, statistics, asked, raised, asks_about_users)
    arrays.containers["now"][of], arrays.input_dataset[of] = in_hand
    return plain


def _task_in_hand(world: World, statistics, asked: InHand, raised: Raised, asks_about_users: bool) -> dict:
    """Claims and state of a task that has the dataset in hand about which a broker is asked."""
    row, to_nucleus = asked.row, asked.n_jobs == 0
    task = values_of(world.arrays.tasks, row)
    plain = _common(world, statistics, row, task) | dict(
        brokerage=TASK_BROKERAGE if to_nucleus else _broker_of_jobs(world, task, asks_about_users),
        n_nuclei=task["n_nuclei"], input=_input(world, row, bool(to_nucleus)),
        frozen_for=0.0 if np.isnan(task["frozen_s"]) else float(world.state["now_s"] - task["frozen_s"]))
    if world.arrays.splitting["secondaries"][row]:
        plain["secondaries"] = _secondaries(world, row)
    if is_cut(world.arrays, row):
        split = world.arrays.splitting[row]
        plain["splitting"] = dict(nFilesPerJob=int(split["nfilesperjob"]), nEventsPerJob=int(split["neventsperjob"]))
    if task["n_jumbo_jobs"]:
        left = task["n_jobs"] - task["n_finished"] - task["n_failed"]
        plain["next_jobs"]["ready_events"] = task["n_events_per_job"] * left
    return plain if to_nucleus else plain | _next_input(world, asked, plain["next_jobs"], raised)


def _broker_of_jobs(world: World, task: dict, asks_about_users: bool) -> str:
    """Brokerage of the jobs of a task: that of analysis, where it is asked, or of production."""
    is_analysis = asks_about_users and world.vocabularies["labels"][task["label"]] in ANALYSIS_LABELS
    return ANALYSIS_BROKERAGE if is_analysis else JOB_BROKERAGE


def _next_input(world: World, asked: InHand, next_jobs: dict, raised: Raised) -> dict:
    """The jobs that JEDI brokers next: of one ramCount, the raised ones first (lifecycle reference, 2.3)."""
    wanted, level = dict(n_jobs_to_broker=asked.n_jobs), asked.level
    if not level:
        return wanted
    kind = world.vocabularies["resource_types"][raised(asked.row, level).resource_type]
    return wanted | dict(resource_type=kind, next_jobs=next_jobs | dict(ramcount=float(RAM_LIMITS_MB[level - 1])))


def _next_level(world: World, row: int) -> int:
    """Level of ramCount of the input of a task that JEDI brokers next, the raised ones first; lifecycle reference, 2.3.
    """
    _, *others = input_by_level(world, np.array([row]))[0].tolist()
    return next((level for level, pieces in enumerate(others, start=1) if pieces), 0)


def _merge(world: World, statistics, merge: PlannedMerge, asks_about_users: bool) -> dict:
    """A merge job, as a task with the one job; its work counts at no nucleus a second time."""
    task, view, words = values_of(world.arrays.tasks, merge.row), merge.view, world.vocabularies
    assert view.premerge is not None
    queue, idle, stuck = view.premerge
    plain = _common(world, statistics, merge.row, task)
    plain["next_jobs"] |= dict(merging=True, premerge=dict(queue=words["queues"][queue], input_idle=idle))
    if task["n_jumbo_jobs"]:
        plain["next_jobs"]["ready_events"] = int(view.jumbo_events)
    site = words["sites"][world.arrays.queues["site"][queue]]
    return plain | dict(
        jeditaskid=task["jeditaskid"], brokerage=_broker_of_jobs(world, task, asks_about_users), n_jobs=1,
        n_finished=0, n_failed=0, events_per_job=max(1, view.n_events_per_job),
        files_per_job=view.n_files_per_job, secondary_input=0.0,
        input_per_job=view.input_bytes_per_job, output_per_job=view.output_bytes_per_job, baseramcount=0.0,
        cputime=0.0, cputimeunit=view.cputimeunit, walltime=0.0, ramcount=0.0,
        resource_type=words["resource_types"][view.resource_type], remaining_work=0.0, frozen_for=stuck,
        mergeramcount=None if np.isnan(view.mergeramcount) else view.mergeramcount, mergecorecount=view.mergecorecount,
        input={site: dict(disk=1.0)}, n_jobs_to_broker=1)


def _common(world: World, statistics, row: int, task: dict) -> dict:
    """Keys that a task and its merge jobs have in common."""
    words = world.vocabularies
    plain = claims(SnapshotTask, task, words) | dict(luck=task["luck"])
    plain |= UserParameters.of_word(words["user_parameters"][task["user_parameters"]]).model_dump(
        include=set(BrokerParameters.model_fields), exclude_defaults=True, mode="json")
    if task["eventservice"] == OF_CLONES:
        plain["useJobCloning"] = True
    if task["taskpriority"] != task["priority"]:
        plain["taskpriority"] = task["taskpriority"]
    parent = world.parent_of(row)
    if parent is not None:
        plain["parent"] = claims(Chain, values_of(world.arrays.tasks, parent), words)
    plain["next_jobs"] = dict(scout=bool(world.arrays.scout_inputs[row]))
    if types_at := statistics.types_at.get(task["jeditaskid"]):
        plain["next_jobs"]["resource_types"] = {
            words["queues"][queue]: [word for kind, word in enumerate(words["resource_types"]) if kinds >> kind & 1]
            for queue, kinds in types_at}
    return plain


def claims(sheet, row: Mapping[str, Any], words) -> dict:
    """Keys of a sheet for a row of stored values, by column; null is left out where it is the default."""
    plain = {column.key: column.back(row[column.name], words) for column in columns_of(sheet)}
    return {key: value for key, value in plain.items()
            if value is not None or sheet.model_fields[key].default is not None}


def _input(world: World, row: int, whole: bool) -> dict[str, dict]:
    """Parts of a task's input by site, on disk and on tape; whole: of all datasets of a container, not of that in hand.
    """
    parts: dict[str, dict] = {}
    if whole and world.arrays.containers["number"][row]:
        for site, name in enumerate(world.vocabularies["sites"]):
            held, disk, _ = parts_of_masters_at(world.arrays, row, site)
            if held > 0:
                parts[name] = {kind: part for kind, part in (("disk", disk), ("tape", held)) if part > 0}
        return parts
    seen = None if whole else job_input(world, row)
    return _parts_of(world, replicas(world, int(world.arrays.input_dataset[row])) if seen is None else seen.replicas)


def _parts_of(world: World, held: Iterable[tuple[int, float, int]]) -> dict[str, dict]:
    """Parts of a dataset by site, on disk and on tape; held: its replicas, (site, part, whether on tape) each."""
    parts: dict[str, dict] = {}
    for site, part, is_tape in held:
        at, kind = parts.setdefault(world.vocabularies["sites"][site], {}), "tape" if is_tape else "disk"
        at[kind] = max(at.get(kind, 0.0), part)
    return parts


def _secondaries(world: World, row: int) -> list[dict]:
    """The secondary datasets with replicas of their own of a task."""
    rows = world.arrays.secondaries[slice(*secondaries_of_task(world.arrays, row))]
    known = world.arrays.datasets[rows["dataset"]]
    return [dict(bytes_per_job=float(one["bytes"]), files_per_job=float(one["files"]), bytes=float(dataset["bytes"]),
                 files=int(dataset["n_files"]), input=_parts_of(world, replicas(world, int(one["dataset"]))))
            for one, dataset in zip(rows, known, strict=True)]


def users_of(world: World, rows: Iterable[int], slots_of_class_a: float) -> tuple[dict, dict[int, dict]]:
    """Users, their jobs and the use of shares, for the analysis tasks in `rows`, and keys of these tasks, by row."""
    words, now, figures = world.vocabularies, float(world.state["now_s"]), figures_to_look_at(world)
    users: dict[str, dict] = {}
    jobs: dict[tuple, dict] = {}
    usage: dict[str, dict] = {}
    tasks: dict[int, dict] = {}
    for row in rows:
        task, view = world.arrays.tasks[row], user_view(world, row, now, slots_of_class_a, figures)
        user, group, share = (words[kind][task[column]] for kind, column in (
            ("users", "user"), ("working_groups", "working_group"), ("shares", "share")))
        users.setdefault(group or user, {}).update(_not_nan(view.owner._asdict()))
        users.setdefault(user, {}).update(_not_nan(dict(rem_slots_A=view.rem_slots_a)))
        users[group or user].update(_quota(view, world.user_output.full_storages(task)))
        usage[share] = _not_nan(dict(usage=view.usage, equivalent=view.equivalent_usage))
        jobs |= {(one["queue"], share, one.get("user")): one for one in _jobs_of_users(words, view, user, share)}
        tasks[row] = _history(words, view)
    return dict(users=users, user_jobs=list(jobs.values()),
                share_usage={share: one for share, one in usage.items() if "usage" in one}), tasks


def classes_of_queues(world: World) -> dict[str, dict]:
    """Classes and rates of the PanDA queues, by name."""
    metrics = world.analysis
    return {name: dict(site_class=SiteClass(int(number)).word, to_running_rate=rate)
            for name, number, rate in zip(world.vocabularies["queues"], metrics.site_class.tolist(),
                                          metrics.to_running_rate.tolist(), strict=True)}


def _quota(view: UserView, full: list[str]) -> dict:
    """The quotas of an owner, as far as they are used up or nearly so; full: endpoints without room."""
    plain: dict = dict(full_storages=full) if full else {}
    if view.quota.message:
        plain |= dict(quota="over" if view.quota.over else "near", quota_message=view.quota.message)
    return plain


def _not_nan(numbers: dict) -> dict:
    """The numbers that are known."""
    return {name: float(value) if name.startswith(("rem", "usage", "equi")) else int(value)
            for name, value in numbers.items() if not np.isnan(value)}


def _jobs_of_users(words, view: UserView, user: str, share: str) -> Iterable[dict]:
    """Jobs of a user, and of all users together, at each PanDA queue."""
    for name, one in zip(words["queues"], view.at, strict=True):
        if not np.isnan(one["user_queued"]):
            yield dict(queue=name, share=share, user=user, queued=int(one["user_queued"]),
                       running=int(one["user_running"]))
        if not np.isnan(one["users_running"]):
            yield dict(queue=name, share=share, running=int(one["users_running"]), users=int(one["n_users"]))


def _history(words, view: UserView) -> dict:
    """Class of a task, ended jobs, and the queues that it has used."""
    ended = {name: {kind: int(one[kind]) for kind in ("failed", "closed", "finished") if one[kind]}
             for name, one in zip(words["queues"], view.at, strict=True)}
    return dict(task_class=None if view.task_class is None else TaskClass(view.task_class).name,
                ended_jobs={name: numbers for name, numbers in ended.items() if numbers},
                used_queues=[name for name, one in zip(words["queues"], view.at, strict=True) if one["used"]])
