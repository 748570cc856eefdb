"""Facts of the tasks of a snapshot beyond the tables of the world: next jobs, input file by file, and users."""

from collections.abc import Sequence
from math import inf, isnan, nan

import numpy as np

from simgrid_broker.gdpconfig import jobbroker
from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.policy.availability import Endpoint, Terms, analysis_datasets, found_at, is_read
from simgrid_broker.policy.brokerage.analysis.locality import REFERENCE_COREPOWER, Limits, most_size, n_jobs
from simgrid_broker.policy.brokerage.production.estimates import counts_hs06, work_space_bytes
from simgrid_broker.policy.brokerage.task.nuclei import NO_STORAGE, input_of_nuclei, matching, wanted
from simgrid_broker.policy.tasks.splitting import (
    MOST_FILES,
    MOST_FILES_OF_MERGING,
    TERMS,
    Cut,
    LargestJob,
    largest_job,
    mib,
)
from simgrid_broker.scenario.snapshot import ANALYSIS_BROKERAGE, OwnerNumbers, Snapshot, SnapshotTask
from simgrid_broker.schema.attribute import fields_shown
from simgrid_broker.units import GIB, KIB, MIB
from simgrid_broker.views import USER_AT, Gdpconfig, InputAt, JobInput, Owner, Premerge, Quota, UserView
from simgrid_broker.world.queues.places import input_of_sites, space_of
from simgrid_broker.world.snapshot.records import TaskFacts
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

BYTES = {"kB": KIB, "MB": MIB, "GB": GIB}
"""Beginnings of `outdiskunit`; source: brokerage reference, 8.2."""
OVER, NEAR, UNKNOWN = "over global quota", "close to global limit", "failed to check quota"
"""PanDA's words for a global quota, where a snapshot does not say them."""


def add_facts(world: World, snapshot: Snapshot, row: int, task: SnapshotTask, cfg: Gdpconfig) -> None:
    """Add the facts of a task that the tables of the world do not hold."""
    job = largest_job(task.datasets, cut_of(task)) if task.datasets else None
    fields = fields_of(world, task) | ({} if job is None else of_job(job))
    world.facts[row] = facts = TaskFacts(fields)               # views of the task, read below, have these fields
    if task.outdiskcount is not None:
        fields["output_bytes_per_job"] = output_bytes(task, usual_job(world, row) if job is None else job)
    if task.datasets:
        heavy = task.iointensity > cfg.value(jobbroker.IO_INTENSITY_CUTOFF) and not task.inputPreStaging
        given = found_at(task.datasets, endpoints(world), world.places.reads, from_cvmfs(world),
                         Terms(task.next_jobs.merging, not heavy))
        nuclei = input_of_nuclei(task.datasets, task.taskBrokerOnMaster, endpoints(world),
                                 input_of_sites(world.places.grid, world.places.reads))
        fields |= dict(total_input_bytes=nuclei.total_bytes, total_input_files=nuclei.total_files)
        facts = facts._replace(input=JobInput((), given.inputs, world.places.site, given), input_of_nuclei=nuclei)
    tokens = wanted(task.outputs)
    facts = facts._replace(uniform=task.next_jobs.u, work_hs06s=task.remaining_work,
                           output=output_storages(world, tokens) if tokens else None)
    if task.broker == ANALYSIS_BROKERAGE:
        facts = facts._replace(user=user_view(world, snapshot, task, observe.task(world, row).gshare),
                               input_at_queues=input_at_queues(world, row, task) if task.datasets else None)
    world.facts[row] = facts


def from_cvmfs(world: World) -> list[bool]:
    """Test of each PanDA queue for database releases that come from CVMFS."""
    return [queue.is_cvmfs for queue in world.scenario.grid.queues.values()]


def input_at_queues(world: World, row: int, task: SnapshotTask) -> tuple[InputAt, float]:
    """Input of an analysis task at each PanDA queue, and the jobs that it makes."""
    datasets = analysis_datasets(task.datasets, endpoints(world), world.analysis_places.reads, from_cvmfs(world))
    size = sum(file.bytes for one in task.datasets.values() if is_read(one) for file in one.files.values())
    return InputAt(datasets, size), float(jobs_of(world, row, task))


