"""How full a queue is: the job numbers as the brokerage counts them, the weight, and the criteria about backlogs.

What lives here: everything that looks at `Stats` and `Locality`. What does not: what a queue is for (`candidates`,
`requirements`), and the draw of queues by weight (`selection`).

Sources: PanDA brokerage documentation, production job brokerage, steps 3 and 4; brokerage reference, section 10.
"""

import numpy as np

from simgrid_broker.policy.funnel import ONE
from simgrid_broker.policy.job_brokerage.case import JobCase, JobNumbers, input_is_local
from simgrid_broker.policy.rule import criterion, factor
from simgrid_broker.views import Gdpconfig, Locality, Queues, Stats, Task

BOOTSTRAP_WORKERS = 20
"""Workers count as running jobs up to this number while a queue starts up; source: step 3."""
WEIGHT_OFFSET = 10
"""Added to the queued jobs in the weight; source: step 3."""
FILES_PER_HALVING = 100
"""So many missing files halve the weight; source: step 3."""
MOST_ASSIGNED = 2
"""Upper limit of manyAssigned; source: step 3."""
DEFAULT_CUT = 20
"""Least cap where NQUEUELIMITSITE_<gshare> is not set; source: brokerage reference, 10.3."""
EXPRESS_PRIORITY = 1000
EXPRESS_TYPE = "urgent"

