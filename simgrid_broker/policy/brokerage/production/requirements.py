"""Memory, scratch disk and wall time of a job against the limits of a queue (tags: brokerage reference, P12, P14, P17),
and what its worker nodes offer: jumbo jobs, direct reading, network, event service.

Both editions spare a task with a single pre-assigned queue where the brokerage reference, section 2.3, says so.
"""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import VERY_HIGH_PRIORITY
from simgrid_broker.policy.brokerage.production import estimates, question
from simgrid_broker.policy.brokerage.production.candidates import NAMED, is_spared
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.rule import JOB_BROKERAGE, Answer, below, candidate_criterion, criterion
from simgrid_broker.units import DAY

REFERENCE_COREPOWER = 10
"""HS06 per core of the 24-hour rule in the deployed edition; source: brokerage reference, section 8.3 (D52)."""

STEP_2, SECTION_8 = f"{JOB_BROKERAGE}, step 2", "brokerage reference, section 8"
BOTH: Any = {"source": f"{STEP_2}; {SECTION_8}"}
DOCUMENTED: Any = {"source": STEP_2, "editions": ("documented",)}
DEPLOYED: Any = {"source": SECTION_8, "editions": ("deployed",)}

SCRATCH = "{limit} free in scratch, {value} needed"
WORK, DAY_UNITS = "HS06 s, or s x cores", ByEdition("s", "HS06 s")
DAY_SAYS = ByEdition("maxtime {value}, {limit} needed", "{value} of work fit into maxtime, {limit} needed")
"""Units and sentence of the rule of 24 hours."""


@compiled
def asks_for_memory(task):
    """True if the memory of a job is known."""
    return not np.isnan(task["ram_mb"])


@candidate_criterion("-lowmemory", unit="MB", says="{value} needed, maxrss {limit}", applies=asks_for_memory,
                     panda="selection for memory", stage="memory check", **BOTH)
def too_little_memory(task, queue, load, link, store, numbers):
    """Refuse queues whose memory limit is below the estimate; a task without a memory figure passes (D49)."""
    need = estimates.memory_mb(task, queue)
    return asks_for_memory(task) and need > queue["maxrss_mb"], need, queue["maxrss_mb"]


@candidate_criterion("-highmemory", unit="MB", says="{value} needed, minrss {limit}", applies=asks_for_memory,
                     panda="selection for memory", stage="memory check", **BOTH)
def too_much_memory(task, queue, load, link, store, numbers):
    """Refuse queues that are reserved for jobs with more memory than the estimate (D49); an estimate of 0 passes."""
    need = estimates.memory_mb(task, queue)
    return asks_for_memory(task) and need != 0 and need < queue["minrss_mb"], need, queue["minrss_mb"]


@candidate_criterion("-disk", unit="bytes", says=SCRATCH, panda="selection for scratch disk", stage="disk check",
                     **DOCUMENTED)
def too_little_scratch(task, queue, load, link, store, numbers):
    """Refuse queues whose maxwdir divided by their core count is not larger than the disk usage of a job (D50)."""
    need_bytes = estimates.scratch_bytes(task, queue)
    limit_bytes = queue["maxwdir_mb"] * 1e6 / estimates.slot_cores(queue)
    return 0 < limit_bytes <= need_bytes, need_bytes, limit_bytes


@candidate_criterion("-disk", unit="MiB", says=SCRATCH, panda="selection for scratch disk", stage="disk check",
                     **DEPLOYED)
def too_little_scratch_deployed(task, queue, load, link, store, numbers):
    """Refuse queues whose maxwdir, for single-core tasks but event service per core, is below the disk usage (D50)."""
    limit = queue["maxwdir_mb"] / (estimates.slot_cores(queue) if task["single_core"] else 1)
    need = estimates.scratch_deployed_mib(task, queue)
    return 0 < limit < need, need, limit


def knows_walltime(task):
    """True if the wall time of a job is known."""
    return task["walltime_is_known"]


@candidate_criterion("-shortwalltime", unit="s", says="{value} needed, maxtime {limit}", applies=knows_walltime,
                     panda="selection for walltime", stage="walltime check", **DOCUMENTED)
def too_little_walltime(task, queue, load, link, store, numbers):
    """Refuse queues whose maxtime is below the estimated wall time; a task whose wall time is not known passes."""
    need_s = estimates.walltime_s(task, queue, estimates.least_work(task, queue))
    return task["walltime_is_known"] and need_s > queue["maxtime_s"], need_s, queue["maxtime_s"]


@candidate_criterion("-shortwalltime", unit=WORK, text=question.unit_of_work, applies=knows_walltime,
                     says="{value:plain} {text} of work needed, {limit:plain} {text} fit into maxtime",
                     panda="selection for walltime", stage="walltime check", **DEPLOYED)
def too_little_walltime_deployed(task, queue, load, link, store, numbers):
    """Refuse queues whose maxtime, scaled to whole HS06 s, is below the work of a job (D54)."""
    need, limit = estimates.least_work(task, queue), estimates.work_limit(task, queue, queue["maxtime_s"])
    return task["walltime_is_known"] and need > limit, need, limit


