"""Priorities of task queues: shares of groups, divided among their owners and the task queues of these."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from simgrid_broker.policy.dirac.edition import Edition
from simgrid_broker.policy.dirac.task_queues import TaskQueue

DEFAULT_SHARE = 1000
"""JobShare of a group that has none; source: DIRAC reference, sections 11 and 17."""
IDLE_PRIORITY, URGENT_PRIORITY, URGENT_FROM = 1e-5, 1e6, 10
"""Weight of jobs of priority 0, and of those from the third on; source: DIRAC reference, section 4."""
BACKGROUND_UP_TO = 0.1
"""Mean weight of the jobs of a background queue, at most; source: DIRAC reference, 11.2."""


class Group(NamedTuple):
    """A group of owners: its share, whether its owners share jobs (JOB_SHARING), and background queues are allowed."""

    share: float = DEFAULT_SHARE
    job_sharing: bool = False
    allow_background: bool = False


Correct = Callable[[Mapping[str, float], str], dict[str, float]]
"""Corrects the shares of groups (second argument ""), or of the owners of a group."""


def whole_option(given: object, default: int) -> int:
    """A whole number of the configuration, or the default for anything else, as DIRAC reads options.

    Source: DIRAC reference, sections 11 and 12.
    """
    if given is None or isinstance(given, bool):
        return default
    try:
        return int(str(given))
    except ValueError:
        return default


def real_priority(user_priority: int) -> float:
    """Weight of a job in draws; source: DIRAC reference, section 4."""
    if user_priority >= URGENT_FROM:
        return URGENT_PRIORITY
    return float(user_priority) or IDLE_PRIORITY


def summed_priority(numbers: Iterable[tuple[int, int]]) -> float:
    """Sum of the weights of the jobs, from numbers by user priority; `documented`: DIRAC reference, 11.2 (D13)."""
    return sum(real_priority(priority) * number for priority, number in numbers)


def mean_priority(numbers: Iterable[tuple[int, int]]) -> float:
    """Mean of the weights of the jobs, whatever their number; `deployed`: DIRAC reference, 11.2 (D13)."""
    numbers = list(numbers)
    return summed_priority(numbers) / sum(number for _, number in numbers)


def compute_priorities(queues: Iterable[TaskQueue], groups: Mapping[str, Group], edition: Edition,
                       correct: Correct) -> None:
    """Set the priority of every task queue that holds jobs; source: DIRAC reference, section 11.

    An empty task queue still counts as one of its owner and group.
    """
    by_group: dict[str, dict[str, list[TaskQueue]]] = {}
    for queue in queues:
        owner, group = queue.identity.single[:2]
        by_group.setdefault(group, {}).setdefault(owner, []).append(queue)
    shares = correct({name: groups.get(name, Group()).share for name in by_group}, "")
    for name, owners in by_group.items():
        about = groups.get(name, Group())
        for queues_of_entity, share in _entities(name, about, owners, shares[name], correct):
            _divide([queue for queue in queues_of_entity if queue.jobs], share, about, edition)


def _entities(name: str, group: Group, owners: Mapping[str, list[TaskQueue]], share: float,
              correct: Correct) -> Iterable[tuple[list[TaskQueue], float]]:
    """Those among whom the share of a group is divided, with their task queues and shares: DIRAC reference, 11.1."""
    if group.job_sharing:
        return [([queue for queues in owners.values() for queue in queues], share)]
    shares = correct(dict.fromkeys(owners, share / len(owners)), name)
    return [(queues, shares[owner]) for owner, queues in owners.items()]


def _divide(queues: list[TaskQueue], share: float, group: Group, edition: Edition) -> None:
    """Divide the share of an entity among its task queues, in proportion to their weights: DIRAC reference, 11.2."""
    weights = [edition.weight(queue.numbers()) for queue in queues]
    kept_out = [edition.background and group.allow_background and weight <= BACKGROUND_UP_TO for weight in weights]
    total = sum(weight for weight, out in zip(weights, kept_out, strict=True) if not out)
    for queue, weight, out in zip(queues, weights, kept_out, strict=True):
        queue.priority = edition.least_priority if out else max(edition.least_priority, share * weight / total)
    if edition.pooled:
        _pool(queues, edition)


def _pool(queues: Iterable[TaskQueue], edition: Edition) -> None:
    """Give each task queue the sum over those that differ from it in sites and memory only: DIRAC reference, 11.2."""
    pools: dict[tuple, list[TaskQueue]] = {}
    for queue in queues:
        pools.setdefault(queue.identity.pool(edition), []).append(queue)
    for pool in pools.values():
        total = sum(queue.priority for queue in pool)
        for queue in pool:
            queue.priority = total
