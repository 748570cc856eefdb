"""Options of DIRAC that have no effect, or another than they seem to."""

from collections.abc import Iterator, Mapping
from typing import Any

from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.policy.dirac.edition import Edition, cpu_classes
from simgrid_broker.policy.dirac.share_correction import correction_remarks

SCHEDULING = "JobScheduling"
OPTIONS = ("taskQueueCPUTimeIntervals", "EnableSharesCorrection", "ShareCorrections", "RunningLimit", "MatchingDelay",
           "CheckJobLimits", "CheckMatchingDelay")
"""Options below Operations/JobScheduling that act."""
LIMITS = ("RunningLimit", "MatchingDelay")


def option_remarks(operations: Mapping[str, Any], edition: Edition) -> Iterator[str]:
    """A sentence for each option below Operations that an edition does not read as it is written."""
    for name in operations.keys() - {SCHEDULING}:
        yield f"operations.{name} has no effect{did_you_mean(nearest(name, [SCHEDULING]))}"
    scheduling = operations.get(SCHEDULING, {})
    for name in sorted(scheduling.keys() - set(OPTIONS)):
        yield f"operations.{SCHEDULING}.{name} has no effect{did_you_mean(nearest(name, OPTIONS))}"
    for name in LIMITS if edition.name == "documented" else ():
        if name in scheduling:
            yield f"{name} has no meaning in the documented edition, which has no limits"
    intervals, classes = scheduling.get("taskQueueCPUTimeIntervals"), cpu_classes(edition, scheduling)
    if intervals is not None and intervals != list(classes) and classes == edition.cpu_classes:
        yield f"taskQueueCPUTimeIntervals {intervals} is not in force: the classes are {', '.join(map(str, classes))}"
    yield from correction_remarks(scheduling)
