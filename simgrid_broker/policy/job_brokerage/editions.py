"""The chains of production job brokerage: which criteria and factors each edition has, and in which order.

What lives here: tuples. What does not: rules (`candidates`, `requirements`, `software`, `load`) and how they are run
(`broker`).

Sources of the order: PanDA brokerage documentation, production job brokerage; brokerage reference, section 2.3.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.job_brokerage import candidates, load, requirements, software


@dataclass(frozen=True)
class JobBrokerage:
    """A job brokerage: its criteria, its factors, and how it counts jobs before it asks them.

    numbers: function of (task, queues, stats, locality, cfg) to `JobNumbers`; backlog: function of the case to the
    queued jobs and the cap for the draw. To change one rule, replace one field.
    """

    name: str
    funnel: Funnel
    factors: tuple[Callable, ...]
    numbers: Callable
    backlog: Callable


DOCUMENTED = JobBrokerage(
    "documented",
    Funnel((
        candidates.of_the_other_kind,
        candidates.named_test,
        candidates.not_online,
        candidates.zero_share,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing,
        software.platform_missing,
        requirements.too_little_memory,
        requirements.too_much_memory,
        requirements.too_little_scratch,
        requirements.too_short_for_scouts,
        requirements.too_short_for_unknown,
        requirements.too_little_walltime,
        requirements.too_much_walltime,
        load.too_many_ready,
        load.too_many_queued,
    )),
    (load.running_over_queued, load.many_assigned, load.data_availability),
    load.numbers_documented, load.backlog_documented,
)
"""Production job brokerage as documented."""

DEPLOYED = JobBrokerage(
    "deployed",
    Funnel((
        candidates.of_the_other_kind,
        candidates.neither_online_nor_standby,
        candidates.zero_share_deployed,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing_deployed,
        software.platform_missing_deployed,
        requirements.too_little_memory_deployed,
        requirements.too_much_memory_deployed,
        requirements.too_little_scratch_deployed,
        requirements.too_little_walltime_deployed,
        requirements.too_short_for_scouts_deployed,
        requirements.too_short_for_unknown_deployed,
        requirements.too_much_walltime_deployed,
        load.over_cap,
        load.over_cap_of_type,
        load.below_min_weight,
    )),
    (load.running_over_queued, load.many_assigned_deployed, load.data_availability, software.cpu_preference,
     load.bootstrap),
    load.numbers_deployed, load.backlog_deployed,
)
"""Production job brokerage as deployed."""

PRODUCTION = {brokerage.name: brokerage for brokerage in (DOCUMENTED, DEPLOYED)}
"""Production job brokerage by edition."""