def jobs_of(world: World, row: int, task: SnapshotTask) -> int:
    """Jobs that the files of a task make, as analysis brokerage estimates it."""
    seen = observe.task(world, row)
    per_mib = seen.output_bytes_per_job / (seen.primary_mib or 1.0)
    work = work_space_bytes(seen.workdisk_bytes, TERMS[world.scenario.edition].work_margin)
    seconds = 0.0
    if counts_hs06(seen) and not isnan(seen.cputime) and not isnan(seen.cpuefficiency):
        seconds = seen.cputime / max(seen.corecount, 1) / REFERENCE_COREPOWER / (seen.cpuefficiency / 100)
    split = task.splitting
    return n_jobs(list(task.datasets.values()), Limits(
        split.nFilesPerJob, split.nEventsPerJob, split.nMaxFilesPerJob,
        most_size(seen.bytes_per_job, task.scouting, work), per_mib, work, seconds,
        seen.basewalltime_s if counts_hs06(seen) else 0.0))


def output_storages(world: World, tokens: Sequence[str]) -> np.ndarray:
    """The storage of each site for output, (n_sites,), -1 where a token fits none; of several the worst.

    That is one that is closed, else the one with the smallest part of its space left.
    """
    nouns, rows = list(world.scenario.grid.storages.items()), world.arrays.storages
    passes = observe.PASSES[world.scenario.edition]
    usable, _ = space_of(rows, inf)
    is_open = passes[rows["read_wan_off"]] & passes[rows["write_wan_off"]]
    chosen = []
    for storages in world.places.nucleus_output:
        fitting = [matching(token, [(nouns[number][0], nouns[number][1].type) for number in storages])
                   for token in tokens]
        chosen.append(NO_STORAGE if NO_STORAGE in fitting else min(
            (storages[place] for place in dict.fromkeys(fitting)),
            key=lambda number: (is_open[number], usable[number] / (rows["total_bytes"][number] or 1))))
    return np.array(chosen, np.int64)


def endpoints(world: World) -> list[Endpoint]:
    """The storages of the grid."""
    passes, rows = observe.PASSES[world.scenario.edition], world.arrays.storages
    return [Endpoint(name, storage.tape, storage.type == "DATADISK", bool(passes[row["read_lan_off"]]),
                     bool(passes[row["read_wan_off"]]))
            for (name, storage), row in zip(world.scenario.grid.storages.items(), rows, strict=True)]


def cut_of(task: SnapshotTask) -> Cut:
    """Limits by which the smallest jobs are cut."""
    split = task.splitting
    if task.next_jobs.merging:
        return Cut(split.nFilesPerMergeJob, split.nEventsPerMergeJob,
                   split.nMaxFilesPerMergeJob or MOST_FILES_OF_MERGING)
    return Cut(split.nFilesPerJob, split.nEventsPerJob, split.nMaxFilesPerJob or MOST_FILES)


def usual_job(world: World, row: int) -> LargestJob:
    """A job of a task whose input is not said file by file: its files are of one size."""
    seen = observe.task(world, row)
    n_files = max(seen.n_files_per_job, 1)
    size = seen.input_bytes_per_job
    return LargestJob(size, n_files * mib(size / n_files), int(seen.n_events_per_job))


def of_job(job: LargestJob) -> dict:
    """Fields of the view of a task that follow from the size of its jobs."""
    return dict(n_events_per_job=job.events, input_bytes_per_job=job.bytes, primary_mib=job.primary_mib)


def output_bytes(task: SnapshotTask, job: LargestJob) -> float:
    """Output of a job by `outdiskcount`, for each of its events or each MiB of its primary input."""
    by_event = "PerEvent" in task.outdiskunit
    unit = next((size for word, size in BYTES.items() if task.outdiskunit.startswith(word)), 1)
    return max(task.outdiskcount or 0.0, 0.0) * unit * (job.events if by_event else job.primary_mib)


