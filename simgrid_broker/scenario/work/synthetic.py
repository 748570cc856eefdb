"""The tasks of a scenario in one list: campaigns, users, a trace, single arrivals of the timeline, tests of queues.

Every number is keyed by (scenario's seed, name of the stream, number of the task in it): a longer run has the same
tasks and some more, and a change of one stream leaves the tasks of the others as they were, random draws of their jobs
included, except for `jeditaskid`, which counts all tasks in order of arrival.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from simgrid_broker.luck import key_of, keys, uniforms
from simgrid_broker.names import ANALYSIS_LABELS, JOB_TYPE_OF_TESTS, OF_CLONES, TEST_SHARE, USER_OF_TESTS
from simgrid_broker.scenario.grid.expand_grid import late_function
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.shares import leaf_names, queue_names
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.scenario.work.campaigns import Campaign, FunctionalTests, Payload, UserActivity
from simgrid_broker.scenario.work.draws import (
    STORM,
    TaskArrivals,
    bags,
    catalogue,
    datasets_read,
    draw,
    draw_number,
    favourites,
    groups_of_users,
    holders,
    poisson_times,
    secondary_lists,
    storm_tasks,
    with_sizes,
)
from simgrid_broker.scenario.work.input_files import Spread
from simgrid_broker.scenario.work.tasklist import Arrivals, Stream, TaskList, fill, merged, new_rows, no_replicas
from simgrid_broker.schema.part import Part
from simgrid_broker.schema.tasks import (
    N_REPLICAS,
    SPLITTING,
    ProductionParameters,
    SplitParameters,
    TaskParameters,
    UserParameters,
)
from simgrid_broker.units import DAY

NAME = "functional test"
"""Beginning of the names of the tasks; the queue follows."""
COREPOWER, MEMORY_MB, OUTPUT_BYTES = 10, 500, 1e6
"""HS06 per core at which a test takes its time, memory and output of a test."""


def test_streams(scenario: Scenario) -> list[Stream]:
    """Tests of all queues, a stream for each kind; an analysis queue gets one that a user might send."""
    tests, kinds = scenario.workload.tests, dict[tuple[str, int], list[str]]()
    if tests.period is None:
        return []
    for name, queue in scenario.grid.queues.items():
        kind = "prod_test" if queue.production else "user", 1 if queue.unified else queue.corecount
        kinds.setdefault(kind, []).append(name)
    leaves = leaf_names(scenario)
    test = _test(tests, TEST_SHARE if TEST_SHARE in leaves else leaves[0])
    return [_tests_of_kind(test.model_copy(update=dict(prodsourcelabel=label, corecount=cores)), scenario, queues,
                           tests.period) for (label, cores), queues in kinds.items()]


def _tests_of_kind(test: Campaign, scenario: Scenario, queues: Sequence[str], period: float) -> Stream:
    """Tests of some queues, which differ in name and queue alone.

    They come on a period, s, from a time on that is drawn by the queue's name.
    """
    names = tuple(f"{NAME} {queue}" for queue in queues)
    key = np.array([key_of(name) for name in names], np.int64)
    times = [np.arange(begin_s, scenario.duration, period)
             for begin_s in (uniforms(scenario.seed, "phase", key) * period).tolist()]
    arrival_s, numbers = np.concatenate(times), [len(of_queue) for of_queue in times]
    order = np.argsort(arrival_s, kind="stable")
    arrival_s, queue, index = arrival_s[order], np.repeat(np.arange(len(queues)), numbers)[order], np.concatenate(
        [np.arange(number) for number in numbers])[order]

    def draw_tasks(places: slice) -> TaskList:
        found = _tasks(test, scenario, 0, arrival_s[places], (test.username,), index[places])
        found.rows["luck"] = keys(key[queue[places]], index[places])
        found.rows["name"] = found.rows["preassigned"] = queue[places]
        return replace(found, vocabularies={**found.vocabularies, "task_names": names, "preassigned": tuple(queues)})
    return Stream(0, arrival_s, index, draw_tasks)


def _test(tests: FunctionalTests, share: str) -> Campaign:
    """The tests of all queues as a campaign, without what each has of its own; share: where `tests` names none."""
    return Campaign(
        name=NAME, username=USER_OF_TESTS, gshare=tests.gshare or share, processingtype=JOB_TYPE_OF_TESTS,
        jobs_per_task=1, events_per_job=1, hs06sec_per_event=tests.walltime * COREPOWER, basewalltime=0,
        cpu_efficiency=1, ramcount=MEMORY_MB, ramunit="MB", memory_per_core=MEMORY_MB, output_per_job=OUTPUT_BYTES,
        failure_rate=0, max_attempt=1, tasks_per_day=DAY / (tests.period or DAY), priority=10_000)


P = TypeVar("P", bound=Part)

UPPER_QUARTILE, RAM_MARGIN = 0.6745, 1.1
"""Memory that scouts claim: the 75th percentile of their jobs (in sigmas) and 10 %; lifecycle reference, 2.7."""

_JOBS, _WORK, _CPUTIME, _MEMORY, _INPUT, _OUTPUT, _FAILURE = range(7)
_FILES, _FILE_SIZE = 40, 41
_REPLICA = 16
_TAPE = 32
_COMPLETENESS = (0.05, 0.95)

DEFAULT_ATTEMPTS, DEPLOYED_ANALYSIS_ATTEMPTS = (3, 0), (10, 3)
"""Default maxAttempt and maxFailure of tasks, 0 = not set; and the defaults of analysis in the deployed edition."""

BACKLOG = "/backlog"
"""Suffix of a stream's name that keys the random draws of tasks waiting at the start."""


