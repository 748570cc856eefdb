"""What every brokerage is: its rules in order, and their names."""

from dataclasses import dataclass, field
from functools import cached_property

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import FINAL_STAGE, Criterion, CriterionFunction, FactorFunction, labels_of

LOW_WEIGHT = Criterion(tag="-low_weight", name="low_weight", unit="weight", panda="sorting by weight",
                       stage=FINAL_STAGE, says="weight {value}, the last queue used has {limit}",
                       source="brokerage reference, 10.3, 10.4 and 11.5 (D71)",
                       meaning="Refuse queues of lower weight than the best, which are used.")
"""What refuses candidates behind the best."""


@dataclass(frozen=True)
class Brokerage:
    """A brokerage: its criteria in order and the factors of its weight. To change one rule, replace one field.

    gate: rules about the attempt, asked before all others; behind: what refuses candidates behind the criteria.
    """

    edition: str
    funnel: Funnel
    factors: tuple[FactorFunction, ...]
    gate: tuple[CriterionFunction, ...] = field(default=(), kw_only=True)
    behind: tuple[Criterion, ...] = field(default=(), kw_only=True)

    @cached_property
    def rules(self) -> tuple[Criterion, ...]:
        """Everything that a candidate can be refused for: the gate, the criteria, and what comes behind them."""
        return (*(rule.rule for rule in self.gate), *self.funnel.rules, *self.behind)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Label of each of `rules`, by its name."""
        return labels_of(self.rules)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags of `rules`."""
        return tuple(rule.tag for rule in self.rules)


@compiled
def insert(k, keys, best, n_best, most):
    """Insert candidate k into the best ones, which are sorted by falling key; returns how many these are.

    At most `most` are left; candidates of one key stay in the order in which they came.
    """
    place = n_best
    while place > 0 and keys[best[place - 1]] < keys[k]:
        place -= 1
    if place >= most:
        return n_best
    n_best = min(n_best + 1, most)
    for later in range(n_best - 1, place, -1):
        best[later] = best[later - 1]
    best[place] = k
    return n_best
