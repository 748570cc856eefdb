"""Queues that can run the jobs of a task that wait in DIRAC's task queues: the static rules of PanDA's brokerage.

DIRAC has no job brokerage; a task queue names sites and CEs. These are the queues that PanDA's rules on what a queue is
like leave over: not those on what waits or runs there, on links and nuclei, caps and weights. Jobs with input go where
all of it is on disk.
"""

from dataclasses import replace

from simgrid_broker.policy.brokerage.production import candidates, requirements
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION, JobBrokerage
from simgrid_broker.policy.brokerage.production.storage import input_is_local
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import candidate_criterion

STATIC = {candidates.not_preassigned, candidates.of_the_other_kind, candidates.not_open,
          candidates.core_count_mismatch, candidates.too_many_cores, candidates.software_missing,
          candidates.platform_missing, requirements.too_little_memory, requirements.too_much_memory,
          requirements.too_little_scratch, requirements.too_little_scratch_deployed,
          requirements.too_little_walltime, requirements.too_little_walltime_deployed,
          requirements.too_much_walltime, requirements.too_much_walltime_deployed}
"""Rules of either edition that depend on the task and the description of a queue."""


@candidate_criterion("-input", unit="part of the input", says="{value} of the input on its disk, {limit} needed",
                     applies=lambda task: task["total_bytes"] > 0, panda="none; DIRAC: Sites of the job",
                     source="DIRAC reference, 2", editions=("documented", "deployed"))
def input_elsewhere(task, queue, load, link, store, numbers):
    """Refuse queues where some of the input is not on disk."""
    return not input_is_local(task, numbers), numbers["disk_bytes"], 1.0


def for_any_queue(edition: JobBrokerage) -> JobBrokerage:
    """The static rules of an edition, without weights."""
    kept = tuple(rule for rule in edition.funnel.criteria if rule in STATIC)
    return replace(edition, funnel=Funnel((*kept, input_elsewhere)), factors=())


TASK_QUEUES = {name: for_any_queue(edition) for name, edition in PRODUCTION.items()}
"""Rules of job brokerage by edition: every queue that can run the jobs."""