def task_list(scenario: Scenario) -> TaskList:
    """All tasks that arrive within a scenario that the loader has checked, sorted by arrival.

    Raises InputFileError for a trace that cannot be read.
    """
    return arrivals(scenario).all()


def arrivals(scenario: Scenario) -> Arrivals:
    """The tasks of a scenario, to be drawn block by block; raises as `task_list`."""
    work = scenario.workload
    streams = [stream for campaign in work.campaigns for stream in campaign_streams(campaign, scenario)]
    streams += [stream for activity in work.users for stream in user_streams(activity, scenario)]
    streams += single_arrivals(scenario)
    streams += test_streams(scenario)
    if work.trace is None:
        return Arrivals(streams)
    tasks, remarks = late_function("trace_tasks")(work.trace, scenario)
    return Arrivals(streams, replace(tasks, remarks=tuple(remarks)))


def typical_tasks(scenario: Scenario) -> TaskList:
    """One task of each campaign and group of users, in their order, whose quantities are all medians."""
    streams = scenario.workload.streams
    return merged([_tasks(_typical(stream), scenario, 0, np.zeros(1), ("",)) for stream in streams])


def _typical(part: P) -> P:
    """A part of a scenario whose log-normal quantities have no spread."""
    found = {name: _typical(value) for name, value in part if isinstance(value, Part)}
    return part.model_copy(update=found | ({"sigma": 0.0} if isinstance(part, Spread) else {}))


def stream_of(payload: Payload, scenario: Scenario, name: str, tasks: TaskArrivals, users: tuple[str, ...],
              parent: str | None = None, n_jobs: int | None = None) -> Stream:
    """Tasks that arrive at some times, owned by `users[tasks.user]`, keyed by a name.

    parent: name that keys their parents; n_jobs: wins over the draw.
    """
    arrival_s, user, index = tasks
    index = np.arange(len(arrival_s)) if index is None else index

    def draw_tasks(places: slice) -> TaskList:
        found = _tasks(payload, scenario, key_of(name), arrival_s[places], users, index[places],
                       0 if user is None else user[places])
        if n_jobs is not None:
            found.rows["n_jobs"] = n_jobs
        return found
    return Stream(key_of(name), arrival_s, index, draw_tasks, None if parent is None else key_of(parent))