@compiled
def scouts_want_a_day(task):
    """True if jobs are scouts, and so need queues of 24 hours."""
    return task["is_scout"] and (not task["single"] or task["wants_a_day"])


@compiled
def others_want_a_day(task):
    """True if jobs that do not scout need queues of 24 hours."""
    return not task["is_scout"] and task["wants_a_day"]


@candidate_criterion("-scout_walltime", unit=DAY_UNITS, says=DAY_SAYS, applies=scouts_want_a_day,
                     panda="selection for walltime of scouts", stage="walltime check", **BOTH)
def too_short_for_scouts(task, queue, load, link, store, numbers):
    """Refuse queues with less than 24 hours, in the deployed edition of a reference core, to scouts (D52).

    The deployed edition spares a single queue that the task names, unless the rule for other jobs concerns the task.
    """
    return below_a_day(task, queue, scouts_want_a_day(task))


@candidate_criterion("-min_walltime", unit=DAY_UNITS, says=DAY_SAYS, applies=others_want_a_day,
                     panda="selection for undefined walltime", stage="walltime check", **BOTH)
def too_short_for_unknown(task, queue, load, link, store, numbers):
    """Refuse queues with less than 24 hours to tasks whose wall time is not defined.

    In the deployed edition hours of a reference core, and to merging as well (D52, D53).
    """
    return below_a_day(task, queue, others_want_a_day(task))


@compiled
def below_a_day(task, queue, concerned):
    """Test for a maxtime below a day, with both figures.

    The deployed edition scales it, 0 as well, which gives a negative limit if there is a baseWalltime; a scaled limit
    of exactly 0 passes (brokerage reference, 8.3).
    """
    if not task["day_is_scaled"]:
        return concerned and queue["maxtime_s"] < DAY, queue["maxtime_s"], float(DAY)
    maxtime_s = 0.0 if np.isinf(queue["maxtime_s"]) else queue["maxtime_s"]       # as written; PanDA scales 0, too
    scaled = estimates.work_limit(task, queue, maxtime_s)
    limit = float(DAY * REFERENCE_COREPOWER * estimates.cores(queue))
    return concerned and scaled != 0 and scaled < limit, scaled, limit


@candidate_criterion("-longwalltime", unit="s", says="{value} needed, mintime {limit}", applies=knows_walltime,
                     panda="selection for walltime", stage="walltime check", **DOCUMENTED)
def too_much_walltime(task, queue, load, link, store, numbers):
    """Refuse queues whose mintime is above the estimated wall time."""
    need_s = estimates.walltime_s(task, queue, estimates.most_work(task, queue))
    return task["walltime_is_known"] and need_s < queue["mintime_s"], need_s, queue["mintime_s"]


@candidate_criterion("-longwalltime", unit=WORK, text=question.unit_of_work,
                     says="{value:plain} {text} of work needed, mintime asks for {limit:plain} {text}",
                     panda="selection for walltime", stage="walltime check", **DEPLOYED)
def too_much_walltime_deployed(task, queue, load, link, store, numbers):
    """Refuse queues with a mintime whose scaled value is above the work of a job, or whose work is undefined (D54).

    A cpuTime that is not claimed makes 0 HS06 s of work here, not undefined work; source: brokerage reference, 8.3.
    """
    need, limit = estimates.most_work(task, queue), estimates.work_limit(task, queue, queue["mintime_s"])
    if task["counts_hs06"] and not task["walltime_is_known"]:
        need = 0.0
    return queue["mintime_s"] > 0 and not need >= limit, need, limit


ONLY = "only"
"""allowInputLAN of a task that reads its input directly or not at all."""
STORED_NETWORKS = ("full", "http")
"""Words that the deployed edition keeps of a task's ipConnectivity; source: brokerage reference, 2.3 (D24)."""
SPARES_MERGING = ByEdition(False, True)
"""Merge jobs need not read directly."""
ACCEPTED = {"full": ("full", "http", "none"), "http": ("http", "none"), "none": ("none",)}
"""Networks of tasks that a queue's network accepts; source: PanDA brokerage documentation, step 2."""

