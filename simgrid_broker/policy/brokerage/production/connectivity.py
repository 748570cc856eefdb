"""Criteria about what the worker nodes of a queue offer: jumbo jobs, direct reading, network, event service.

Both editions spare a task with a single pre-assigned queue where the brokerage reference, section 2.3, says so.
"""

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import VERY_HIGH_PRIORITY
from simgrid_broker.policy.brokerage.production import named_values
from simgrid_broker.policy.brokerage.production.candidates import NAMED, is_spared
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.rule import JOB_BROKERAGE, Answer, below, criterion

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


@criterion("-network", says="{text}", text=named_values.networks, applies=asks_for_network,
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