def fields_of(world: World, task: SnapshotTask) -> dict:
    """Fields of the view of a task that the tables do not hold: those of the sheet, and those that follow from several
    keys."""
    words, jobs = world.vocabularies, task.next_jobs
    fields = fields_shown(task, words) | fields_shown(jobs, words) | dict(ramcount=memory(task))
    if task.broker == ANALYSIS_BROKERAGE:
        fields["bytes_per_job"] = task.splitting.nGBPerJob * GIB or nan
    if task.nJumboJobs:
        fields["jumbo_events"] = inf if jobs.ready_events is None else jobs.ready_events
    if task.cputimeunit is not None:
        fields["cputime"] = task.cputime / (1000 if task.cputimeunit.startswith("m") else 1) or nan
    if task.ipStack and "#" not in task.ipConnectivity:
        fields["ipconnectivity"] = f"{task.ipConnectivity}#{task.ipStack}"
    if jobs.premerge is not None:
        idle = -1.0 if jobs.premerge.input_idle is None else jobs.premerge.input_idle
        fields["premerge"] = Premerge(words["queues"].index(jobs.premerge.queue), idle, task.frozen_for)
    return fields


def memory(task: SnapshotTask) -> float:
    """Memory that the next jobs ask for; merge jobs have only what their input asks for; source: reference, 8.1."""
    asked = task.next_jobs.ramcount
    return (asked if task.next_jobs.merging else max(task.ramcount, asked)) or nan


def user_view(world: World, snapshot: Snapshot, task: SnapshotTask, share: str) -> UserView:
    """The user of a task in a share, as analysis brokerage sees it."""
    owner = snapshot.users.get(task.workinggroup or task.username, OwnerNumbers())
    user = snapshot.users.get(task.username, OwnerNumbers())
    used = snapshot.share_usage.get(share)
    numbers = (owner.running_jobs, owner.queued_jobs, owner.running_cores, owner.queued_cores)
    return UserView(
        users_at(world, snapshot, task, share, owner), Owner(*map(or_nan, numbers)),
        None if task.task_class is None else int(TaskClass[task.task_class]), or_nan(user.rem_slots_A),
        nan if used is None else used.usage, nan if used is None else or_nan(used.equivalent), quota_of(owner))


def or_nan(number: float | None) -> float:
    """A number, NaN = unknown."""
    return nan if number is None else float(number)


def quota_of(owner: OwnerNumbers) -> Quota:
    """The global quota of a user or a working group."""
    words = {"over": OVER, "near": NEAR, "unknown": UNKNOWN}
    message = words.get(owner.quota, "") if owner.quota_message is None else owner.quota_message
    return Quota(owner.quota in ("over", "unknown"), owner.quota == "near", message)


def users_at(world: World, snapshot: Snapshot, task: SnapshotTask, share: str, owner: OwnerNumbers) -> np.ndarray:
    """Users at each PanDA queue, (n_queues,) of `views.USER_AT`."""
    queues, storages = world.vocabularies["queues"], list(world.scenario.grid.storages)
    at = np.zeros(len(queues), USER_AT)
    at["user_queued"] = at["user_running"] = at["users_running"] = nan
    for row in snapshot.user_jobs:
        if row.share == share:
            one = at[queues.index(row.queue)]
            if row.user is None:
                one["users_running"] = row.running
            counted = row.users if row.users is not None else one["n_users"] + (row.user is not None)
            one["n_users"] = max(counted, one["n_users"])
            if row.user == task.username:
                one["user_queued"], one["user_running"] = row.queued, row.running
    full = [storages.index(name) for name in owner.full_storages]
    at["over_quota"] = np.isin(world.analysis_places.output, full)
    for number, name in enumerate(queues):
        queue, one = snapshot.queues.get(name), at[number]
        if queue is not None:
            one["to_running_rate"] = queue.to_running_rate
            one["site_class"] = SiteClass.MID if queue.site_class is None else SiteClass.of(queue.site_class)
        if (ended := task.ended_jobs.get(name)) is not None:
            one["failed"], one["closed"], one["finished"] = ended.failed, ended.closed, ended.finished
        one["used"] = name in task.used_queues
    return at
