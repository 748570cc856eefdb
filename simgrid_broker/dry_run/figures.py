"""The figures behind a verdict: what a rule compared, and of which factors a weight was made.

What lives here: asking the rules once more, one candidate at a time. What does not: the rules (policy).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.policy.job_brokerage import decide
from simgrid_broker.policy.job_brokerage.at import NUMBERS, At
from simgrid_broker.policy.job_brokerage.broker import ask_of
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.job_brokerage.editions import PRODUCTION
from simgrid_broker.policy.job_brokerage.load import deployed_numbers, documented_numbers
from simgrid_broker.policy.rule import Answer, is_compiled
from simgrid_broker.views import KEPT, Verdict

COUNT = {"documented": documented_numbers, "deployed": deployed_numbers}
"""What counts the jobs of a candidate, by edition."""


@dataclass(frozen=True)
class Figures:
    """Value and limit that the refusing rule compared, and factors by name, (n,) or one number each; NaN = none."""

    value: np.ndarray | None = None
    limit: np.ndarray | None = None
    factors: Mapping[str, np.ndarray | float] = field(default_factory=dict)


def figures_of_nuclei(verdict: Verdict) -> Figures:
    """Factors as the task brokerage leaves them in its verdict; its criteria keep no figures."""
    return Figures(factors=verdict.factors)


def figures_of_jobs(asked: tuple, verdict: Verdict) -> Figures:
    """Figures of a production job brokerage that was handed `asked`, the arguments of `broker_jobs` but the cache."""
    task, queues, *_, edition = asked
    brokerage, question, case = PRODUCTION[edition], ask_of(PRODUCTION[edition], *asked[:-1]), JobCase(task, queues)
    n = case.n_candidates
    value, limit = np.full(n, np.nan), np.full(n, np.nan)
    factors = {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors}
    answers = {}
    for k in range(n):
        at = candidate(question, k, edition)
        found = {rule: float(rule(*at)) if is_compiled(rule) else _at(rule(case), k) for rule in brokerage.factors}
        at.n["weight"] = np.prod(list(found.values()))
        for rule, number in found.items():
            factors[rule.rule.name][k] = number
        refused_by = verdict.refused_by[k]
        if refused_by == KEPT or refused_by >= len(brokerage.funnel.criteria):
            continue
        rule = brokerage.funnel.criteria[refused_by]
        if is_compiled(rule):
            _, value[k], limit[k] = rule(*at)
        elif rule.rule.static is not None:
            if rule not in answers:
                answers[rule] = rule(case)
            if isinstance(answers[rule], Answer):
                value[k], limit[k] = _at(answers[rule].value, k), _at(answers[rule].limit, k)
    return Figures(value, limit, factors)


def candidate(question, k: int, edition: str) -> At:
    """Candidate k with its job numbers, as compiled rules see it."""
    queue, n = question.queues[k], np.zeros(1, NUMBERS)[0]
    site = queue["site"]
    at = At(question.ask[0], queue, question.load[queue["queue"]], question.link[site], question.store[site], n)
    decide.take_input(question, site, n)
    COUNT[edition](*at)
    return at


def _at(column, k: int) -> float:
    """The number of candidate k in a column, or the number that holds for all."""
    return float(column if np.ndim(column) == 0 else column[k])
