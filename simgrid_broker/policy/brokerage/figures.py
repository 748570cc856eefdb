"""The figures behind a verdict: what a rule compared and named, on demand."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.policy.brokerage.brokerage import Brokerage
from simgrid_broker.policy.rule import Answer, CriterionFunction
from simgrid_broker.views import KEPT, Figures


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
    known = Figures(*(np.full(n, np.nan) for _ in ("value", "limit")),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors},
                    {name: np.full(n, np.nan) for name in numbers}, {},
                    frozenset(place for place, rule in enumerate(rules) if not concerns(rule, decided, stopped)))
    for place in np.unique(refused).tolist():
        explain(rules[place], decided, np.flatnonzero(decided.refused_by == place), known)
    return known


def concerns(rule: CriterionFunction, decided: Decided, stopped: bool) -> bool:
    """True if a rule concerned the task; stopped: the gate ended the attempt, and no other compiled rule was asked."""
    if not rule.rule.by_records:
        return rule.rule.concerns(decided.case)
    return (rule.rule.of_attempt or not stopped) and rule.rule.concerns(decided.task)


def explain(rule: CriterionFunction, decided: Decided, rows: np.ndarray, known: Figures) -> None:
    """Fill in the figures and the words of one rule about the candidates `rows` that it refused."""
    if rule.rule.by_records:
        known.value[rows], known.limit[rows] = decided.value[rows], decided.limit[rows]
    elif isinstance(answer := rule(decided.case), Answer):
        known.value[rows] = np.broadcast_to(answer.value, len(known.value))[rows]
        known.limit[rows] = np.broadcast_to(answer.limit, len(known.limit))[rows]
    if rule.rule.text is not None:
        for k in rows.tolist():
            known.texts[k] = rule.rule.text(*(decided.candidate(k) if rule.rule.per_candidate else (decided.case, k)))
