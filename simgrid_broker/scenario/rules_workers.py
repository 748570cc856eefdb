"""Checks of how workers come to queues: workflows, Harvester's limits, nodes."""

from collections.abc import Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.locate import Finding, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.harvester import LIMITS, RATIOS

WORKFLOWS = ("pull_ups", "pull", "push", "push_noheartbeat")
"""Workflows of CRIC; source: formats reference, section 1.1."""
BEGINNINGS = ("nQueueLimit", "maxWorker", "maxNewWorker", "maxSubmission", "nNewWorker")
"""How the names of Harvester's options begin."""


def unknown_workflow(scenario: Scenario) -> Iterator[Finding]:
    """The workflow of a queue is one of CRIC's, or none."""
    for name, queue in scenario.grid.queues.items():
        if queue.workflow and queue.workflow not in WORKFLOWS:
            yield Finding(("grid", "queues", name, "workflow"), queue.workflow,
                          f"expected one of {', '.join(WORKFLOWS)}, or none", nearest(queue.workflow, WORKFLOWS))


def limit_of_workers(scenario: Scenario) -> Iterator[Finding]:
    """Harvester's options of a queue are known, and allow at least one worker or job."""
    for name, queue in scenario.grid.queues.items():
        for key, value in queue.params.items():
            if not key.startswith(BEGINNINGS):
                continue
            place = ("grid", "queues", name, "params", key)
            try:
                number = float(str(value))
            except ValueError:
                number = float("nan")
            if key not in (*LIMITS, *RATIOS):
                yield Finding(place, value, "unknown option of Harvester", nearest(key, (*LIMITS, *RATIOS)))
            elif key in RATIOS and not number > 0:
                yield Finding(place, value, "expected a number of percent above 0")
            elif key in LIMITS and not number >= 1:
                yield Finding(place, value, "expected a number from 1 on: with less the queue would get no workers")


def slot_larger_than_node(scenario: Scenario) -> Iterator[Finding]:
    """A slot of a queue fits one node of its site."""
    for name, queue in scenario.grid.queues.items():
        site = scenario.grid.sites.get(queue.atlas_site)
        if site is not None and site.node is not None and site.node.cores < queue.corecount:
            yield Finding(("grid", "queues", name, "corecount"), queue.corecount,
                          f"must not exceed the {site.node.cores} cores of a node of {queue.atlas_site}")


WORKER_RULES: Rules = (unknown_workflow, limit_of_workers, slot_larger_than_node)
