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
from simgrid_broker.policy.job_brokerage.activity import (
    disk_io,
    inactive,
    inactive_deployed,
    no_pilots,
    no_pilots_deployed,
    non_pledged,
    opportunistic,
    output_backlog,
    output_backlog_deployed,
    over_pledged,
    over_pledged_deployed,
)
from simgrid_broker.policy.job_brokerage.data_motion import (
    REFUSED,
    choice_is_open,
    io_class,
    not_local,
    too_intense,
    too_much_to_move,
)
from simgrid_broker.policy.job_brokerage.decide import RANKING_TAGS, choose, look_for_sources, note, rank, take_input
from simgrid_broker.policy.job_brokerage.endpoints import (
    nobody_sends_input,
    not_readable,
    not_writable,
    receives_nothing,
    receives_nothing_deployed,
    sends_nothing,
    too_little_space,
    too_little_space_deployed,
)
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
from simgrid_broker.policy.job_brokerage.nucleus import (
    for_full_chains_only,
    off_nucleus,
    off_nucleus_deployed,
    off_the_chain,
    t1weight,
    t1weight_deployed,
)
from simgrid_broker.policy.rule import is_compiled


@dataclass(frozen=True)
class JobBrokerage:
    """A job brokerage: its criteria, its factors, and the compiled decision over both.

    decide: compiled function of (question, answer) that asks the compiled criteria of `funnel` and multiplies the
    compiled ones of `factors`. A static rule is changed by replacing one field; a compiled one by a `decide` of one's
    own as well, because compiled code cannot be handed functions and be kept between runs. caps: the criteria about the
    nucleus, the input, backlogs and weights, which the hint to the task brokerage leaves out; no static criterion
    stands behind those about backlogs, whose numbers are made only for candidates that none refused.
    """

    name: str
    funnel: Funnel
    factors: tuple[Callable, ...]
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


DOCUMENTED_FACTORS = (running_over_queued, many_assigned, data_availability, t1weight)


@compiled
def weight_documented(ask, queue, load, link, store, n):
    """Product of DOCUMENTED_FACTORS for a candidate."""
    return (running_over_queued(ask, queue, load, link, store, n)
            * many_assigned(ask, queue, load, link, store, n)
            * data_availability(ask, queue, load, link, store, n)
            * t1weight(ask, queue, load, link, store, n))


@compiled
def refusal_documented(ask, queue, load, link, store, n, first, ranks):
    """Smallest rank at which a compiled criterion refuses a candidate, if it is below `first`."""
    first = ranks[0] if ranks[0] < first and inactive(ask, queue, load, link, store, n)[0] else first
    first = ranks[1] if ranks[1] < first and opportunistic(ask, queue, load, link, store, n)[0] else first
    first = ranks[2] if ranks[2] < first and too_much_to_move(ask, queue, load, link, store, n)[0] else first
    first = ranks[3] if ranks[3] < first and disk_io(ask, queue, load, link, store, n)[0] else first
    first = ranks[4] if ranks[4] < first and too_little_space(ask, queue, load, link, store, n)[0] else first
    first = ranks[5] if ranks[5] < first and not_readable(ask, queue, load, link, store, n)[0] else first
    first = ranks[6] if ranks[6] < first and not_writable(ask, queue, load, link, store, n)[0] else first
    first = ranks[7] if ranks[7] < first and receives_nothing(ask, queue, load, link, store, n)[0] else first
    first = ranks[8] if ranks[8] < first and sends_nothing(ask, queue, load, link, store, n)[0] else first
    first = ranks[9] if ranks[9] < first and output_backlog(ask, queue, load, link, store, n)[0] else first
    first = ranks[10] if ranks[10] < first and off_nucleus(ask, queue, load, link, store, n)[0] else first
    first = ranks[11] if ranks[11] < first and off_the_chain(ask, queue, load, link, store, n)[0] else first
    first = ranks[12] if ranks[12] < first and for_full_chains_only(ask, queue, load, link, store, n)[0] else first
    first = ranks[13] if ranks[13] < first and no_pilots(ask, queue, load, link, store, n)[0] else first
    first = ranks[14] if ranks[14] < first and non_pledged(ask, queue, load, link, store, n)[0] else first
    first = ranks[15] if ranks[15] < first and over_pledged(ask, queue, load, link, store, n)[0] else first
    first = ranks[16] if ranks[16] < first and too_many_ready(ask, queue, load, link, store, n)[0] else first
    first = ranks[17] if ranks[17] < first and too_many_queued(ask, queue, load, link, store, n)[0] else first
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
            if first == question.never:
                documented_numbers(ask, queue, load, link, store, n)
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
        inactive,
        opportunistic,
        candidates.zero_share,
        too_much_to_move,
        disk_io,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing,
        software.platform_missing,
        requirements.too_little_memory,
        requirements.too_much_memory,
        requirements.too_little_scratch,
        too_little_space,
        not_readable,
        not_writable,
        receives_nothing,
        sends_nothing,
        requirements.too_short_for_scouts,
        requirements.too_short_for_unknown,
        requirements.too_little_walltime,
        requirements.too_much_walltime,
        output_backlog,
        off_nucleus,
        off_the_chain,
        for_full_chains_only,
        no_pilots,
        non_pledged,
        over_pledged,
        too_many_ready,
        too_many_queued,
    )),
    DOCUMENTED_FACTORS, decide_documented,
    caps=(too_much_to_move, off_the_chain, for_full_chains_only, too_many_ready, too_many_queued),
)
"""Production job brokerage as documented."""

