"""Words that stand in a refusal instead of a figure: statuses, sub-policies, software, units that depend on the task.

Functions of a case and the number of a candidate, or of the records of one candidate.
"""

from simgrid_broker.names import ANALYSIS_LABELS, QueueStatus
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.queues.zero_share import TASK_FIELDS, first_match
from simgrid_broker.policy.software.architecture import parse_architecture


def who_names_queues(case: JobCase, k: int) -> str:
    """Why a queue is not on the list of a task."""
    if case.task.premerge is not None:
        return "the files to be merged are elsewhere"
    return "the task names other queues" if case.task.preassigned else "its pseudo-queues take the work"


def capability(case: JobCase, k: int) -> str:
    """Kind of work that a queue does not take."""
    return f"not for {'analysis' if case.task.prodsourcelabel in ANALYSIS_LABELS else 'production'}"


def status(case: JobCase, k: int) -> str:
    """Status of a queue."""
    return QueueStatus(int(case.queues.status[k])).word


def sub_policy(case: JobCase, k: int) -> str:
    """The sub-policy of a queue that decides about the task."""
    policy = case.queues.fairsharepolicy[k]
    place = first_match(policy, edition=case.edition, **{name: getattr(case.task, name) for name in TASK_FIELDS})
    return "" if place is None else f'"{policy.split(",")[place]}"'


def networks(case: JobCase, k: int) -> str:
    """The network that a queue offers, and the one asked for."""
    return f'wnconnectivity "{case.queues.wnconnectivity[k]}", the task asks for "{case.task.ipconnectivity}"'


def software(case: JobCase, k: int) -> str:
    """Release, container and architecture that a task asks for."""
    task = case.task
    return " and ".join(asked for asked in (task.transhome, task.container_name, task.architecture) if asked)


def platform(case: JobCase, k: int) -> str:
    """The platform that a task asks for."""
    return parse_architecture(case.task.architecture, case.edition).sw_platform


def jobs_that_wait(task, queue, load, link, store, numbers) -> str:
    """Jobs at a queue that could have started."""
    number, what = int(load["activated_all"]), "activated"
    if task["starting_counts"]:
        number, what = number + int(load["starting_all"]), "activated or starting"
    return f"{number:,} {what} job{'' if number == 1 else 's'}"


def unit_of_work(task, queue, load, link, store, numbers) -> str:
    """Unit of the work of a job: wall time x cores unless cpuTime is in HS06 s."""
    return "HS06 s" if task["counts_hs06"] else "core s"
