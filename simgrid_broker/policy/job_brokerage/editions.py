"""Production job brokerage by edition: its criteria in order, and its factors."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.job_brokerage import (
    activity,
    backlog,
    candidates,
    connectivity,
    data_motion,
    endpoints,
    network,
    nucleus,
    preliminary,
    requirements,
    software,
)
from simgrid_broker.policy.job_brokerage.compose import composed
from simgrid_broker.policy.job_brokerage.decide import RANKING_TAGS
from simgrid_broker.policy.rule import CriterionFunction, FactorFunction


@dataclass(frozen=True)
class JobBrokerage:
    """A job brokerage: its criteria and the factors of its weight. To change one rule, replace one field.

    count: compiled function of one candidate that fills in its job numbers; busiest: whether a task that stays at its
    nucleus uses the queue with most running jobs only. Raises ValueError for a rule about all candidates that does not
    say on which fields of a task it depends: it would have to be asked for every decision.
    """

    edition: str
    funnel: Funnel
    factors: tuple[FactorFunction, ...]
    count: Callable
    busiest: bool = False

    def __post_init__(self):
        for rule in (*self.funnel.criteria, *self.factors):
            if rule.rule.static is None and not rule.rule.per_candidate:
                raise ValueError(f"{rule.__name__}: a rule of job brokerage about all candidates needs `static`")

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Everything that a candidate can be refused for: the tags of the criteria, then those of the ranking."""
        return self.funnel.tags + RANKING_TAGS

    @cached_property
    def static_factors(self) -> tuple[FactorFunction, ...]:
        """The factors about all candidates."""
        return tuple(rule for rule in self.factors if not rule.rule.per_candidate)

    @cached_property
    def candidate_factors(self) -> tuple[FactorFunction, ...]:
        """The factors about one candidate."""
        return tuple(rule for rule in self.factors if rule.rule.per_candidate)

    @cached_property
    def choice(self) -> CriterionFunction | None:
        """The criterion that chooses a class of candidates, if there is one."""
        return next((rule for rule in self.funnel.criteria if rule.rule.is_choice), None)

    @cached_property
    def candidate_criteria(self) -> tuple[CriterionFunction, ...]:
        """The other criteria about one candidate in order, those that need job numbers behind all others."""
        asked = [rule for rule in self.funnel.criteria if rule.rule.per_candidate and not rule.rule.is_choice]
        return tuple(sorted(asked, key=lambda rule: rule.rule.needs_numbers))

    @cached_property
    def decide(self) -> Callable:
        """The decision, a function of (`decide.Question`, `decide.Answer`), made when it is first asked for."""
        before = [rule for rule in self.candidate_criteria if not rule.rule.needs_numbers]
        return composed(before, self.candidate_criteria[len(before):], self.candidate_factors, self.choice, self.count)

    @cached_property
    def ranks(self) -> np.ndarray:
        """Rank of each criterion about one candidate, (n_rules,)."""
        return np.array([self.funnel.ranks[rule] for rule in self.candidate_criteria], np.int64)

    @cached_property
    def hint_ranks(self) -> np.ndarray:
        """The ranks for a hint, (n_rules,): caps refuse no candidate."""
        is_cap = np.array([rule.rule.cap or rule.rule.needs_numbers for rule in self.candidate_criteria], bool)
        return np.where(is_cap, self.funnel.never, self.ranks)

    @cached_property
    def later(self) -> np.ndarray:
        """Smallest rank of each criterion about one candidate and those behind it, (n_rules,)."""
        return smallest_behind(self.ranks)

    @cached_property
    def hint_later(self) -> np.ndarray:
        """As `later`, for a hint."""
        return smallest_behind(self.hint_ranks)

    @cached_property
    def least(self) -> int:
        """Smallest rank of a rule about one candidate: candidates refused before need not be looked at."""
        return int(self.ranks.min(initial=self.choice_rank))

    @cached_property
    def least_numbers(self) -> int:
        """Smallest rank of a criterion that needs job numbers; without any, only the candidates kept are counted."""
        return min((self.funnel.ranks[rule] for rule in self.candidate_criteria if rule.rule.needs_numbers),
                   default=self.funnel.never - 1)

    @cached_property
    def choice_rank(self) -> int:
        """Rank of the choice; behind all others if there is none."""
        return self.funnel.never if self.choice is None else self.funnel.ranks[self.choice]


