"""The chains of production job brokerage: which criteria and factors each edition has, and in which order.

What lives here: tuples, and the compiled decision made of those that look at one candidate. What does not: rules
(`candidates`, `requirements`, `load`) and how an answer is read (`broker`).

Sources of the order: PanDA brokerage documentation, production job brokerage; brokerage reference, section 2.3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.job_brokerage import candidates, requirements, software
from simgrid_broker.policy.job_brokerage.decide import RANKING_TAGS, note, rank, take_input
from simgrid_broker.policy.job_brokerage.load import (
    below_min_weight,
    bootstrap,
    data_availability,
    deployed_numbers,
    documented_numbers,
    many_assigned,
    many_assigned_deployed,
    over_cap,
    over_cap_of_type,
    running_over_queued,
    too_many_queued,
    too_many_ready,
)
from simgrid_broker.policy.rule import is_compiled


@dataclass(frozen=True)
class JobBrokerage:
    """A job brokerage: its criteria, its factors, and the compiled decision over both.

    count: compiled function of one candidate that fills in its job numbers; decide: compiled function of (question,
    answer) that calls it, asks the compiled criteria of `funnel` and multiplies the compiled ones of `factors`. A
    static rule is changed by replacing one field; a compiled one by a `decide` of one's own as well, because compiled
    code cannot be handed functions and be kept between runs. caps: the criteria about backlogs and weights, which the
    hint to the task brokerage leaves out.
    """

    name: str
    funnel: Funnel
    factors: tuple[Callable, ...]
    count: Callable
    decide: Callable
    caps: tuple[Callable, ...]
    choice: Callable | None = None
    busiest: bool = False

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Everything that a candidate can be refused for: the tags of the criteria, then those of the ranking."""
        return self.funnel.tags + RANKING_TAGS

    @cached_property
    def static_factors(self) -> tuple[Callable, ...]:
        """The factors that look at descriptions only."""
        return tuple(rule for rule in self.factors if not is_compiled(rule))

    @cached_property
    def hint_ranks(self) -> np.ndarray:
        """Ranks of the compiled criteria for a hint, (n_load,): those of the caps are never met."""
        funnel = self.funnel
        return np.array([funnel.never if rule in self.caps else funnel.ranks[rule] for rule in funnel.load], np.int64)

    @cached_property
    def least(self) -> int:
        """Smallest rank of a compiled criterion: a candidate that is out before need not be looked at."""
        return int(self.funnel.load_ranks.min(initial=self.funnel.never))

    @cached_property
    def choice_rank(self) -> int:
        """Rank of the choice of a class; behind all others if there is none."""
        return self.funnel.never if self.choice is None else self.funnel.ranks[self.choice]


DOCUMENTED_LOAD = (too_many_ready, too_many_queued)
DOCUMENTED_FACTORS = (running_over_queued, many_assigned, data_availability)


@compiled
def weight_documented(ask, queue, load, link, store, n):
    """Product of DOCUMENTED_FACTORS for a candidate."""
    return (running_over_queued(ask, queue, load, link, store, n)
            * many_assigned(ask, queue, load, link, store, n)
            * data_availability(ask, queue, load, link, store, n))


@compiled
def refusal_documented(ask, queue, load, link, store, n, first, ranks):
    """Smallest rank at which one of DOCUMENTED_LOAD refuses a candidate, if it is below `first`."""
    if ranks[0] < first and too_many_ready(ask, queue, load, link, store, n)[0]:
        first = ranks[0]
    if ranks[1] < first and too_many_queued(ask, queue, load, link, store, n)[0]:
        first = ranks[1]
    return first


@compiled
def decide_documented(question, answer):
    """The decision of the edition documented."""
    ask, n = question.ask[0], answer.numbers[0]
    for k in range(len(question.queues)):
        first, queue = question.first[k], question.queues[k]
        if first > question.least:
            site = queue["site"]
            load, link, store = question.load[queue["queue"]], question.link[site], question.store[site]
            take_input(question, site, n)
            documented_numbers(ask, queue, load, link, store, n)
            if first == question.never:
                n["weight"] = question.static_weight[k] * weight_documented(ask, queue, load, link, store, n)
            first = refusal_documented(ask, queue, load, link, store, n, first, question.ranks)
        note(question, answer, k, first)
    return rank(question, answer)


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
        *DOCUMENTED_LOAD,
    )),
    DOCUMENTED_FACTORS, documented_numbers, decide_documented, caps=(too_many_ready, too_many_queued),
)
"""Production job brokerage as documented."""

DEPLOYED_LOAD = (over_cap, over_cap_of_type, below_min_weight)
DEPLOYED_FACTORS = (running_over_queued, many_assigned_deployed, data_availability, bootstrap)


@compiled
def weight_deployed(ask, queue, load, link, store, n):
    """Product of DEPLOYED_FACTORS for a candidate."""
    return (running_over_queued(ask, queue, load, link, store, n)
            * many_assigned_deployed(ask, queue, load, link, store, n)
            * data_availability(ask, queue, load, link, store, n)
            * bootstrap(ask, queue, load, link, store, n))


@compiled
def refusal_deployed(ask, queue, load, link, store, n, first, ranks):
    """Smallest rank at which one of DEPLOYED_LOAD refuses a candidate, if it is below `first`."""
    if ranks[0] < first and over_cap(ask, queue, load, link, store, n)[0]:
        first = ranks[0]
    if ranks[1] < first and over_cap_of_type(ask, queue, load, link, store, n)[0]:
        first = ranks[1]
    if ranks[2] < first and below_min_weight(ask, queue, load, link, store, n)[0]:
        first = ranks[2]
    return first


@compiled
def decide_deployed(question, answer):
    """The decision of the edition deployed."""
    ask, n = question.ask[0], answer.numbers[0]
    for k in range(len(question.queues)):
        first, queue = question.first[k], question.queues[k]
        if first > question.least:
            site = queue["site"]
            load, link, store = question.load[queue["queue"]], question.link[site], question.store[site]
            take_input(question, site, n)
            deployed_numbers(ask, queue, load, link, store, n)
            if first == question.never:
                n["weight"] = question.static_weight[k] * weight_deployed(ask, queue, load, link, store, n)
            first = refusal_deployed(ask, queue, load, link, store, n, first, question.ranks)
        note(question, answer, k, first)
    return rank(question, answer)


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
        *DEPLOYED_LOAD,
    )),
    (software.cpu_preference, *DEPLOYED_FACTORS), deployed_numbers, decide_deployed,
    caps=(over_cap, over_cap_of_type, below_min_weight), busiest=True,
)
"""Production job brokerage as deployed."""

PRODUCTION = {brokerage.name: brokerage for brokerage in (DOCUMENTED, DEPLOYED)}
"""Production job brokerage by edition."""
