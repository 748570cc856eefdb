"""Task queues and the jobs in them: which queue a job joins, what becomes of one that is inserted again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simgrid_broker.policy.dirac.edition import Edition
from simgrid_broker.policy.dirac.identity import Identity, Refused, identity_of, stored_priority

NEW_PRIORITY = 1.0
"""Priority of a task queue before its entity is computed; source: DIRAC reference, section 5."""


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
