"""The figures behind a verdict of job brokerage: what a rule compared, and the factors of a weight, on demand."""

import itertools
import math

import numpy as np

from simgrid_broker.policy.brokerage.production.decide import TOO_LIGHT, TOO_QUIET, Question, take_input
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.production.network import network, network_weight
from simgrid_broker.policy.brokerage.production.question import NUMBERS, Candidate, JobCase
from simgrid_broker.policy.rule import Answer, CriterionFunction
from simgrid_broker.views import KEPT, Figures

NUMBERS_TOLD = {"weight": "weight", "running": "running", "assigned": "assigned", "queued": "backlog", "cap": "cap"}
"""Numbers of a candidate to the column of NUMBERS that has them."""


def figures(brokerage: JobBrokerage, case: JobCase, question: Question, refused_by: np.ndarray) -> Figures:
    """Value and limit of the rule that refused each candidate, and of those that reach the weight what it is made of.

    refused_by: (n,) as in `views.Verdict`. Rules that answer with a mask have no figures. A candidate of a worse class
    has its class and the best; one behind the best its weight and that of the last one used, or the jobs that run at
    its queue and at the one used.
    """
    n, criteria = case.n_candidates, brokerage.funnel.criteria
    texts: dict[int, str] = {}
    task = question.tables.task[question.row]
    known = Figures(np.full(n, np.nan), np.full(n, np.nan),
                    {rule.rule.name: np.full(n, np.nan) for rule in brokerage.factors},
                    {name: np.full(n, np.nan) for name in (*NUMBERS_TOLD, "network weight", "jumbo")}, texts,
                    frozenset(place for place, rule in enumerate(criteria)
                              if not rule.rule.concerns(task if rule.rule.per_candidate else case)))
    for place in np.unique(refused_by[(refused_by != KEPT) & (refused_by < len(criteria))]).tolist():
        rows = np.flatnonzero(refused_by == place)
        rule = criteria[place]
        if rule.rule.is_choice:
            _classify(brokerage, rule, question, place, refused_by, known)
        elif not rule.rule.per_candidate:
            _ask_all(rule, case, rows, known)
        else:
            known.value[rows], known.limit[rows] = question.tables.value[rows], question.tables.limit[rows]
        if rule.rule.text is not None:
            asked = (candidate(brokerage, question, k, False) if rule.rule.per_candidate else (case, k)
                     for k in rows.tolist())
            texts |= zip(rows.tolist(), itertools.starmap(rule.rule.text, asked), strict=True)
    _split(brokerage, case, question, np.flatnonzero(reaches_weight(brokerage, refused_by)), refused_by, known)
    _rank(brokerage, question, refused_by - len(criteria), known)
    return known


def reaches_weight(brokerage: JobBrokerage, refused_by: np.ndarray) -> np.ndarray:
    """Candidates that a broker weighs, kept or refused behind that, (n,) bool."""
    criteria = brokerage.funnel.criteria
    late = [rule.rule.needs_numbers or rule.rule.final for rule in criteria]
    places = np.append(np.array(late, bool), np.ones(len(brokerage.tags) - len(criteria) + 1, bool))
    return places[refused_by]                                     # the last one is KEPT, index -1


def candidate(brokerage: JobBrokerage, question: Question, k: int, weighed: bool = True) -> Candidate:
    """Candidate k as compiled rules see it, with job numbers and weight if it is to be weighed."""
    tables, row = question
    asked, queue, numbers = tables.asked[row], tables.queues[k], np.zeros(1, NUMBERS)[0]
    place = queue["queue"]
    seen = Candidate(tables.task[row], queue, tables.load[asked["load"], place], tables.link[asked["link"], place],
                     tables.store[place], numbers)
    take_input(tables, row, queue, numbers)
    if weighed:
        brokerage.count(*seen)
        numbers["weight"] = tables.static_weight[asked["weight"], k] * math.prod(
            rule(*seen) for rule in brokerage.candidate_factors)
    return seen


def _classify(brokerage: JobBrokerage, choice: CriterionFunction, question: Question, place: int,
              refused_by: np.ndarray, known: Figures) -> None:
    """Class of each candidate that the choice at `place` refused, and the best class of the others that reached it."""
    came_on = np.flatnonzero((refused_by == KEPT) | (refused_by > place)).tolist()
    classes = {k: float(choice(*candidate(brokerage, question, k)))
               for k in [*np.flatnonzero(refused_by == place).tolist(), *came_on]}
    best = min((classes[k] for k in came_on), default=np.nan)
    for k in classes.keys() - set(came_on):
        known.value[k], known.limit[k] = classes[k], best


