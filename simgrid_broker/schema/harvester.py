"""Harvester's limits of each PanDA queue: columns that follow from the queue's options and from a template.

Options are keys of CRIC's `params`, which win over the template (formats reference, section 11).
"""

from collections.abc import Iterable, Mapping
from math import inf, nan

from simgrid_broker.schema.attribute import Column, Table
from simgrid_broker.schema.queues import OPTIONS, Queue, option_number, option_value

SUBMISSION_ATTEMPTS = 3
"""Of all templates; source: formats reference, section 11."""


def template(queue: Queue) -> Mapping[str, float]:
    """Options of the template of a queue, by its type and the mode of its workers."""
    return queue.mode.limits["analysis" if queue.type == "analysis" else "production"]


def option(queue: Queue, key: str) -> float:
    """Value of an option of a queue, or of its template; NaN if neither has it."""
    return option_number(queue, key, template(queue).get(key, nan))


def ratio_option(queue: Queue, key: str) -> float:
    """Value of an option that goes with a ratio of waiting to running workers; NaN at push queues, which have none."""
    return nan if queue.mode.fetches_jobs else option(queue, key)


def ceiling(queue: Queue, what: str) -> float:
    """Most workers or jobs that may wait: the option nQueueLimit<what> or ...Max, the lesser where both are written.

    Where the queue writes neither, its template's. Workers: never more than `maxWorkers`. Source: lifecycle reference,
    sections 5.4 and 5.5; Harvester, `QueueConfigMapper.load_data`.
    """
    keys = (f"nQueueLimit{what}", f"nQueueLimit{what}Max")
    own = [number for key in keys if (number := option_number(queue, key, nan)) == number]
    last = option(queue, "maxWorkers") if what == "Worker" else inf
    return min(*(own or [template(queue).get(key, inf) for key in keys]), last)


def least(queue: Queue, what: str, each: float) -> float:
    """Cores or MB that may always wait: the option, or the least number of workers, of one core and 1000 MB each."""
    workers = min(ratio_option(queue, "nQueueLimitWorkerMin"), ceiling(queue, "Worker"))
    return option_number(queue, f"nQueueLimit{what}Min", workers * each)


WITHOUT_IDLE, FACTORS = "noPilotsWhenNoActiveJobs", ("activateWorkerFactor", "nCoreFactor")
"""Options of a queue whose jobs Harvester counts: no worker without activated jobs, and factors of their number, for
which `auto`, one over the number of Harvesters, is 1; source: lifecycle reference, section 5.4."""
TRUE = ("True", "true", "1")
"""Values of an option that is on."""


def _limit(name: str, key: str, unit: str, description: str, value=None) -> Column:
    return Column(name, "f8", unit, f"Harvester {key}", description, of=value or (lambda queue: option(queue, key)))


