"""What a snapshot says of its tasks beyond the tables of the world: the next jobs, and their input file by file."""

from collections.abc import Sequence
from math import inf, isnan, nan

import numpy as np

from simgrid_broker.gdpconfig import jobbroker
from simgrid_broker.policy.availability import Endpoint, Terms, analysis_datasets, found_at, is_read
from simgrid_broker.policy.brokerage.analysis.locality import REFERENCE_COREPOWER, limits_of, n_jobs
from simgrid_broker.policy.brokerage.production.estimates import counts_hs06, work_space_bytes
from simgrid_broker.policy.brokerage.task.storages import NO_STORAGE, input_of_nuclei, matching, wanted
from simgrid_broker.policy.tasks.splitting import (
    MOST_FILES,
    MOST_FILES_OF_MERGING,
    Cut,
    LargestJob,
    largest_job,
    mib,
)
from simgrid_broker.scenario.snapshot_task import ANALYSIS_BROKERAGE, SnapshotTask
from simgrid_broker.units import GIB, KIB, MIB
from simgrid_broker.views import Gdpconfig, InputAt, JobInput, Premerge
from simgrid_broker.world.snapshot.told import ToldTask
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

BYTES = {"kB": KIB, "MB": MIB, "GB": GIB}
"""Beginnings of `outdiskunit`; source: brokerage reference, 8.2."""


def tell(world: World, row: int, task: SnapshotTask, cfg: Gdpconfig) -> None:
    """Keep what a task of a snapshot says for the views of the brokers."""
    job = largest_job(task.datasets, cut_of(task)) if task.datasets else None
    world.told[row] = fields_of(world, task) | ({} if job is None else of_job(job))
    if task.outdiskcount is not None:
        world.told[row]["output_bytes_per_job"] = output_bytes(task, usual_job(world, row) if job is None else job)
    if task.datasets:
        heavy = task.iointensity > cfg.value(jobbroker.IO_INTENSITY_CUTOFF) and not task.inputPreStaging
        terms = Terms(task.next_jobs.merging, not heavy)
        told = found_at(task.datasets, endpoints(world), world.places.reads,
                        [queue.is_cvmfs for queue in world.scenario.grid.queues.values()], terms)
        world.inputs[row] = JobInput((), told.inputs, world.places.site, told)
    if task.broker == ANALYSIS_BROKERAGE:
        tell_analysis(world, row, task)
    world.told_tasks[row] = for_task_brokerage(world, task)
    if (found := world.told_tasks[row].input) is not None:
        world.told[row] |= dict(total_input_bytes=found.total_bytes, total_input_files=found.total_files)


def tell_analysis(world: World, row: int, task: SnapshotTask) -> None:
    """Keep what only analysis brokerage reads of a task: fields of its view, and its input at each queue."""
    world.told[row] |= dict(bytes_per_job=task.splitting.nGBPerJob * GIB or nan, is_scouting=task.scouting,
                            is_hpo=task.hpo)
    if task.datasets:
        given = InputAt(analysis_datasets(task.datasets, endpoints(world), world.analysis_places.reads,
                                          [queue.is_cvmfs for queue in world.scenario.grid.queues.values()]),
                        sum(file.bytes for one in task.datasets.values() if is_read(one)
                            for file in one.files.values()))
        world.analysis_inputs[row] = given, float(jobs_of(world, row, task))


def jobs_of(world: World, row: int, task: SnapshotTask) -> int:
    """Jobs that the files of a task make, as analysis brokerage estimates it."""
    seen = observe.task(world, row)
    per_mib = seen.output_bytes_per_job / (seen.primary_mib or 1.0)
    work = work_space_bytes(seen.workdisk_bytes, world.scenario.edition == "deployed")
    seconds = 0.0
    if counts_hs06(seen) and not isnan(seen.cputime) and not isnan(seen.cpuefficiency):
        seconds = seen.cputime / max(seen.corecount, 1) / REFERENCE_COREPOWER / (seen.cpuefficiency / 100)
    split = task.splitting
    return n_jobs(list(task.datasets.values()), limits_of(
        split.nFilesPerJob, split.nEventsPerJob, split.nMaxFilesPerJob, seen.bytes_per_job, task.scouting, per_mib,
        work, seconds, seen.basewalltime_s if counts_hs06(seen) else 0.0))


