"""The figures behind a verdict of analysis brokerage, on demand."""

import numpy as np

from simgrid_broker.policy.brokerage.analysis.decide import Tables
from simgrid_broker.policy.brokerage.analysis.editions import AnalysisBrokerage
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase, Candidate
from simgrid_broker.policy.rule import Answer, CriterionFunction
from simgrid_broker.views import KEPT, Figures

NUMBERS_TOLD = {"running": "running", "queued": "queued", "longest": "longest", "room": "left"}
"""Numbers of a candidate to the column of NUMBERS that has them."""


def figures(brokerage: AnalysisBrokerage, case: AnalysisCase, tables: Tables, refused_by: np.ndarray) -> Figures:
    """Value and limit of the rule that refused each candidate, and what the weight of those weighed is made of."""
    n, asked = case.n_candidates, (*brokerage.gate, *brokerage.funnel.criteria)
    stopped, texts = bool(((refused_by >= 0) & (refused_by < brokerage.n_gate)).any()), dict[int, str]()
    known = Figures(np.full(n, np.nan), np.full(n, np.nan),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors},
                    {name: np.full(n, np.nan) for name in ("weight", *NUMBERS_TOLD)}, texts,
                    frozenset(place for place, rule in enumerate(asked) if not concerns(rule, case, tables, stopped)))
    for place in np.unique(refused_by[refused_by != KEPT]).tolist():
        if place < len(asked):
            texts |= tell(asked[place], case, tables, np.flatnonzero(refused_by == place), known)
    weigh(brokerage, tables, refused_by, known)
    return known


def concerns(rule: CriterionFunction, case: AnalysisCase, tables: Tables, stopped: bool) -> bool:
    """Whether a rule concerned the task; stopped: whether the gate ended the attempt."""
    if not rule.rule.by_records:
        return rule.rule.concerns(case)
    return (rule.rule.of_attempt or not stopped) and rule.rule.concerns(tables.task[0])


def tell(rule: CriterionFunction, case: AnalysisCase, tables: Tables, rows: np.ndarray,
         known: Figures) -> dict[int, str]:
    """Fill in the figures of one rule about the candidates that it refused; returns its words for them."""
    asked: list[tuple] = [(case, k) for k in rows.tolist()]
    if rule.rule.by_records:
        known.value[rows], known.limit[rows] = tables.value[rows], tables.limit[rows]
        asked = [candidate(tables, k) for k in rows.tolist()] if rule.rule.per_candidate else asked
    else:
        answer = rule(case)
        if isinstance(answer, Answer):
            known.value[rows] = np.broadcast_to(answer.value, case.n_candidates)[rows]
            known.limit[rows] = np.broadcast_to(answer.limit, case.n_candidates)[rows]
    if rule.rule.text is None:
        return {}
    return dict(zip(rows.tolist(), (rule.rule.text(*one) for one in asked), strict=True))


def candidate(tables: Tables, k: int) -> Candidate:
    """Candidate k as compiled rules see it."""
    queue = tables.queues[k]
    place = queue["queue"]
    return Candidate(tables.task[0], queue, tables.load[place], tables.user[place], tables.store[place],
                     tables.data[place])


def weigh(brokerage: AnalysisBrokerage, tables: Tables, refused_by: np.ndarray, known: Figures) -> None:
    """Weights, factors and numbers of the candidates with which the loops ended; limits of those behind the best."""
    rows = np.flatnonzero(tables.listed & ~np.isnan(tables.weight))
    known.numbers["weight"][rows] = tables.weight[rows]
    for rule, factor in zip(brokerage.factors, tables.factors, strict=True):
        known.factors[rule.rule.name][rows] = factor[rows]
    for name, column in NUMBERS_TOLD.items():
        known.numbers[name][rows] = tables.numbers[column][rows]
    behind = np.flatnonzero(refused_by == len(brokerage.rules) - 1)
    known.value[behind] = tables.weight[behind]
    known.limit[behind] = tables.weight[refused_by == KEPT].min(initial=np.inf)