HARVESTER = Table("harvester", "one PanDA queue as Harvester is configured for it", (
    _limit("queued_most", "nQueueLimitWorker", "workers", "Most workers that may wait",
           lambda queue: ceiling(queue, "Worker")),
    _limit("queued_ratio", "nQueueLimitWorkerRatio", "%", "Workers that may wait for 100 running ones; NaN = no ratio",
           lambda queue: ratio_option(queue, "nQueueLimitWorkerRatio")),
    _limit("queued_least", "nQueueLimitWorkerMin", "workers", "Workers that may wait however few are running",
           lambda queue: ratio_option(queue, "nQueueLimitWorkerMin")),
    _limit("cores_most", "nQueueLimitWorkerCores", "cores", "Most cores of waiting workers",
           lambda queue: option_number(queue, "nQueueLimitWorkerCores", inf)),
    _limit("cores_ratio", "nQueueLimitWorkerCoresRatio", "%", "Cores that may wait for 100 cores of running workers"),
    _limit("cores_least", "nQueueLimitWorkerCoresMin", "cores", "Cores that may wait however few are running",
           lambda queue: least(queue, "WorkerCores", 1)),
    _limit("memory_most", "nQueueLimitWorkerMemory", "MB", "Most memory of waiting workers",
           lambda queue: option_number(queue, "nQueueLimitWorkerMemory", inf)),
    _limit("memory_ratio", "nQueueLimitWorkerMemoryRatio", "%", "Memory that may wait for 100 MB of running workers"),
    _limit("memory_least", "nQueueLimitWorkerMemoryMin", "MB", "Memory that may wait however little is in use",
           lambda queue: least(queue, "WorkerMemory", 1000)),
    _limit("most_workers", "maxWorkers", "workers", "Most workers that wait or run"),
    _limit("new_per_cycle", "maxNewWorkersPerCycle", "workers", "Most workers that are submitted in one cycle"),
    _limit("submission_attempts", "maxSubmissionAttempts", "attempts", "Attempts to submit the worker of a job",
           lambda queue: option_number(queue, "maxSubmissionAttempts", SUBMISSION_ATTEMPTS)),
    _limit("pull_least", "noPilotsWhenNoActiveJobs", "workers", "Workers to be kept waiting at a pull queue without "
           "activated jobs: 1, or none with the option",
           lambda queue: 0 if option_value(queue, WITHOUT_IDLE) in TRUE else 1),
    _limit("pull_factor", "activateWorkerFactor / nCoreFactor", "", "Workers for each activated job of a pull queue",
           lambda queue: option_number(queue, FACTORS[0], 1) / option_number(queue, FACTORS[1], 1)),
    _limit("new_at_first", "nNewWorkers", "workers", "Workers asked for before the server asks; NaN = none"),
    _limit("jobs_most", "nQueueLimitJob", "jobs", "Most jobs to be kept fetched", lambda queue: ceiling(queue, "Job")),
    _limit("jobs_ratio", "nQueueLimitJobRatio", "%", "Jobs to be kept fetched for 100 running ones; NaN = no ratio"),
    _limit("jobs_least", "nQueueLimitJobMin", "jobs", "Jobs to be kept fetched however few are running"),
    _limit("job_cores_most", "nQueueLimitJobCores", "cores", "Cores of fetched jobs at which none are fetched",
           lambda queue: option_number(queue, "nQueueLimitJobCores", inf)),
    _limit("job_cores_ratio", "nQueueLimitJobCoresRatio", "%", "Cores of fetched jobs for 100 cores of running jobs"),
    _limit("job_cores_least", "nQueueLimitJobCoresMin", "cores", "Cores that may be fetched however few are running",
           lambda queue: option_number(queue, "nQueueLimitJobCoresMin", 0)),
))
"""Source: lifecycle reference, sections 5.4 and 5.5; formats reference, sections 1.4 and 11."""

LIMITS = ("nQueueLimitWorker", "nQueueLimitWorkerMax", "nQueueLimitWorkerMin", "nQueueLimitWorkerCores",
          "nQueueLimitWorkerCoresMin", "nQueueLimitWorkerMemory", "nQueueLimitWorkerMemoryMin", "maxWorkers",
          "maxNewWorkersPerCycle", "maxSubmissionAttempts", "nNewWorkers", "nQueueLimitJob", "nQueueLimitJobMax",
          "nQueueLimitJobMin", "nQueueLimitJobCores", "nQueueLimitJobCoresMin")
"""Options of a queue that limit workers, jobs, cores or memory: at least one worker."""

TARGET, TYPE_LIMITS, HIGH_MEMORY = "ups_core_target", "resource_type_limits", "HIMEM"
"""Options of a queue for pilot streaming: cores that count as running, and workers of each type, of HIMEM cores of all
high-memory types together; source: lifecycle reference, section 5.3."""

RATIOS = tuple(f"nQueueLimit{what}Ratio" for what in ("Worker", "WorkerCores", "WorkerMemory", "Job", "JobCores"))
"""Options of a queue in percent of what runs."""


def options_of(types: Iterable[str]) -> tuple[str, ...]:
    """Every option of `params` that something here reads, in a grid with these resource types."""
    of_types = (f"{TYPE_LIMITS}.{name}" for name in (*types, HIGH_MEMORY))
    return (*LIMITS, *RATIOS, *FACTORS, WITHOUT_IDLE, TARGET, *of_types, *OPTIONS)
