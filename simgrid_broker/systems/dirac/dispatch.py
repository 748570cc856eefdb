"""DIRAC's dispatch: jobs wait in task queues for a pilot of any queue that can run them."""

from simgrid_broker.systems.dirac.agents import site_director, task_queues
from simgrid_broker.systems.dirac.central_queue import CentralQueue
from simgrid_broker.systems.dirac.checks import dirac_without_effect, group_findings
from simgrid_broker.systems.dirac.policy.brokerage import TASK_QUEUES
from simgrid_broker.systems.dispatch import Dispatch

DIRAC = Dispatch(name="DIRAC", binds_jobs=False, job_rules=TASK_QUEUES, workflow="pull_ups", place=CentralQueue,
                 agents=(task_queues, site_director), checks=(group_findings,), remarks=(dirac_without_effect,))
"""A pilot gets a job of a task queue that is drawn by priority among those that it matches."""