EVENT_SERVICE = {"panda": "selection for event service", "stage": "EventService check",
 "static": (*NAMED, "event_service", "job_cloning"),
                 "source": f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.2 and 2.3 P19"}
JUMBO = {"panda": "selection for jumbo jobs", "static": (*NAMED, "jumbo_events"), "editions": ("deployed",),
         "source": "brokerage reference, 2.3 P8 (D23)"}


def makes_no_jumbo_jobs(case: JobCase) -> bool:
    """True if queues for jumbo jobs are closed to the task."""
    return case.task.jumbo_events < 0 and not is_spared(case)


def makes_jumbo_jobs(case: JobCase) -> bool:
    """True if the task makes jumbo jobs, for which brokerage chooses the queues."""
    return case.task.jumbo_events >= 0 and not is_spared(case)


@criterion("-jumbo", says="for jumbo jobs only (useJumboJobs)", applies=makes_no_jumbo_jobs, stage="jumbo job check",
           **JUMBO)
def kept_for_jumbo(case: JobCase) -> np.ndarray:
    """Refuse queues with useJumboJobs to tasks that make no jumbo jobs."""
    return case.queues.use_jumbo_jobs


@criterion("-fewevents", unit="events", says="{value} ready, jumbo jobs need {limit:plain}", applies=makes_jumbo_jobs,
           stage="jumbo events check", **JUMBO)
def too_few_events(case: JobCase) -> Answer:
    """Refuse queues with useJumboJobs whose minEventsForJumbo is above the events that a task has ready."""
    return below(case.task.jumbo_events, case.queues.min_events_for_jumbo, case.queues.use_jumbo_jobs)


def reads_directly_only(case: JobCase) -> bool:
    """True if jobs must read their input directly from a storage."""
    spared = SPARES_MERGING[case.edition] and case.task.is_merging
    return case.task.allowinputlan == ONLY and not spared


@criterion("-remoteio", says="input cannot be read directly from its storage", applies=reads_directly_only,
           panda="selection for direct access", stage="disk check", static=("allowinputlan", "is_merging"),
           source=f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.3 P13")
def only_copies(case: JobCase) -> np.ndarray:
    """Refuse queues without direct reading to tasks that use nothing else; the deployed edition spares merge jobs."""
    return ~case.queues.direct_io


def asks_for_network(case: JobCase) -> bool:
    """True if jobs need a network."""
    return bool(case.task.ipconnectivity) and not is_spared(case)


@criterion("-network", says="{text}", text=question.networks, applies=asks_for_network,
           panda="selection for network connectivity", stage="network check",
           static=(*NAMED, "ipconnectivity"),
           source=f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.3 P18 (D24)")
def network_mismatch(case: JobCase) -> np.ndarray:
    """Refuse queues whose wnconnectivity is not consistent with the task's ipConnectivity, if it has one (D24)."""
    asked, offers = case.task.ipconnectivity, case.queues.wnconnectivity
    refused = {offer: not ACCEPTS[case.edition](offer, asked) for offer in dict.fromkeys(offers)}
    return np.array([refused[offer] for offer in offers], bool)


def offers_words(offered: str, asked: str) -> bool:
    """True if a queue with `offered` has the network and the stack of a task that asks for `asked`: network#stack.

    A task may leave its network out; the stacks are equal, even if unset.
    """
    network, _, stack = offered.partition("#")
    wanted, _, wanted_stack = asked.partition("#")
    return (not wanted or wanted in ACCEPTED.get(network, ())) and stack == wanted_stack


def offers_stored_words(offered: str, asked: str) -> bool:
    """As `offers_words`, but `none` and omitted words ask for nothing, and only `http` is less than `full`."""
    network, _, stack = offered.partition("#")
    wanted, _, wanted_stack = asked.partition("#")
    if wanted in STORED_NETWORKS and network != "full" and not network == wanted == "http":
        return False
    return not wanted_stack or stack == wanted_stack


ACCEPTS = ByEdition(offers_words, offers_stored_words)
"""Comparison of the network of a queue with that of a task."""


def by_events(case: JobCase) -> bool:
    """True if the criteria for event service tasks concern this one."""
    return _uses_events(case) and not is_spared(case)


@criterion("-es", says="jobseed std: no event service", applies=by_events, **EVENT_SERVICE)
def without_event_service(case: JobCase) -> np.ndarray:
    """Refuse queues with jobseed std to event service tasks."""
    return _seeded(case, "std")


@criterion("-eshigh", says="jobseed eshigh: for scouts and high priorities only", applies=by_events,
           **EVENT_SERVICE | {"static": (*EVENT_SERVICE["static"], "currentpriority", "is_scout")})
def kept_for_high_event_service(case: JobCase) -> np.ndarray:
    """Refuse queues with jobseed eshigh to event service tasks that are neither scouting nor of high priority."""
    high = case.task.is_scout or case.task.currentpriority >= VERY_HIGH_PRIORITY
    return _seeded(case, "eshigh") & (not high)


@criterion("-es_ucore", says="one core of a unified queue", applies=by_events, **EVENT_SERVICE)
def single_core_of_unified(case: JobCase) -> np.ndarray:
    """Refuse single-core pseudo-queues of unified queues to event service tasks."""
    return (case.queues.resource_type >= 0) & (case.queues.corecount == 1)


@criterion("-nones", says="jobseed es: event service only", **EVENT_SERVICE)
def only_event_service(case: JobCase) -> np.ndarray:
    """Refuse queues with jobseed es to all other tasks, including those with job cloning."""
    return _seeded(case, "es") & (not (_uses_events(case) or is_spared(case)))


def _uses_events(case: JobCase) -> bool:
    """True if jobs share events."""
    return case.task.event_service and not case.task.job_cloning


def _seeded(case: JobCase, seed: str) -> np.ndarray:
    """Candidates with a jobseed, (n,) bool."""
    seeds, number = case.queues.distinct("jobseed")
    return np.array([each == seed for each in seeds], bool)[number]