DEPLOYED_FACTORS = (running_over_queued, many_assigned_deployed, data_availability, t1weight_deployed, bootstrap)


@compiled
def weight_deployed(ask, queue, load, link, store, n):
    """Product of DEPLOYED_FACTORS for a candidate."""
    return (running_over_queued(ask, queue, load, link, store, n)
            * many_assigned_deployed(ask, queue, load, link, store, n)
            * data_availability(ask, queue, load, link, store, n)
            * t1weight_deployed(ask, queue, load, link, store, n)
            * bootstrap(ask, queue, load, link, store, n))


@compiled
def refusal_deployed(ask, queue, load, link, store, n, first, ranks):
    """Smallest rank at which a compiled criterion refuses a candidate, if it is below `first`."""
    first = ranks[0] if ranks[0] < first and opportunistic(ask, queue, load, link, store, n)[0] else first
    first = ranks[1] if ranks[1] < first and inactive_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[2] if ranks[2] < first and disk_io(ask, queue, load, link, store, n)[0] else first
    first = ranks[3] if ranks[3] < first and too_little_space_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[4] if ranks[4] < first and not_readable(ask, queue, load, link, store, n)[0] else first
    first = ranks[5] if ranks[5] < first and not_writable(ask, queue, load, link, store, n)[0] else first
    first = ranks[6] if ranks[6] < first and receives_nothing_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[7] if ranks[7] < first and sends_nothing(ask, queue, load, link, store, n)[0] else first
    first = ranks[8] if ranks[8] < first and nobody_sends_input(ask, queue, load, link, store, n)[0] else first
    first = ranks[9] if ranks[9] < first and output_backlog_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[10] if ranks[10] < first and non_pledged(ask, queue, load, link, store, n)[0] else first
    first = ranks[11] if ranks[11] < first and over_pledged_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[12] if ranks[12] < first and off_nucleus_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[13] if ranks[13] < first and too_intense(ask, queue, load, link, store, n)[0] else first
    first = ranks[14] if ranks[14] < first and off_the_chain(ask, queue, load, link, store, n)[0] else first
    first = ranks[15] if ranks[15] < first and for_full_chains_only(ask, queue, load, link, store, n)[0] else first
    first = ranks[16] if ranks[16] < first and no_pilots_deployed(ask, queue, load, link, store, n)[0] else first
    first = ranks[17] if ranks[17] < first and not_local(ask, queue, load, link, store, n)[0] else first
    first = ranks[18] if ranks[18] < first and over_cap(ask, queue, load, link, store, n)[0] else first
    first = ranks[19] if ranks[19] < first and over_cap_of_type(ask, queue, load, link, store, n)[0] else first
    first = ranks[20] if ranks[20] < first and below_min_weight(ask, queue, load, link, store, n)[0] else first
    return first


@compiled
def decide_deployed(question, answer):
    """The decision of the edition deployed."""
    ask, n = question.ask[0], answer.numbers[0]
    look_for_sources(question)
    choosing = choice_is_open(ask)
    for k in range(len(question.queues)):
        first, queue = question.first[k], question.queues[k]
        if first > question.least:
            site = queue["site"]
            load, link, store = question.load[queue["queue"]], question.link[site], question.store[site]
            take_input(question, site, n)
            if first == question.never:
                deployed_numbers(ask, queue, load, link, store, n)
                n["weight"] = question.static_weight[k] * weight_deployed(ask, queue, load, link, store, n)
            first = refusal_deployed(ask, queue, load, link, store, n, first, question.ranks)
            if choosing and first > question.choice_rank:
                answer.classes[k] = io_class(ask, queue, load, link, store, n)
        note(question, answer, k, first)
    if choosing:
        choose(question, answer, REFUSED)
    return rank(question, answer)


DEPLOYED = JobBrokerage(
    "deployed",
    Funnel((
        candidates.of_the_other_kind,
        candidates.neither_online_nor_standby,
        opportunistic,
        inactive_deployed,
        candidates.zero_share_deployed,
        disk_io,
        candidates.core_count_mismatch,
        candidates.too_many_cores,
        software.software_missing_deployed,
        software.platform_missing_deployed,
        requirements.too_little_memory_deployed,
        requirements.too_much_memory_deployed,
        requirements.too_little_scratch_deployed,
        too_little_space_deployed,
        not_readable,
        not_writable,
        receives_nothing_deployed,
        sends_nothing,
        nobody_sends_input,
        requirements.too_little_walltime_deployed,
        requirements.too_short_for_scouts_deployed,
        requirements.too_short_for_unknown_deployed,
        requirements.too_much_walltime_deployed,
        output_backlog_deployed,
        non_pledged,
        over_pledged_deployed,
        off_nucleus_deployed,
        too_intense,
        off_the_chain,
        for_full_chains_only,
        no_pilots_deployed,
        io_class,
        not_local,
        over_cap,
        over_cap_of_type,
        below_min_weight,
    )),
    (software.cpu_preference, *DEPLOYED_FACTORS), decide_deployed,
    caps=(off_the_chain, for_full_chains_only, not_local, over_cap, over_cap_of_type, below_min_weight),
    choice=io_class, busiest=True,
)
"""Production job brokerage as deployed."""

PRODUCTION = {brokerage.name: brokerage for brokerage in (DOCUMENTED, DEPLOYED)}
"""Production job brokerage by edition."""
