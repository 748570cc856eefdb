"""Rules of any brokerage in order, the insertion of the best candidates, and the figures of a refusal on demand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition, editions
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import FINAL_STAGE, Answer, Criterion, CriterionFunction, FactorFunction, labels_of
from simgrid_broker.views import KEPT, Figures

LOW_WEIGHT = Criterion(tag="-low_weight", name="low_weight", unit="weight", panda="sorting by weight",
                       stage=FINAL_STAGE, says="weight {value}, the last queue used has {limit}",
                       source="brokerage reference, 10.3, 10.4 and 11.5 (D71)",
                       meaning="Refuse queues of lower weight than the best, which are used.")
"""Rule that refuses candidates behind the best."""


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


B = TypeVar("B", bound=Brokerage)


def by_edition(documented: B, deployed: B, later: Mapping[str, B] | None = None) -> ByEdition[B]:
    """Brokerages by edition, each with the name of its own release; the arguments are those of `ByEdition`."""
    named = {}
    for edition in editions()[1:]:
        deployed = (later or {}).get(edition.release, deployed)
        named[edition.release] = replace(deployed, edition=edition.name)
    return ByEdition(documented, deployed, named)


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


# ---- figures of a refusal --------------------------------------------------------------------------------------------

class Decided(NamedTuple):
    """A decision, as its rules are asked about it once more.

    refused_by, value, limit: (n,) of the decision; task: its record; case: of rules about all candidates, None = there
    are none; candidate: function from the number of a candidate to the arguments of the rules about one.
    """

    refused_by: np.ndarray
    value: np.ndarray
    limit: np.ndarray
    task: np.void
    case: Any
    candidate: Callable[[int], Sequence[Any]]


def figures_of(brokerage: Brokerage, decided: Decided, numbers: Iterable[str] = ()) -> Figures:
    """Value, limit and words of each refusal by the gate or a criterion; factors and the numbers named are all NaN.

    Rules that answer with a mask have no figures.
    """
    n, rules = len(decided.refused_by), (*brokerage.gate, *brokerage.funnel.criteria)
    refused = decided.refused_by[(decided.refused_by != KEPT) & (decided.refused_by < len(rules))]
    stopped = bool((refused < len(brokerage.gate)).any())
    texts: dict[int, str] = {}
    figures = Figures(np.full(n, np.nan), np.full(n, np.nan),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors},
                    {name: np.full(n, np.nan) for name in numbers}, texts,
                    frozenset(place for place, rule in enumerate(rules) if not concerns(rule, decided, stopped)))
    for place in np.unique(refused).tolist():
        texts |= explain(rules[place], decided, np.flatnonzero(decided.refused_by == place), figures)
    return figures


def concerns(rule: CriterionFunction, decided: Decided, stopped: bool) -> bool:
    """True if a rule concerned the task; stopped: the gate ended the attempt, and no other compiled rule was asked."""
    if not rule.rule.by_records:
        return rule.rule.concerns(decided.case)
    return (rule.rule.of_attempt or not stopped) and rule.rule.concerns(decided.task)


def explain(rule: CriterionFunction, decided: Decided, rows: np.ndarray, figures: Figures) -> dict[int, str]:
    """Fill in the figures of one rule about the candidates `rows` that it refused; returns its words for them."""
    if rule.rule.by_records:
        figures.value[rows], figures.limit[rows] = decided.value[rows], decided.limit[rows]
    elif isinstance(answer := rule(decided.case), Answer):
        figures.value[rows] = np.broadcast_to(answer.value, len(figures.value))[rows]
        figures.limit[rows] = np.broadcast_to(answer.limit, len(figures.limit))[rows]
    text, per_candidate = rule.rule.text, rule.rule.per_candidate
    return {} if text is None else {k: text(*(decided.candidate(k) if per_candidate else (decided.case, k)))
                                    for k in rows.tolist()}
