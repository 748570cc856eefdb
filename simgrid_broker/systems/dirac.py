"""DIRAC's dispatch: jobs wait in task queues for a pilot of any queue that can run them."""

from collections.abc import Iterator

from simgrid_broker.agents.central_queue import CentralQueue
from simgrid_broker.agents.site_director import site_director
from simgrid_broker.agents.task_queues import task_queues
from simgrid_broker.policy.dirac.brokerage import TASK_QUEUES
from simgrid_broker.policy.dirac.editions import DIRAC_EDITIONS
from simgrid_broker.policy.dirac.option_remarks import option_remarks
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.rules_dirac import group_findings
from simgrid_broker.systems.dispatch import Dispatch


def dirac_without_effect(scenario: Scenario) -> Iterator[str]:
    """Options of DIRAC that have no effect in the edition, or name what no job has."""
    edition, dirac = DIRAC_EDITIONS[scenario.edition], scenario.dirac
    yield from (f"dirac: {remark}." for remark in option_remarks(dirac.operations, edition))


DIRAC = Dispatch(binds_jobs=False, job_rules=TASK_QUEUES, workflow="pull_ups", place=CentralQueue,
                 agents=(task_queues, site_director), checks=(group_findings,), remarks=(dirac_without_effect,))
"""A pilot gets a job of a task queue that is drawn by priority among those that it matches."""
