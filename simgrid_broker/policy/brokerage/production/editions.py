"""Production job brokerage by edition: its criteria in order, and its factors."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simgrid_broker.policy.brokerage.brokerage import REFUSAL, Brokerage, Part, by_edition, composed
from simgrid_broker.policy.brokerage.production import activity, candidates, network, requirements, storage
from simgrid_broker.policy.brokerage.production.decide import CHOICE, FRAME, ORDER, RANKING, TEXT
from simgrid_broker.policy.brokerage.production.question import Candidate
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import Criterion, CriterionFunction, FactorFunction, RuleFunction


class Order(NamedTuple):
    """When rules about one candidate refuse, in an ordinary question and in a hint; fields as in `decide.Tables`."""

    orders: np.ndarray
    ranks: np.ndarray
    concern: np.ndarray
    places: np.ndarray


@dataclass(frozen=True)
class JobBrokerage(Brokerage):
    """A job brokerage.

    count: compiled function of one candidate that fills in its job numbers; busiest: a task that stays at its nucleus
    uses the queue with most running jobs only. Raises ValueError for a rule about all candidates that does not say on
    which fields of a task it depends: it would have to be asked for every decision.
    """

    count: Callable
    busiest: bool = False
    behind: tuple[Criterion, ...] = field(default=RANKING, kw_only=True)

    def __post_init__(self):
        for rule in (*self.funnel.criteria, *self.factors):
            if rule.rule.static is None and not rule.rule.per_candidate:
                raise ValueError(f"{rule.__name__}: a rule of job brokerage about all candidates needs `static`")

    @cached_property
    def static_factors(self) -> tuple[FactorFunction, ...]:
        """The factors about all candidates."""
        return tuple(rule for rule in self.factors if not rule.rule.per_candidate)

    @cached_property
    def described(self) -> tuple[RuleFunction, ...]:
        """The criteria and factors that look at descriptions alone."""
        return (*self.funnel.static, *self.static_factors)

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
        """The other criteria about one candidate as they refuse, those that need job numbers behind all others."""
        asked = [rule for rule in self.funnel.by_rank if rule.rule.per_candidate and not rule.rule.is_choice]
        return tuple(sorted(asked, key=lambda rule: rule.rule.needs_numbers))

    @cached_property
    def decide(self) -> Callable:
        """The decision, a function of (`decide.Tables`, row of a question), made when it is first asked for.

        Rank k belongs to the k-th of `candidate_criteria`; those that need no numbers are asked first.
        """
        rules, factors = self.candidate_criteria, self.candidate_factors
        choice = () if self.choice is None else (self.choice,)
        n = sum(not rule.rule.needs_numbers for rule in rules)
        return composed(
            TEXT, Candidate._fields, FRAME, n_all=str(len(rules)),
            concerns=Part(rules, "    ranks[0, {number}] = tables.ranks[hint, {number}] if {holds} else never"),
            refusals=Part(rules[:n], REFUSAL, exits=True), numbers_refusals=Part(rules[n:], REFUSAL, first=n),
            factors=Part(factors, "    f{number} = tables.factors[{number}, k] = {name}({arguments})"),
            product=Part(factors, "f{number}", " * ", "1.0"), count=Part((self.count,), "{name}"),
            choice_rank=Part(choice, 'tables.orders[hint]["choice_rank"] if {holds} else never', none="never"),
            choice=Part(choice, CHOICE))

    @cached_property
    def order(self) -> Order:
        """When rules about one candidate refuse it; if none of them needs numbers, only those kept are counted.

        For a hint caps refuse no candidate, and no class is chosen.
        """
        never = self.funnel.never
        ranks = np.array([self.funnel.ranks[rule] for rule in self.candidate_criteria], np.int64)
        needs_numbers = np.array([rule.rule.needs_numbers for rule in self.candidate_criteria], bool)
        is_cap = needs_numbers | np.array([rule.rule.cap for rule in self.candidate_criteria], bool)
        of_choice = never if self.choice is None else self.funnel.ranks[self.choice]
        orders = np.zeros(2, ORDER)
        orders["least_numbers"] = ranks[needs_numbers].min(initial=never - 1)
        orders["choice_rank"] = of_choice, never
        orders["n_criteria"], orders["never"] = len(self.funnel.criteria), never
        orders["busiest"] = self.busiest
        of_both = np.array([ranks, np.where(is_cap, never, ranks)])
        return Order(orders, of_both, np.full((2, len(ranks) + 1), never), self.funnel.places)


DOCUMENTED = JobBrokerage(
    edition="documented", funnel=Funnel((
        candidates.not_preassigned, candidates.of_the_other_kind, candidates.named_test, candidates.not_open,
        network.link_blocked, network.link_full, network.nucleus_full, activity.inactive, activity.opportunistic,
        candidates.zero_share, storage.too_much_to_move, activity.disk_io, candidates.core_count_mismatch,
        candidates.too_many_cores, candidates.software_missing, candidates.platform_missing,
        requirements.too_little_memory, requirements.too_much_memory, requirements.only_copies,
        requirements.too_little_scratch, storage.too_little_space, storage.not_readable, storage.not_writable,
        storage.receives_nothing, storage.sends_nothing, network.nucleus_closed, requirements.too_short_for_scouts,
        requirements.too_short_for_unknown, requirements.too_little_walltime, requirements.too_much_walltime,
        requirements.network_mismatch, requirements.without_event_service, requirements.kept_for_high_event_service,
        requirements.single_core_of_unified, requirements.only_event_service, activity.output_backlog,
        network.off_nucleus, network.off_the_chain, network.for_full_chains_only, activity.no_pilots,
        network.low_network_weight, activity.non_pledged, activity.over_pledged, activity.too_many_ready,
        activity.too_many_queued)),
    factors=(activity.running_over_queued, activity.many_assigned, activity.data_availability, network.t1weight,
             network.network),
    count=activity.documented_numbers)
"""Source of the order: PanDA brokerage documentation, production job brokerage."""

DEPLOYED = JobBrokerage(
    edition="deployed", funnel=Funnel((
        candidates.not_preassigned, candidates.of_the_other_kind, storage.input_incomplete, candidates.not_open,
        network.nucleus_closed_deployed, network.nucleus_full_deployed, network.link_blocked_deployed,
        network.link_full_deployed, activity.opportunistic, activity.inactive, candidates.zero_share,
        requirements.kept_for_jumbo, requirements.too_few_events, activity.disk_io, candidates.core_count_mismatch,
        candidates.too_many_cores, candidates.software_missing, candidates.platform_missing,
        requirements.too_little_memory, requirements.too_much_memory, requirements.only_copies,
        requirements.too_little_scratch_deployed, storage.too_little_space_deployed, storage.not_readable,
        storage.not_writable, storage.receives_nothing, storage.sends_nothing, storage.input_cannot_be_sent,
        requirements.too_little_walltime_deployed, requirements.too_short_for_scouts,
        requirements.too_short_for_unknown, requirements.too_much_walltime_deployed, requirements.network_mismatch,
        requirements.without_event_service, requirements.kept_for_high_event_service,
        requirements.single_core_of_unified, requirements.only_event_service, activity.output_backlog,
        activity.non_pledged, activity.over_pledged, network.off_nucleus, storage.too_intense, network.off_the_chain,
        network.for_full_chains_only, activity.no_pilots, storage.io_class, activity.locked, storage.not_local,
        activity.over_cap, network.low_network_weight_deployed, activity.over_cap_of_type, activity.below_min_weight,
        activity.set_apart)),
    factors=(candidates.cpu_preference, activity.running_over_queued, activity.many_assigned,
             activity.data_availability, network.t1weight, network.network, activity.bootstrap),
    count=activity.deployed_numbers, busiest=True)
"""Source of the order: brokerage reference, sections 2.3 and 10.3."""

PRODUCTION = by_edition(DOCUMENTED, DEPLOYED)
"""Production job brokerage by edition."""
