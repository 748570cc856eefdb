"""Pure decisions of PanDA's brokers, throttler, pilot streaming and watchdogs: frozen views in, an answer out."""

from simgrid_broker.policy.dispatch import DispatchOrder, sloppy_fraction
from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.policy.job_brokerage.broker import broker_jobs
from simgrid_broker.policy.job_brokerage.selection import JOBS_PER_BLOCK, SCOUTS_PER_BLOCK, spread_jobs
from simgrid_broker.policy.pilots import new_workers
from simgrid_broker.policy.rebrokerage import jobs_to_take_back
from simgrid_broker.policy.registry import policy
from simgrid_broker.policy.resource_types import job_corecount, job_ramcount, resource_type_of, resource_type_of_job
from simgrid_broker.policy.shares import share_order, targets, usage
from simgrid_broker.policy.tagging import TagRule, tag
from simgrid_broker.policy.task_brokerage.broker import broker_task, draw
from simgrid_broker.policy.throttle import Throttle, ThrottleLimits, throttle_limits
from simgrid_broker.policy.timeouts import TimeoutRule, rules

__all__ = [
    "JOBS_PER_BLOCK", "SCOUTS_PER_BLOCK", "DispatchOrder", "MaskCache", "TagRule", "Throttle", "ThrottleLimits",
    "TimeoutRule", "broker_jobs", "broker_task", "draw", "job_corecount", "job_ramcount",
    "jobs_to_take_back", "new_workers", "policy", "resource_type_of", "resource_type_of_job", "rules", "share_order",
    "sloppy_fraction", "spread_jobs", "tag", "targets", "throttle_limits", "usage",
]
