"""An edition of DIRAC's matching: fields, conditions and priorities."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simgrid_broker.systems.dirac.policy.conditions import Condition

WITHOUT_LIMIT = 0


@dataclass(frozen=True, kw_only=True)
class Edition:
    """Differences between the editions.

    single, lists: fields of a job that are the identity of its task queue, with one value and with several; memory:
    MinRAM and MaxRAM belong to it, too; cpu_classes: CPU times of task queues, s, ascending; configurable: these can
    be configured; conditions: all that a task queue must meet, in the order in which they are asked; longest_first:
    only the matching task queues of the highest CPU time compete; window: oldest jobs of a class among which one is
    drawn; most_jobs: of a task queue, 0 = no limit; weight: of a task queue inside its entity, from the real
    priorities of its jobs; least_priority: of a task queue; background: groups may allow background queues; pooled:
    task queues that differ in sites and memory only add up their priorities; ce_if_banned: a pilot of a banned site
    gets jobs that name its GridCE, else those of the type Test or of none; limits: running jobs and delays of sites are
    limited.
    """

    name: str
    single: tuple[str, ...]
    lists: tuple[str, ...]
    memory: bool
    cpu_classes: tuple[int, ...]
    configurable: bool
    conditions: tuple[Condition, ...]
    longest_first: bool
    window: int
    most_jobs: int
    weight: Callable[[Iterable[tuple[int, int]]], float]
    least_priority: float
    background: bool
    pooled: bool
    ce_if_banned: bool
    limits: bool

    @property
    def owner(self) -> str:
        """Field that names the owner of a job."""
        return self.single[0]

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields of a job that have a meaning."""
        return (*self.single, "CPUTime", *self.lists, *(("MinRAM", "MaxRAM") if self.memory else ()))

    @property
    def request_fields(self) -> tuple[str, ...]:
        """All fields of a request that have a meaning."""
        asked = [name for condition in self.conditions for name in condition.request]
        return tuple(dict.fromkeys([*asked, "JobID"]))


def cpu_classes(edition: Edition, job_scheduling: object) -> tuple[int, ...]:
    """CPU times of task queues: option taskQueueCPUTimeIntervals, or the default if that is no strictly increasing
    list of positive whole numbers, which may also be text with commas; source: DIRAC reference, section 3."""
    option = job_scheduling.get("taskQueueCPUTimeIntervals") if isinstance(job_scheduling, dict) else None
    option = option.split(",") if isinstance(option, str) else option
    if not edition.configurable or not isinstance(option, (list, tuple)):
        return edition.cpu_classes
    try:
        classes = tuple(int(str(value)) for value in option)
    except ValueError:
        return edition.cpu_classes
    rising = all(lower < upper for lower, upper in zip((0, *classes), classes, strict=False))
    return classes if classes and rising else edition.cpu_classes