def campaign_streams(campaign: Campaign, scenario: Scenario) -> list[Stream]:
    """Tasks of one campaign: the backlog at the start, then the arrivals.

    A campaign with a parent has as many as its parent, at the same times.
    """
    source = first_ancestor(campaign, scenario.workload.campaigns)
    waiting = source.backlog + round(source.tasks_per_s * source.backlog_time)
    times = poisson_times(source, source.tasks_per_s, scenario.duration, scenario.seed, key_of(source.name))
    return [stream_of(campaign, scenario, campaign.name + part, TaskArrivals(arrival_s), (campaign.username,),
                      parent=None if campaign.parent is None else campaign.parent + part)
            for part, arrival_s in ((BACKLOG, np.zeros(waiting)), ("", times))]


def first_ancestor(campaign: Campaign, campaigns: Sequence[Campaign]) -> Campaign:
    """The campaign at which a chain of parents begins, itself if it has none."""
    by_name = {each.name: each for each in campaigns}
    while campaign.parent is not None:
        campaign = by_name[campaign.parent]
    return campaign


def user_streams(activity: UserActivity, scenario: Scenario) -> list[Stream]:
    """Tasks of one group of users: the backlog at the start, then the tasks of the active periods."""
    names = tuple(f"{activity.name}-{rank:04d}" for rank in range(1, activity.users + 1))
    waiting = np.zeros(round(activity.periods_per_s * activity.backlog_time))
    name, backlog = activity.name, activity.name + BACKLOG
    begins = poisson_times(activity, activity.periods_per_s, scenario.duration, scenario.seed, key_of(name))
    of_backlog = bags(activity, waiting, scenario.seed, key_of(backlog))
    parts = {backlog: of_backlog._replace(arrival_s=np.zeros(len(of_backlog.arrival_s))),
             name: bags(activity, begins, scenario.seed, key_of(name)).in_order(scenario.duration)}
    if activity.storms:
        parts[name + STORM] = storm_tasks(activity, scenario.seed).in_order(scenario.duration)
    return [stream_of(activity, scenario, part, tasks, names) for part, tasks in parts.items()]


def single_arrivals(scenario: Scenario) -> list[Stream]:
    """One stream of one task for each incident `task_arrival` within the scenario; its `jobs` win over the draw."""
    campaigns = {campaign.name: campaign for campaign in scenario.workload.campaigns}
    seen, found = dict[str, int](), []
    for incident in scenario.incidents:
        if incident.what != "task_arrival" or incident.at >= scenario.duration:
            continue
        campaign = campaigns[incident.campaign or ""]
        number = seen[campaign.name] = seen.get(campaign.name, -1) + 1
        found.append(stream_of(campaign, scenario, f"{campaign.name}/incident",
                               TaskArrivals(np.array([float(incident.at)]), number=np.array([number])),
                               (campaign.username,), n_jobs=incident.jobs))
    return found