def smallest_behind(ranks: np.ndarray) -> np.ndarray:
    """The smallest of each rank and those behind it, (n,)."""
    return np.minimum.accumulate(ranks[::-1])[::-1].copy()


DOCUMENTED = JobBrokerage(
    edition="documented",
    funnel=Funnel((
        preliminary.not_preassigned,
        candidates.of_the_other_kind,
        candidates.named_test,
        candidates.not_open,
        network.link_blocked,
        network.link_full,
        network.nucleus_full,
        activity.inactive,
        activity.opportunistic,
        candidates.zero_share,
        data_motion.too_much_to_move,
        activity.disk_io,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing,
        software.platform_missing,
        requirements.too_little_memory,
        requirements.too_much_memory,
        connectivity.only_copies,
        requirements.too_little_scratch,
        endpoints.too_little_space,
        endpoints.not_readable,
        endpoints.not_writable,
        endpoints.receives_nothing,
        endpoints.sends_nothing,
        network.nucleus_closed,
        requirements.too_short_for_scouts,
        requirements.too_short_for_unknown,
        requirements.too_little_walltime,
        requirements.too_much_walltime,
        connectivity.network_mismatch,
        connectivity.without_event_service,
        connectivity.kept_for_high_event_service,
        connectivity.single_core_of_unified,
        connectivity.only_event_service,
        activity.output_backlog,
        nucleus.off_nucleus,
        nucleus.off_the_chain,
        nucleus.for_full_chains_only,
        activity.no_pilots,
        network.low_network_weight,
        activity.non_pledged,
        activity.over_pledged,
        backlog.too_many_ready,
        backlog.too_many_queued,
    )),
    factors=(backlog.running_over_queued, backlog.many_assigned, backlog.data_availability, nucleus.t1weight,
             network.network),
    count=backlog.documented_numbers,
)
"""Source of the order: PanDA brokerage documentation, production job brokerage."""

DEPLOYED = JobBrokerage(
    edition="deployed",
    funnel=Funnel((
        preliminary.not_preassigned,
        candidates.of_the_other_kind,
        candidates.not_open,
        network.nucleus_closed_deployed,
        network.nucleus_full_deployed,
        network.link_blocked_deployed,
        network.link_full_deployed,
        activity.opportunistic,
        activity.inactive,
        candidates.zero_share,
        connectivity.kept_for_jumbo,
        connectivity.too_few_events,
        activity.disk_io,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing,
        software.platform_missing,
        requirements.too_little_memory,
        requirements.too_much_memory,
        connectivity.only_copies,
        requirements.too_little_scratch_deployed,
        endpoints.too_little_space_deployed,
        endpoints.not_readable,
        endpoints.not_writable,
        endpoints.receives_nothing,
        endpoints.sends_nothing,
        endpoints.input_cannot_be_sent,
        requirements.too_little_walltime_deployed,
        requirements.too_short_for_scouts,
        requirements.too_short_for_unknown,
        requirements.too_much_walltime_deployed,
        connectivity.network_mismatch,
        connectivity.without_event_service,
        connectivity.kept_for_high_event_service,
        connectivity.single_core_of_unified,
        connectivity.only_event_service,
        activity.output_backlog,
        activity.non_pledged,
        activity.over_pledged,
        nucleus.off_nucleus,
        data_motion.too_intense,
        nucleus.off_the_chain,
        nucleus.for_full_chains_only,
        activity.no_pilots,
        data_motion.io_class,
        data_motion.not_local,
        backlog.over_cap,
        network.low_network_weight,
        backlog.over_cap_of_type,
        backlog.below_min_weight,
    )),
    factors=(software.cpu_preference, backlog.running_over_queued, backlog.many_assigned,
             backlog.data_availability, nucleus.t1weight, network.network, backlog.bootstrap),
    count=backlog.deployed_numbers,
    busiest=True,
)
"""Source of the order: brokerage reference, sections 2.3 and 10.3."""

PRODUCTION = {brokerage.edition: brokerage for brokerage in (DOCUMENTED, DEPLOYED)}
"""Production job brokerage by edition."""
