"""The figures behind a verdict of job brokerage: what a rule compared, and of which factors a weight was made.

What lives here: asking rules once more, one candidate at a time, where somebody wants to know. What does not: the
decision (`broker`), the rules, and any record of the figures (agents).
"""

import math

import numpy as np

from simgrid_broker.policy.job_brokerage.at import NUMBERS, At
from simgrid_broker.policy.job_brokerage.brokerage import JobBrokerage
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.job_brokerage.decide import LOW_WEIGHT, TOO_QUIET, Question, take_input
from simgrid_broker.policy.rule import Answer, is_compiled
from simgrid_broker.views import KEPT, Figures


def figures(brokerage: JobBrokerage, case: JobCase, question: Question, refused_by: np.ndarray) -> Figures:
    """Value and limit of the rule that refused each candidate, and the factors of those that are used.

    refused_by: (n,) as in `views.Verdict`. Rules that answer with a mask have no figures. A candidate of a worse class
    has its class and the best; one behind the best its weight and that of the last one used, or the jobs that run at
    its queue and at the one used.
    """
    n, criteria = case.n_candidates, brokerage.funnel.criteria
    found = Figures(np.full(n, np.nan), np.full(n, np.nan),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors})
    for place in np.unique(refused_by[(refused_by != KEPT) & (refused_by < len(criteria))]).tolist():
        who = np.flatnonzero(refused_by == place)
        rule = criteria[place]
        if rule.rule.choice:
            _classify(brokerage, question, place, refused_by, found)
        elif rule.rule.static is not None:
            _ask_all(rule, case, who, found)
        elif is_compiled(rule):
            _ask_each(brokerage, question, rule, who, found)
    _split(brokerage, case, question, np.flatnonzero(refused_by == KEPT), found)
    _rank(brokerage, question, refused_by - len(criteria), found)
    return found


def candidate(brokerage: JobBrokerage, question: Question, k: int) -> At:
    """Candidate k with job numbers and weight, as compiled rules see it."""
    queue, n = question.queues[k], np.zeros(1, NUMBERS)[0]
    site = queue["site"]
    at = At(question.ask[0], queue, question.load[queue["queue"]], question.link[site], question.store[site], n)
    take_input(question, site, n)
    brokerage.count(*at)
    n["weight"] = question.static_weight[k] * math.prod(rule(*at) for rule in brokerage.factors if is_compiled(rule))
    return at


def _ask_each(brokerage: JobBrokerage, question: Question, rule, who: np.ndarray, found: Figures) -> None:
    """Figures of a compiled criterion for candidates `who`."""
    for k in who.tolist():
        _, found.value[k], found.limit[k] = rule(*candidate(brokerage, question, k))


def _classify(brokerage: JobBrokerage, question: Question, place: int, refused_by: np.ndarray, found: Figures) -> None:
    """Class of each candidate that the choice at `place` left behind, and the best class of those that came on."""
    came_on = np.flatnonzero((refused_by == KEPT) | (refused_by > place)).tolist()
    classes = {k: float(brokerage.choice(*candidate(brokerage, question, k)))
               for k in [*np.flatnonzero(refused_by == place).tolist(), *came_on]}
    best = min((classes[k] for k in came_on), default=np.nan)
    for k in classes.keys() - set(came_on):
        found.value[k], found.limit[k] = classes[k], best


def _ask_all(rule, case: JobCase, who: np.ndarray, found: Figures) -> None:
    """Figures of a criterion that looks at descriptions, if it gives any."""
    answer = rule(case)
    if isinstance(answer, Answer):
        found.value[who] = np.broadcast_to(answer.value, case.n_candidates)[who]
        found.limit[who] = np.broadcast_to(answer.limit, case.n_candidates)[who]


def _split(brokerage: JobBrokerage, case: JobCase, question: Question, who: np.ndarray, found: Figures) -> None:
    """The factors of candidates `who`."""
    for rule in brokerage.static_factors:
        found.factors[rule.rule.name][who] = np.broadcast_to(rule(case), case.n_candidates)[who]
    for k in who.tolist():
        at = candidate(brokerage, question, k)
        for rule in brokerage.factors:
            if is_compiled(rule):
                found.factors[rule.rule.name][k] = rule(*at)


def _rank(brokerage: JobBrokerage, question: Question, ranked: np.ndarray, found: Figures) -> None:
    """Figures of candidates behind the best; ranked: (n,) position in RANKING_TAGS, negative elsewhere.

    A weight of 0 stands above all others: it is no limit, and whoever is behind with it has no figures.
    """
    used = np.flatnonzero(ranked == KEPT - len(brokerage.funnel.criteria)).tolist()
    for tag, key in ((LOW_WEIGHT, "weight"), (TOO_QUIET, "running_all")):
        who = np.flatnonzero(ranked == tag).tolist()
        if who:
            numbers = [_number(brokerage, question, k, key) for k in used]
            found.limit[who] = min((number for number in numbers if number or tag == TOO_QUIET), default=np.nan)
            found.value[who] = [_number(brokerage, question, k, key) for k in who]


def _number(brokerage: JobBrokerage, question: Question, k: int, key: str) -> float:
    """The weight of candidate k, or the jobs of all shares that run at its queue."""
    at = candidate(brokerage, question, k)
    return float(at.n["weight"] if key == "weight" else at.load["running_all"])