def _tasks(payload: Payload, scenario: Scenario, key: int, arrival: np.ndarray, users: tuple[str, ...],
           index: np.ndarray | None = None, user: np.ndarray | int = 0) -> TaskList:
    """Tasks of one stream that arrive at `arrival`, (n,), numbered `index` in it, owned by `users[user]`."""
    n = len(arrival)
    index = np.arange(n) if index is None else index
    rows = new_rows(n)
    rows["arrival_s"] = rows["modification_s"] = arrival
    rows["user"] = user
    rows["luck"] = keys(key, index)
    words = _fill_parameters(rows, payload, scenario)
    if payload.useJobCloning:
        rows["eventservice"] = OF_CLONES
    _fill_work(rows, payload, scenario.seed, key, index)
    _fill_memory(rows, payload, scenario.seed, key, index)
    _fill_files(rows, payload, scenario.seed, key, index)
    rows["max_attempt"], rows["max_failure"] = attempts_of(payload, scenario.edition)
    rows["failure_rate"] = draw(payload.failure_rate, scenario.seed, key, index, _FAILURE)
    rows["memory_kills"], rows["failed_cpu_efficiency"] = payload.memory_kills, payload.failed_cpu_efficiency
    rows["n_output_files"] = payload.output_files_per_job
    if payload.walltime:
        rows["cputime"] = 0
    splitting = _splitting(payload, scenario, key, index)
    read = _read_dataset(rows, splitting, payload, scenario, key, index)
    _fill_pieces(rows, splitting, payload, scenario, read.members)
    if payload.workQueueName is not None:
        rows["work_queue"] = queue_names(scenario.work_queues).index(payload.workQueueName)
    of_input = (favourites(payload, scenario.seed, key, index, rows["user"].astype(np.int64))
                if isinstance(payload, UserActivity) and payload.favourite_inputs else (key, index))
    places = _replicas(payload, scenario, *of_input) if rows["input_bytes_per_job"].any() else no_replicas(n)
    words["task_names"], words["users"] = (payload.name,), users
    if isinstance(payload, UserActivity) and payload.groups:
        words["working_groups"] = ("", *payload.groups)
        rows["working_group"] = groups_of_users(payload, scenario.seed)[rows["user"]]
    words["user_parameters"] = (payload.word() if isinstance(payload, UserParameters) else "",)
    on_tape = uniforms(scenario.seed, "task_draw", key, index[:, None], _TAPE + np.arange(N_REPLICAS))
    return TaskList(rows, *places, words, replica_tape=on_tape < payload.replicas.tape, splitting=splitting,
                    dataset=read.dataset, container=read.container)


class _Read(NamedTuple):
    """Shared input of tasks: number of the dataset, and of the container that is read whole, (n_tasks,)
    each, and files of the datasets of that container, (n,)."""

    dataset: np.ndarray | None = None
    container: np.ndarray | None = None
    members: np.ndarray | None = None


def _read_dataset(tasks: np.ndarray, splitting: np.ndarray, payload: Payload, scenario: Scenario, key: int,
                  index) -> _Read:
    """Shared input of each task; the files and sizes of datasets become those of the tasks."""
    if not payload.shares_input:
        return _Read()
    shared, whole = catalogue(scenario), payload.read_whole
    if whole is not None:
        found = list(shared.members).index(whole), shared.members[whole]
        read = _Read(np.full(len(index), found[1][0]), np.full(len(index), found[0]), shared.n_files[found[1]])
        files, size = shared.n_files[found[1]].sum(), shared.bytes[found[1]].sum()
        jobs = pieces_of_members(shared.n_files[found[1]], None, payload.files_per_job).sum()
    else:
        number = datasets_read(shared, payload.dataset, payload.container, scenario.seed, key, index)
        read, files, size = _Read(number), shared.n_files[number], shared.bytes[number]
        jobs = np.ceil(files / payload.files_per_job)
    if payload.input is not None:
        splitting["n_files"], splitting["file_bytes"] = files, size / files
        return read
    tasks["n_jobs"], tasks["input_bytes_per_job"] = jobs, size / jobs
    if payload.iointensity is None:
        tasks["iointensity"] += size / jobs / 1e3 / np.maximum(_core_s(tasks, payload), 1)
    return read