JOBBROKER = "jobbroker"
DOCUMENTED = {"source": "PanDA brokerage documentation, production job brokerage, step 4", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 10.3", "editions": ("deployed",)}


def numbers_documented(task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                       cfg: Gdpconfig) -> JobNumbers:
    """Job numbers with the largest of the documented figures as running; source: step 3."""
    # min(nBatchJob, 20) can only be the larger one where fewer than 20 jobs and fewer than nBatchJob run
    running = np.maximum(stats.running, np.minimum(stats.n_batch_job, BOOTSTRAP_WORKERS))
    if stats.num_slots is not None:
        slots = stats.num_slots
        running = np.maximum(running, slots if slots.all() else np.where(slots == 0, stats.starting, slots))
    return JobNumbers(running, stats.defined, _blocking(stats, locality), stats.activated, stats.starting)


def numbers_deployed(task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                     cfg: Gdpconfig) -> JobNumbers:
    """Job numbers with running as the code finds it; source: brokerage reference, 10.1 (D57)."""
    running = stats.running
    if task.currentpriority <= cfg.value(JOBBROKER, "MAX_PRIO_TO_BOOTSTRAP"):
        workers = np.minimum(stats.n_batch_job, BOOTSTRAP_WORKERS)
        pulls = queues.resource_type >= 0 if queues.pull_ups is None else queues.pull_ups
        bootstraps = pulls & (running < BOOTSTRAP_WORKERS) & (workers > running)
        if stats.n_pilot is not None:
            bootstraps &= stats.n_pilot > 0
        running = np.where(bootstraps, workers, running)
        if stats.num_slots is not None:
            running = _with_slots(running, stats, queues)
    return JobNumbers(running, stats.defined, _blocking(stats, locality), stats.activated, stats.starting)


@factor("running/queued", panda="weight", source="PanDA brokerage documentation, production job brokerage, step 3")
def running_over_queued(case: JobCase) -> np.ndarray:
    """(running + 1) / (activated + assigned + starting + defined + 10)."""
    return (case.numbers.running + 1) / (case.numbers.queued + WEIGHT_OFFSET)


@factor("1/manyAssigned", panda="weight", editions=("documented",),
        source="PanDA brokerage documentation, production job brokerage, step 3 (D56)")
def many_assigned(case: JobCase) -> np.ndarray:
    """1 / max(1, min(2, assigned / activated)); without activated jobs any assigned job counts for 2."""
    assigned, activated = case.numbers.assigned, case.numbers.activated
    if not assigned.any():
        return ONE
    ratio = np.where(activated > 0, assigned / np.maximum(activated, 1), np.where(assigned > 0, MOST_ASSIGNED, 0))
    return 1 / np.maximum(1, np.minimum(MOST_ASSIGNED, ratio))


@factor("1/manyAssigned", panda="weight", editions=("deployed",), source="brokerage reference, 10.1 (D56)")
def many_assigned_deployed(case: JobCase) -> np.ndarray:
    """1 / max(1, min(2, (assigned + 1) / (activated + 1)))."""
    ratio = (case.numbers.assigned + 1) / (case.numbers.activated + 1)
    return 1 / np.maximum(1, np.minimum(MOST_ASSIGNED, ratio))


@factor("data availability", panda="weight",
        source="PanDA brokerage documentation, production job brokerage, step 3; brokerage reference, 10.1")
def data_availability(case: JobCase) -> np.ndarray | float:
    """(availableSize + totalSize) / (totalSize x (numMissingFiles / 100 + 1)); 1 without input."""
    data = case.locality
    if data is None or data.total_bytes <= 0:
        return ONE
    return (data.available_bytes / data.total_bytes + 1) / (data.missing_files / FILES_PER_HALVING + 1)


@factor("bootstrap", panda="weight", editions=("deployed",), source="brokerage reference, 10.3 rule 6 (D60)",
        gdpconfig=((JOBBROKER, "MAX_PRIO_TO_BOOTSTRAP"),))
def bootstrap(case: JobCase) -> np.ndarray | float:
    """0 for a queue without any job, which is then used first and once; 1 for the others."""
    task, stats = case.task, case.stats
    if task.is_merging or is_express(task) or task.currentpriority > case.cfg.value(JOBBROKER, "MAX_PRIO_TO_BOOTSTRAP"):
        return ONE
    return (case.numbers.running + stats.activated + stats.assigned + stats.starting + stats.defined) > 0


@criterion("-cap", panda="skip queues with many activated and starting jobs", **DOCUMENTED)
def too_many_ready(case: JobCase) -> np.ndarray:
    """Refuse queues where activated + starting > 2 x running (D58)."""
    return case.numbers.ready > case.numbers.twice_running


@criterion("-cap_rt", panda="skip queues with many queued jobs", **DOCUMENTED)
def too_many_queued(case: JobCase) -> np.ndarray:
    """Refuse queues where defined + activated + assigned + starting > 2 x running (D58)."""
    return case.numbers.queued > case.numbers.twice_running


@criterion("-cap", panda="skip queues with many activated and starting jobs",
           gdpconfig=((JOBBROKER, "NQUEUELIMITSITE_<gshare>"),), **DEPLOYED)
def over_cap(case: JobCase) -> np.ndarray:
    """Refuse queues that are not unified where activated + starting (+ assigned) > max(cut, 2 x running) (D58)."""
    queued, cap = backlog_deployed(case)
    return (case.queues.resource_type < 0) & (queued > cap)


@criterion("-cap_rt", panda="skip queues with many queued jobs of the resource type",
           gdpconfig=((JOBBROKER, "NQUEUELIMITSITE_<gshare>"),), **DEPLOYED)
def over_cap_of_type(case: JobCase) -> np.ndarray:
    """Refuse queues where the queued jobs of the task's resource type exceed max(cut, 2 x running of it) (D58)."""
    if case.stats.running_of_type is None or is_express(case.task):
        return np.zeros(case.n_candidates, bool)
    queued, running = _of_type(case)
    return queued > np.maximum(cut(case), 2 * running)


@criterion("-below_min_weight", panda="minimum weight", source="brokerage reference, 10.3 rule 7 (D23)",
           gdpconfig=((JOBBROKER, "MIN_WEIGHT_<label>[_<gshare>]"),), editions=("deployed",))
def below_min_weight(case: JobCase) -> np.ndarray:
    """Refuse queues whose weight is below the minimum of the label and share; bootstrap queues are spared."""
    task = case.task
    label = f"MIN_WEIGHT_{task.prodsourcelabel}"
    least = case.cfg.family(JOBBROKER, label, task.gshare, 0)
    return (case.weight < least) & (case.weight > 0)


def is_express(task: Task) -> bool:
    """Whether the code treats the task as express: processing type urgent or priority above 1000; source: 0.4 (D4)."""
    return task.processingtype == EXPRESS_TYPE or task.currentpriority > EXPRESS_PRIORITY


def backlog_documented(case: JobCase) -> tuple[np.ndarray, np.ndarray]:
    """Queued jobs at each candidate and the number they must stay below to be given more, for the draw, (n,) each.

    The documentation does not describe the draw; a queue goes on taking jobs as long as step 4 would not refuse it.
    """
    return case.numbers.queued, case.numbers.twice_running + 1


def backlog_deployed(case: JobCase) -> tuple[np.ndarray, np.ndarray]:
    """Queued jobs and their cap for the draw, (n,) each; source: brokerage reference, 10.3; express has no cap."""
    n, unified = case.numbers, case.queues.resource_type >= 0
    queued, running = n.ready + n.assigned, n.running
    if case.stats.running_of_type is not None:
        queued, running = np.where(unified, _of_type(case), (queued, running))
    if is_express(case.task):
        return queued, np.full(case.n_candidates, np.inf)
    return queued, np.maximum(cut(case), 2 * running)


def cut(case: JobCase) -> float:
    """NQUEUELIMITSITE_<gshare> if it is set and not 0, else 20."""
    return case.cfg.family(JOBBROKER, "NQUEUELIMITSITE", case.task.gshare) or DEFAULT_CUT


def _of_type(case: JobCase) -> tuple[np.ndarray, np.ndarray]:
    """Queued and running jobs of the task's resource type, (n,) each; source: brokerage reference, 10.2."""
    stats = case.stats
    assigned = np.where(input_is_local(case.locality), 0, stats.assigned_of_type)
    return stats.queued_of_type + assigned, np.maximum(stats.running_of_type, case.numbers.running)


def _blocking(stats: Stats, locality: Locality | None) -> np.ndarray:
    """Assigned jobs, (n,), 0 where the input of the task is local."""
    assigned = stats.assigned
    return np.where(input_is_local(locality), 0, assigned) if assigned.any() else assigned


def _with_slots(running: np.ndarray, stats: Stats, queues: Queues) -> np.ndarray:
    """Running jobs where numSlots is set: 0 adds the starting ones, more lifts them to the jobs that fit."""
    fitting = np.trunc(stats.num_slots / np.maximum(queues.corecount, 1))
    return np.select([stats.num_slots == 0, stats.num_slots > 0],
                     [stats.starting + running, np.maximum(fitting, running)], running)
