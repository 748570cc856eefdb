"""Task queues: identity of the one that a job joins, the jobs in it, and a job that is inserted again.

All jobs with identical requirements wait in one task queue.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simgrid_broker.systems.dirac.policy.request import Edition

NEW_PRIORITY = 1.0
"""Priority of a task queue before its entity is computed; source: DIRAC reference, section 5."""
DEFAULT_CPU_TIME = 86_400
"""CPUTime of a job that gives none, s; source: DIRAC reference, section 2."""
NOT_POOLED = ("Sites", "BannedSites")
"""Fields that task queues of a pool may differ in, in addition to memory; source: DIRAC reference, 11.2."""


class Refused(ValueError):
    """A job that DIRAC does not insert; the text says why."""


class Identity(NamedTuple):
    """Requirements that all jobs of a task queue share.

    single: values of `Edition.single`; cpu_time: CPU class, s; lists: values of `Edition.lists`, each a set, empty =
    no requirement; min_ram, max_ram: MB, both 0 = no requirement.
    """

    single: tuple[str, ...]
    cpu_time: int
    lists: tuple[frozenset[str], ...]
    min_ram: int = 0
    max_ram: int = 0

    def pool(self, edition: Edition) -> tuple:
        """The identity without sites and memory, by which task queues are pooled."""
        return (self.single, self.cpu_time, tuple(values for name, values in zip(edition.lists, self.lists, strict=True)
                                                  if name not in NOT_POOLED))

    def fields(self, edition: Edition) -> dict[str, Any]:
        """All fields by the names under which conditions read them."""
        return (dict(zip(edition.single, self.single, strict=True))
                | dict(zip(edition.lists, self.lists, strict=True))
                | {"CPUTime": self.cpu_time, "MinRAM": self.min_ram, "MaxRAM": self.max_ram})

    def values(self, edition: Edition) -> dict[str, Any]:
        """The identity by DIRAC's names, lists sorted; what is not required is left out."""
        given = dict(zip(edition.single, self.single, strict=True)) | {"CPUTime": self.cpu_time}
        found: dict[str, Any] = {name: value for name, value in given.items() if value != ""}
        found |= {name: sorted(values) for name, values in zip(edition.lists, self.lists, strict=True) if values}
        return found | {name: value for name, value in (("MinRAM", self.min_ram), ("MaxRAM", self.max_ram)) if value}


def cpu_class(cpu_time: int, classes: Sequence[int]) -> int:
    """Smallest class that is not below a CPU time, the largest for all above; source: DIRAC reference, section 3."""
    return classes[min(bisect_left(classes, cpu_time), len(classes) - 1)]


def identity_of(job: Mapping[str, Any], edition: Edition, classes: Sequence[int]) -> Identity:
    """Identity of the task queue of a job; raises Refused for values of a wrong type and an impossible range of memory.

    Source: DIRAC reference, section 2. A list of nothing but blanks is no requirement, as an empty one (DIRAC refuses
    the job: quirk blank_list_refused); names are compared with their case (DIRAC's database ignores it: quirk
    case_insensitive).
    """
    single = tuple(_text(job, name) for name in edition.single)
    cpu_time = _whole(job, "CPUTime", DEFAULT_CPU_TIME)
    lists = tuple(_set(job, name) for name in edition.lists)
    memory = _memory(job) if edition.memory else (0, 0)
    return Identity(single, cpu_class(cpu_time, classes), lists, *memory)


def stored_priority(job: Mapping[str, Any]) -> int:
    """Priority of a job as DIRAC stores it: fractions are cut; raises Refused for what is no number.

    Source: DIRAC reference, section 4.
    """
    given = job.get("priority", 1)
    try:
        return int(given)
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"priority {given!r} is not a number") from None


def _text(job: Mapping[str, Any], name: str) -> str:
    given = job.get(name, "" if name == "Setup" else None)
    if not isinstance(given, str):
        raise Refused(f"{name} is missing" if given is None else f"{name} {given!r} is not text")
    return given


def _whole(job: Mapping[str, Any], name: str, default: int) -> int:
    given = job.get(name, default)
    if not isinstance(given, int) or isinstance(given, bool):
        raise Refused(f"{name} {given!r} is not a whole number")
    return given


def _set(job: Mapping[str, Any], name: str) -> frozenset[str]:
    given = job.get(name, ())
    if not isinstance(given, (list, tuple)) or not all(isinstance(value, str) for value in given):
        raise Refused(f"{name} {given!r} is not a list of names")
    return frozenset(value.strip() for value in given) - {""}


def _memory(job: Mapping[str, Any]) -> tuple[int, int]:
    least, most = _whole(job, "MinRAM", 0), _whole(job, "MaxRAM", 0)
    for name, value in (("MinRAM", least), ("MaxRAM", most)):
        if value < 0:
            raise Refused(f"{name} {value} is negative")
    if 0 < most < least:
        raise Refused(f"MinRAM {least} is above MaxRAM {most}")
    return least, most


@dataclass(eq=False)
class TaskQueue:
    """A task queue: its identity, the user priority of each of its jobs by id, and its priority in the draw."""

    identity: Identity
    jobs: dict[int, int] = field(default_factory=dict)
    priority: float = NEW_PRIORITY

    @property
    def classes(self) -> dict[int, list[int]]:
        """Ids of the jobs of each user priority, ascending."""
        found: dict[int, list[int]] = {}
        for job in sorted(self.jobs):
            found.setdefault(self.jobs[job], []).append(job)
        return found

    def numbers(self) -> Iterable[tuple[int, int]]:
        """User priorities and the number of jobs of each."""
        return Counter(self.jobs.values()).items()


class TaskQueues:
    """All task queues, in the order in which they were made; empty ones stay."""

    def __init__(self, edition: Edition, classes: Sequence[int]) -> None:
        self.edition, self.classes = edition, classes
        self.queues: list[TaskQueue] = []
        self._alike: dict[Identity, list[TaskQueue]] = {}
        self._of_job: dict[int, TaskQueue] = {}

    def __iter__(self) -> Iterator[TaskQueue]:
        return iter(self.queues)

    def insert(self, number: int, job: Mapping[str, Any]) -> None:
        """Put a job into the smallest task queue of its identity, or a new one if that is full or there is none.

        A number that comes again moves the job. A negative priority is refused once the task queue is found, which
        therefore stays, empty if it is new. Raises Refused. Source: DIRAC reference, sections 4 and 5.
        """
        priority, identity = stored_priority(job), identity_of(job, self.edition, self.classes)
        queue = self._for(identity)
        if priority < 0:
            raise Refused(f"priority {priority} is negative")
        self.remove(number)
        queue.jobs[number] = priority
        self._of_job[number] = queue

    def remove(self, number: int) -> None:
        """Take a job out, if it waits; its task queue stays."""
        if queue := self._of_job.pop(number, None):
            del queue.jobs[number]

    def of_job(self, number: int) -> TaskQueue | None:
        """The task queue in which a job waits, None if it does not."""
        return self._of_job.get(number)

    def _for(self, identity: Identity) -> TaskQueue:
        alike = self._alike.setdefault(identity, [])
        waiting = [queue for queue in alike if queue.jobs]
        smallest = min(waiting, key=lambda queue: len(queue.jobs), default=None)
        most = self.edition.most_jobs
        if smallest is None or (most and len(smallest.jobs) >= most):
            smallest = TaskQueue(identity)
            alike.append(smallest)
            self.queues.append(smallest)
        return smallest
