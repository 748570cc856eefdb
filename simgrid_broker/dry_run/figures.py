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
from simgrid_broker.views import Verdict

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
    brokerage, case = PRODUCTION[edition], JobCase(task, queues)
    question, n = ask_of(brokerage, *asked[:-1]), case.n_candidates
    found = Figures(np.full(n, np.nan), np.full(n, np.nan),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors})
    fixed = {rule: rule(case) for rule in brokerage.static_factors}
    answers = {place: brokerage.funnel.criteria[place](case) for place in np.unique(verdict.refused_by).tolist()
               if 0 <= place < question.n_criteria and not is_compiled(brokerage.funnel.criteria[place])}
    for k in range(n):
        at = candidate(question, k, edition)
        split = {rule: _at(fixed[rule], k) if rule in fixed else float(rule(*at)) for rule in brokerage.factors}
        at.n["weight"] = np.prod(list(split.values()))
        for rule, number in split.items():
            found.factors[rule.rule.name][k] = number
        if 0 <= (place := int(verdict.refused_by[k])) < question.n_criteria:
            found.value[k], found.limit[k] = _compared(brokerage, place, at, answers, k)
    return found


def _compared(brokerage, place: int, at: At, answers: dict, k: int) -> tuple[float, float]:
    """What the criterion at a place of the chain compared for candidate k; NaN where it keeps no figures."""
    rule = brokerage.funnel.criteria[place]
    if rule is brokerage.choice:                        # picks a class of candidates, and compares nothing
        return np.nan, np.nan
    if place not in answers:
        return rule(*at)[1:]
    answer = answers[place]
    return (_at(answer.value, k), _at(answer.limit, k)) if isinstance(answer, Answer) else (np.nan, np.nan)


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
