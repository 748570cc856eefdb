"""The compiled frame of one decision: question, answer, and the ranking of the candidates.

What lives here: what every edition has in common. What does not: rules, the loop that asks them (`editions`), and the
answer in Python's types (`broker`).
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.job_brokerage.at import NUMBERS
from simgrid_broker.views import KEPT

RANKING_TAGS = ("-t1_weight", "-low_weight", "-others_bootstrap")
"""What candidates behind the best are refused for; the last, with weight 0; source: brokerage reference, 10.3, 10.4."""
TURN = 7919
"""Prime by which the list is turned from one task to the next before ties are broken."""
TOO_QUIET, LOW_WEIGHT, OTHERS_BOOTSTRAP = range(3)


class Question(NamedTuple):
    """What a decision is made of.

    ask: (1,) of ASK; queues: (n,) of QUEUE; load: (n_queues,) of LOAD; link, store and the parts of the input:
    (n_sites,); first: (n,) smallest rank at which a static criterion refuses, `never` = none; static_weight: (n,)
    product of the static factors; ranks: (n_rules,) rank of each compiled criterion, of which `least` is the smallest;
    later: (n_rules,) the smallest from each of them on;
    choice_rank: that of the choice; n_criteria: of the whole chain; busiest: whether a task that stays at its nucleus
    uses one queue only.
    """

    ask: np.ndarray
    queues: np.ndarray
    load: np.ndarray
    link: np.ndarray
    store: np.ndarray
    disk_bytes: np.ndarray
    disk_files: np.ndarray
    any_bytes: np.ndarray
    any_files: np.ndarray
    first: np.ndarray
    static_weight: np.ndarray
    ranks: np.ndarray
    later: np.ndarray
    least: int
    choice_rank: int
    n_criteria: int
    never: int
    busiest: bool


class Answer(NamedTuple):
    """What a decision leaves: columns (n,), and the best candidates, best first, (most,).

    refused_by: index of the criterion, or behind them of the tag in RANKING_TAGS; KEPT = none. weight, backlog, cap: 0
    where refused. numbers: (1,) of NUMBERS, room for one candidate; kept: room for those that nobody refused;
    classes: (n,) class of each candidate that came to the choice.
    """

    refused_by: np.ndarray
    weight: np.ndarray
    backlog: np.ndarray
    cap: np.ndarray
    numbers: np.ndarray
    kept: np.ndarray
    classes: np.ndarray
    best: np.ndarray


def room(n: int, most: int) -> Answer:
    """An answer about `n` candidates yet to be given, of which at most `most` are used."""
    return Answer(np.empty(n, np.int16), *np.zeros((3, n)), *workspace(n), np.empty(most, np.int64))


@cache
def workspace(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What one decision about `n` candidates after the other uses and leaves behind: numbers, kept and classes."""
    return np.zeros(1, NUMBERS), np.empty(n, np.int32), np.empty(n, np.int8)


@compiled
def take_input(question, site, n):
    """Begin the numbers of a candidate: the parts of the input that lie at its site, and no weight yet."""
    n["weight"] = 0.0
    n["disk_bytes"], n["disk_files"] = question.disk_bytes[site], question.disk_files[site]
    n["any_bytes"], n["any_files"] = question.any_bytes[site], question.any_files[site]


@compiled
def counts(question, first):
    """Whether the job numbers of a candidate matter: no permanent criterion before those about backlogs refused it."""
    return first >= question.n_criteria and not question.ask[0]["hint"]


@compiled
def look_for_sources(question):
    """Note in what is asked whether a complete replica of the input exists, and whether other sites can have it.

    Source: brokerage reference, 2.5 and P1; a site without storage sends files.
    """
    ask = question.ask[0]
    complete, sends = False, False
    if ask["total_bytes"] > 0:
        for site in range(len(question.store)):
            if question.any_bytes[site] >= 1.0:
                store = question.store[site]
                complete, sends = True, sends or store["read_wan"] or not store["present"]
    ask["complete_somewhere"], ask["no_remote_source"] = complete, complete and not sends


@compiled
def choose(question, answer, worst):
    """Refuse all candidates that came to the choice but those of the best class; nobody if all are of the worst."""
    best = worst
    for k in range(len(answer.classes)):
        if answer.refused_by[k] > question.choice_rank:
            best = min(best, answer.classes[k])
    if best == worst:
        return
    for k in range(len(answer.classes)):
        if answer.refused_by[k] > question.choice_rank and answer.classes[k] > best:
            answer.refused_by[k] = question.choice_rank
            answer.weight[k] = answer.backlog[k] = answer.cap[k] = 0.0


@compiled
def note(question, answer, k, first):
    """Keep what was found of candidate k: the smallest rank at which it is refused and, if it is not, its numbers."""
    answer.refused_by[k] = first
    if first == question.never:
        n = answer.numbers[0]
        answer.weight[k], answer.backlog[k], answer.cap[k] = n["weight"], n["backlog"], n["cap"]


@compiled
def best_candidates(question, answer):
    """Put the best of the candidates that nobody refused in order, those of weight 0 first; returns their number.

    PanDA keeps candidates of one weight in the arbitrary order of a set (brokerage reference, 0.2 and 10.4); here the
    list of those that are kept is gone round from a place on that depends on the task.
    """
    ask = question.ask[0]
    n_kept = 0
    for k in range(len(answer.refused_by)):
        if answer.refused_by[k] == question.never:
            answer.kept[n_kept] = k
            n_kept += 1
    by_running = question.busiest and ask["t1weight"] < 0 and not ask["is_merging"]
    n_best, most = 0, 1 if by_running else len(answer.best)
    for step in range(n_kept):
        k = answer.kept[(step + TURN * ask["jeditaskid"]) % n_kept]
        place = n_best
        while place > 0 and key(question, answer, answer.best[place - 1], by_running) < key(
                question, answer, k, by_running):
            place -= 1
        if place >= most:
            continue
        n_best = min(n_best + 1, most)
        for later in range(n_best - 1, place, -1):
            answer.best[later] = answer.best[later - 1]
        answer.best[place] = k
    return n_best


@compiled
def key(question, answer, k, by_running):
    """By what a candidate is ranked: its weight, 0 above all; or the jobs of all shares that run at its queue."""
    if by_running:
        return float(question.load[question.queues[k]["queue"]]["running_all"])
    return np.inf if answer.weight[k] == 0 else answer.weight[k]


@compiled
def settle(question, answer, n_best):
    """Turn ranks into criteria; who is behind the best is refused by a tag of ranking and has no weight."""
    n = question.n_criteria
    ask = question.ask[0]
    by_running = question.busiest and ask["t1weight"] < 0 and not ask["is_merging"]
    for place in range(n_best):
        answer.refused_by[answer.best[place]] = KEPT
    for k in range(len(answer.refused_by)):
        first = answer.refused_by[k]
        if first == KEPT:
            continue
        if first != question.never:
            answer.refused_by[k] = first - n if first >= n else first
            continue
        if by_running:
            answer.refused_by[k] = n + TOO_QUIET
        else:
            answer.refused_by[k] = n + (OTHERS_BOOTSTRAP if answer.weight[k] == 0 else LOW_WEIGHT)
        answer.weight[k] = answer.backlog[k] = answer.cap[k] = 0.0


@compiled
def rank(question, answer):
    """Rank the candidates and say why the others are out; returns how many are in `answer.best`.

    For a hint nothing is ranked, and `refused_by` still holds ranks.
    """
    if question.ask[0]["hint"]:
        return 0
    n_best = best_candidates(question, answer)
    settle(question, answer, n_best)
    return n_best
