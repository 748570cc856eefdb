"""What makes a job brokerage: criteria, factors, and the compiled decision over both.

What lives here: `JobBrokerage`. What does not: the chain of an edition (`documented`, `deployed`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.job_brokerage.decide import RANKING_TAGS
from simgrid_broker.policy.rule import is_compiled


@dataclass(frozen=True)
class JobBrokerage:
    """A job brokerage: its criteria, its factors, and the compiled decision over both.

    count: compiled function of one candidate that fills in its job numbers; decide: compiled function of (question,
    answer) that calls it, asks the compiled criteria of `funnel` and multiplies the compiled ones of `factors`. A
    static rule is changed by replacing one field; a compiled one by a `decide` of one's own as well, because compiled
    code cannot be handed functions and be kept between runs. caps: the criteria about the nucleus, the input, backlogs
    and weights, which the hint to the task brokerage leaves out; no permanent criterion of another kind stands behind
    those about backlogs, whose numbers are made only for candidates that none refused.
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
    def later(self) -> np.ndarray:
        """Smallest rank of each compiled criterion and those behind it, (n_load,)."""
        return smallest_behind(self.funnel.load_ranks)

    @cached_property
    def hint_later(self) -> np.ndarray:
        """The same for a hint."""
        return smallest_behind(self.hint_ranks)

    @cached_property
    def least(self) -> int:
        """Smallest rank of a compiled criterion: a candidate that is out before need not be looked at."""
        return int(self.funnel.load_ranks.min(initial=self.funnel.never))

    @cached_property
    def choice_rank(self) -> int:
        """Rank of the choice of a class; behind all others if there is none."""
        return self.funnel.never if self.choice is None else self.funnel.ranks[self.choice]


def smallest_behind(ranks: np.ndarray) -> np.ndarray:
    """The smallest of each rank and those behind it, (n,)."""
    return np.minimum.accumulate(ranks[::-1])[::-1].copy()