def _ask_all(rule: CriterionFunction, case: JobCase, rows: np.ndarray, known: Figures) -> None:
    """Figures of a criterion about all candidates, if it gives any."""
    answer = rule(case)
    if isinstance(answer, Answer):
        known.value[rows] = np.broadcast_to(answer.value, case.n_candidates)[rows]
        known.limit[rows] = np.broadcast_to(answer.limit, case.n_candidates)[rows]


def _split(brokerage: JobBrokerage, case: JobCase, question: Question, rows: np.ndarray, refused_by: np.ndarray,
           known: Figures) -> None:
    """The factors and numbers of candidates `rows`."""
    tables, n = question.tables, case.n_candidates
    _weigh(brokerage, question, rows[~tables.weighed[rows]])
    for rule in brokerage.static_factors:
        known.factors[rule.rule.name][rows] = np.broadcast_to(rule(case), n)[rows]
    begins = {tag: place for place, tag in reversed(list(enumerate(brokerage.tags)))}
    for rule, factor in zip(brokerage.candidate_factors, tables.factors, strict=True):
        before = (refused_by[rows] >= 0) & (refused_by[rows] < begins.get(rule.rule.before, 0))
        known.factors[rule.rule.name][rows] = np.where(before, np.nan, factor[rows])
    for name, column in NUMBERS_TOLD.items():
        known.numbers[name][rows] = tables.numbers[column][rows]
    product = np.ones(len(rows))
    for multipliers in known.factors.values():
        product *= np.where(np.isnan(multipliers[rows]), 1.0, multipliers[rows])
    known.numbers["weight"][rows] = product
    task = tables.task[question.row]
    known.numbers["jumbo"][rows] = task["jumbo"] & tables.queues["use_jumbo_jobs"][rows]
    if task["has_nucleus"]:
        known.numbers["network weight"][rows] = _network_weights(brokerage, question, rows)


def _weigh(brokerage: JobBrokerage, question: Question, rows: np.ndarray) -> None:
    """Fill in the numbers and factors of candidates that a decision did not weigh."""
    tables = question.tables
    for k in rows.tolist():
        seen = candidate(brokerage, question, k)
        tables.numbers[k], tables.weighed[k] = seen.numbers, True
        tables.factors[:, k] = [rule(*seen) for rule in brokerage.candidate_factors]


def _network_weights(brokerage: JobBrokerage, question: Question, rows: np.ndarray) -> np.ndarray:
    """The network weight of weighed candidates, also where it is no factor of their weight, (k,)."""
    tables, row = question
    task, link, queues = tables.task[row], tables.link[tables.asked[row]["link"]], tables.queues["queue"]
    if task["NW_ACTIVE"] and network in brokerage.candidate_factors:
        return tables.factors[brokerage.candidate_factors.index(network)][rows]
    return np.array([network_weight(task, link[queues[k]]) for k in rows.tolist()], float)


def _rank(brokerage: JobBrokerage, question: Question, ranked: np.ndarray, known: Figures) -> None:
    """Figures of candidates behind the best; ranked: (n,) position in RANKING, negative elsewhere.

    A weight of 0 ranks above all others: it is no limit, and a candidate behind with it has no figures.
    """
    used = np.flatnonzero(ranked == KEPT - len(brokerage.funnel.criteria)).tolist()
    for tag, key in ((TOO_LIGHT, "weight"), (TOO_QUIET, "running_all")):
        rows = np.flatnonzero(ranked == tag).tolist()
        if rows:
            numbers = [_number(brokerage, question, k, key) for k in used]
            known.limit[rows] = min((number for number in numbers if number or tag == TOO_QUIET), default=np.nan)
            known.value[rows] = [_number(brokerage, question, k, key) for k in rows]


def _number(brokerage: JobBrokerage, question: Question, k: int, key: str) -> float:
    """The weight of candidate k, or the jobs of all shares that run at its queue."""
    seen = candidate(brokerage, question, k)
    return float(seen.numbers["weight"] if key == "weight" else seen.load["running_all"])