def pieces_of_members(n_files: np.ndarray, split: np.void | None, files_per_job: int) -> np.ndarray:
    """Pieces of input of each dataset of a container, (n,), of which none crosses datasets.

    n_files: of each, (n,); split: row of SPLITTING of the task, None or without files = jobs of `files_per_job` files.
    """
    if split is None or not split["n_files"]:
        return -(-n_files // max(1, files_per_job))
    rows = np.repeat(np.asarray(split)[None], len(n_files))
    rows["n_files"] = n_files
    return n_pieces(rows)


def _fill_parameters(rows, payload: Payload, scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Fill in the parameters that the stream gives its tasks; returns the words used, by vocabulary."""
    names = dict(sites=list(scenario.grid.sites), shares=leaf_names(scenario))
    sheets = (TaskParameters, ProductionParameters) if isinstance(payload, Campaign) else (TaskParameters,)
    found = [fill(rows, [payload], sheet, names) for sheet in sheets]
    return {vocabulary: tuple(words) for each in found for vocabulary, words in each.items()}


def _splitting(payload: Payload, scenario: Scenario, key: int, index) -> np.ndarray:
    """Split of the input of each task, (n,) of SPLITTING: number and size of its files are drawn; 0 without any."""
    rows, files = SPLITTING.empty(len(index)), payload.input
    if files is None:
        return rows
    fill(rows, [payload], SplitParameters, {})
    if files.files is not None:
        rows["n_files"] = draw_number(files.files, scenario.seed, key, index, _FILES)
    rows["file_bytes"] = draw(files.file_size, scenario.seed, key, index, _FILE_SIZE)
    rows["events_per_file"], rows["events_spread"] = files.events_per_file, files.events_spread
    rows["size_spread"], rows["output_bytes_per_event"] = files.size_spread, payload.output_per_event
    rows["events_per_piece"] = payload.events_per_piece
    rows["across_files"] = TERMS[scenario.edition].across_files and payload.nEventsPerJob > 0
    rows["secondary_ratio"], rows["secondary_bytes"] = files.secondary_ratio, files.secondary_file_size
    rows["files_per_lumiblock"] = files.files_per_lumiblock if payload.respectLB else 0
    rows["files_per_boundary"] = files.files_per_boundary if payload.groupBoundaryID else 0
    return rows


def n_pieces(rows: np.ndarray) -> np.ndarray:
    """Pieces of input of each task with files, (n,): files, or parts of files; across files only the last is shorter.

    Source: JEDI TWiki, event-level splitting (a job may have the end of a file and the beginning of the next); in the
    deployed edition none does (lifecycle reference, section 2.6).
    """
    files, events, size = (rows[name].astype(np.int64) for name in ("n_files", "events_per_file", "events_per_piece"))
    split = size > 0
    size = np.maximum(size, 1)
    parts = np.where(rows["across_files"] == 1, -(-files * events // size), files * -(-events // size))
    return np.where(split, parts, files)


def _fill_pieces(tasks: np.ndarray, rows: np.ndarray, payload: Payload, scenario: Scenario,
                 members: np.ndarray | None) -> None:
    """Fill the rows of tasks with files, which count pieces of input; other rows count jobs.

    members: files of each dataset of the container that the tasks read whole, if they do.
    """
    if payload.input is None:
        return
    pieces = n_pieces(rows)
    if members is not None and len(rows):
        pieces[:] = pieces_of_members(members, rows[0], 0).sum()
    events = rows["n_files"].astype(np.int64) * rows["events_per_file"] / pieces
    master, secondary = rows["n_files"] * rows["file_bytes"] / pieces, rows["secondary_ratio"] * rows["secondary_bytes"]
    lists, secondaries = secondary_lists(scenario), list(payload.input.secondaries)
    if payload.name in lists:
        rows["secondaries"] = 1 + list(lists).index(payload.name)
        secondaries = with_sizes(secondaries, catalogue(scenario))
    more = [one.files_for(events) for one in secondaries]
    secondary = secondary + sum(n * one.file_size for n, one in zip(more, secondaries, strict=True))
    inputs, outputs = master + secondary, rows["output_bytes_per_event"] * events
    tasks["n_jobs"], tasks["n_input_files"] = pieces, 1 + np.rint(rows["secondary_ratio"] + sum(more))
    tasks["n_events_per_job"] = np.maximum(1, np.rint(events))
    tasks["input_bytes_per_job"], tasks["output_bytes_per_job"] = inputs, outputs
    tasks["secondary_fraction"] = np.divide(secondary, inputs, out=np.zeros(len(rows)), where=inputs > 0)
    if payload.iointensity is None:
        work_s = tasks["work_hs06s_per_event"] * events / payload.cpu_efficiency / payload.corepower
        tasks["iointensity"] = (inputs + outputs) / 1e3 / np.maximum(work_s, 1)


def attempts_of(payload: Payload, edition: str) -> tuple[int, int]:
    """maxAttempt and maxFailure of a stream's tasks; 0 = maxFailure is not set.

    Source of the defaults: JEDI TWiki, Job rebrokerage; in `deployed` lifecycle reference, section 2.6.
    """
    analysis = TERMS[edition].analysis_attempts and payload.prodsourcelabel in ANALYSIS_LABELS
    attempts, failures = DEPLOYED_ANALYSIS_ATTEMPTS if analysis else DEFAULT_ATTEMPTS
    return payload.max_attempt or attempts, payload.max_failure or failures


def _fill_work(rows, payload: Payload, seed: int, key: int, index) -> None:
    """Number of jobs, true CPU work, and what is claimed of it; `hs06sec` holds wall time, hence the efficiency."""
    rows["n_jobs"] = draw_number(payload.jobs_per_task, seed, key, index, _JOBS)
    true = draw(payload.hs06sec_per_event, seed, key, index, _WORK) * payload.cpu_efficiency
    rows["work_hs06s_per_event"] = true
    rows["cputime"] = true * draw(payload.cputime_ratio, seed, key, index, _CPUTIME)
    rows["work_spread"] = payload.work_spread
    rows["cpu_efficiency"] = payload.cpu_efficiency


def _fill_memory(rows, payload: Payload, seed: int, key: int, index) -> None:
    """True memory of a job, all cores together, and what is claimed of it: as said, or as scouts would measure it."""
    rows["maxpss_mb"] = draw(payload.memory_per_core, seed, key, index, _MEMORY) * payload.cores
    rows["memory_spread"] = payload.memory_spread
    if payload.ramcount is None:
        measured = rows["maxpss_mb"] * np.exp(payload.memory_spread * UPPER_QUARTILE) * RAM_MARGIN
        cores = 1 if payload.ramunit == "MB" else payload.cores
        rows["ramcount"] = np.ceil(np.maximum(measured - payload.baseramcount, 1) / cores)
    else:
        rows["ramcount"] = payload.ramcount


def _fill_files(rows, payload: Payload, seed: int, key: int, index) -> None:
    """Sizes of input, output and scratch, and the rate at which the payload reads and writes."""
    events = payload.events_per_job
    inputs = payload.input_per_event * events + draw(payload.input_per_job, seed, key, index, _INPUT)
    outputs = payload.output_per_event * events + draw(payload.output_per_job, seed, key, index, _OUTPUT)
    rows["input_bytes_per_job"], rows["output_bytes_per_job"] = inputs, outputs
    claimed = payload.iointensity
    rows["iointensity"] = (inputs + outputs) / 1e3 / _core_s(rows, payload) if claimed is None else claimed


def _core_s(rows, payload: Payload) -> np.ndarray:
    """Wall time x cores of a job of each task, s."""
    return payload.basewalltime * payload.cores + (
        rows["work_hs06s_per_event"] * payload.events_per_job / payload.cpu_efficiency / payload.corepower)


def _replicas(payload: Payload, scenario: Scenario, key: int, index) -> tuple[np.ndarray, np.ndarray]:
    """Sites that hold the input of each task, drawn without repetition by the size of their storage, and how much."""
    sites, numbers, weight = holders(scenario.grid, payload.replicas.where)
    n_replicas = min(payload.replicas.number, len(sites), N_REPLICAS)
    place, fraction = no_replicas(len(index))
    site_key = np.array([key_of(site) for site in sites], np.int64)
    race = -np.log(uniforms(scenario.seed, "task_draw", key, index[:, None], site_key)) / weight
    first = np.argpartition(race, range(n_replicas) or [0], axis=1)[:, :n_replicas]
    place[:, :n_replicas] = numbers[first]
    low, high = _COMPLETENESS
    replica = _REPLICA + np.arange(n_replicas)
    dice = uniforms(scenario.seed, "task_draw", key, index[:, None], replica)
    part = low + (high - low) * uniforms(scenario.seed, "task_draw", key, index[:, None], replica + N_REPLICAS)
    fraction[:, :n_replicas] = np.where(dice < payload.replicas.incomplete, part, 1)
    fraction[:, :1] = min(n_replicas, 1)
    return place, fraction