def for_task_brokerage(world: World, task: SnapshotTask) -> ToldTask:
    """What a task of a snapshot says to task brokerage."""
    found = None
    if task.datasets:
        found = input_of_nuclei(task.datasets, task.taskBrokerOnMaster, endpoints(world),
                                of_sites(world, world.places.reads))
    tokens = wanted(task.outputs)
    return ToldTask(task.next_jobs.u, task.remaining_work, output_storages(world, tokens) if tokens else None, found)


def of_sites(world: World, used: Sequence[Sequence[int]]) -> list[list[int]]:
    """Storages that the production queues of each site use, each once; used: by queue."""
    places, sites = world.places, world.vocabularies["sites"]
    found: list[dict[int, None]] = [{} for _ in sites]
    for queue in np.flatnonzero(places.production).tolist():
        found[places.site[queue]] |= dict.fromkeys(used[queue])
    return [list(one) for one in found]


def output_storages(world: World, tokens: Sequence[str]) -> np.ndarray:
    """The storage of each site for output, (n_sites,), -1 where a token fits none; of several the worst.

    That is one that is closed, else the one with the smallest part of its space left.
    """
    nouns, rows = list(world.scenario.grid.storages.items()), world.arrays.storages
    passes = observe.PASSES[world.scenario.edition]
    usable = rows["free_bytes"] + rows["expired_bytes"] - rows["min_free_bytes"] - rows["unavailable_bytes"]
    is_open = passes[rows["read_wan_off"]] & passes[rows["write_wan_off"]]
    chosen = []
    for known in of_sites(world, world.places.writes):
        found = [matching(token, [(nouns[number][0], nouns[number][1].type) for number in known]) for token in tokens]
        chosen.append(NO_STORAGE if NO_STORAGE in found else min(
            (known[place] for place in dict.fromkeys(found)),
            key=lambda number: (is_open[number], usable[number] / (rows["total_bytes"][number] or 1))))
    return np.array(chosen, np.int64)


def endpoints(world: World) -> list[Endpoint]:
    """The storages of the grid."""
    passes, rows = observe.PASSES[world.scenario.edition], world.arrays.storages
    return [Endpoint(name, storage.tape, storage.type == "DATADISK", bool(passes[row["read_lan_off"]]),
                     bool(passes[row["read_wan_off"]]))
            for (name, storage), row in zip(world.scenario.grid.storages.items(), rows, strict=True)]


def cut_of(task: SnapshotTask) -> Cut:
    """How the smallest jobs are cut."""
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
    return (task.outdiskcount or 0.0) * unit * (job.events if by_event else job.primary_mib)


def fields_of(world: World, task: SnapshotTask) -> dict:
    """Fields of the view of a task that the tables do not hold."""
    words, jobs = world.vocabularies, task.next_jobs
    found: dict = dict(
        is_merging=jobs.merging, job_cloning=task.useJobCloning, walltimeunit=task.walltimeunit,
        ramcount=memory(task), mergeramcount=task.mergeramcount or nan, mergecorecount=task.mergecorecount,
        jumbo_chunk=jobs.jumbo or "")
    if task.without_share:
        found["gshare"] = ""
    if jobs.scout is not None:
        found["is_scout"] = jobs.scout
    if task.resource_type is not None:
        found["resource_type"] = words["resource_types"].index(task.resource_type)
    if task.nJumboJobs:
        found["jumbo_events"] = inf if jobs.ready_events is None else jobs.ready_events
    if task.cputimeunit is not None:
        small = task.cputimeunit.startswith("m")
        found |= dict(cputimeunit=task.cputimeunit, cputime=task.cputime / (1000 if small else 1) or nan)
    if task.ipStack and "#" not in task.ipConnectivity:
        found["ipconnectivity"] = f"{task.ipConnectivity}#{task.ipStack}"
    if jobs.premerge is not None:
        idle = -1.0 if jobs.premerge.input_idle is None else jobs.premerge.input_idle
        found["premerge"] = Premerge(words["queues"].index(jobs.premerge.queue), idle, task.frozen_for)
    return found


def memory(task: SnapshotTask) -> float:
    """Memory that the next jobs ask for; merge jobs have only what their input asks for; source: reference, 8.1."""
    asked = task.next_jobs.ramcount
    return (asked if task.next_jobs.merging else max(task.ramcount, asked)) or nan
