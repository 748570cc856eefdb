"""The compiled frame of one decision: question, answer, and the ranking of the candidates."""

from functools import cache
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.job_brokerage.question import NUMBERS
from simgrid_broker.policy.rule import FINAL_STAGE, Criterion
from simgrid_broker.views import KEPT

RANKING = tuple(Criterion(tag=tag, name=name, panda="sorting by weight", stage=FINAL_STAGE,
                          source="brokerage reference, 10.3, 10.4")
                for tag, name in (("-t1_weight", "too_quiet"), ("-low_weight", "low_weight"),
                                  ("-others_bootstrap", "others_bootstrap")))
"""What refuses candidates behind the best, after all criteria; the last one those behind candidates of weight 0."""
NAMES = 1 << 20
"""More than the number of candidates, by whose names ties are broken."""
TOO_QUIET, LOW_WEIGHT, OTHERS_BOOTSTRAP = range(3)


class Question(NamedTuple):
    """Everything that a decision reads.

    task: (1,) of TASK; hint: whether task brokerage asks; queues: (n,) of QUEUE; load, link, store and the parts of the
    input: (n_queues,); total_bytes, total_files, somewhere, incomplete, best_part, no_remote_source: of the input;
    writable, readable, queued_files, queued_express: of the nucleus, as in `views.Stats`. first: (n,) smallest rank at
    which a static criterion refuses, `never` = none; static_weight: (n,) product of the static factors. Of the rules
    about one candidate: ranks: (n_rules,) rank of each criterion; later: (n_rules,) the smallest from each of them on;
    least: the smallest of all; least_numbers: the smallest of those that need job numbers; choice_rank: that of the
    choice. places: index of the criterion of each rank; n_criteria: of the whole chain; busiest: whether a task that
    stays at its nucleus uses one queue only.
    """

    task: np.ndarray
    hint: bool
    queues: np.ndarray
    load: np.ndarray
    link: np.ndarray
    store: np.ndarray
    total_bytes: float
    total_files: float
    disk_bytes: np.ndarray
    disk_files: np.ndarray
    any_bytes: np.ndarray
    any_files: np.ndarray
    complete: np.ndarray
    somewhere: bool
    incomplete: bool
    best_part: float
    no_remote_source: bool
    writable: bool
    readable: bool
    queued_files: float
    queued_express: float
    first: np.ndarray
    static_weight: np.ndarray
    ranks: np.ndarray
    later: np.ndarray
    least: int
    least_numbers: int
    choice_rank: int
    places: np.ndarray
    n_criteria: int
    never: int
    busiest: bool


class Answer(NamedTuple):
    """Result of a decision: columns (n,), and the best candidates, best first, (most,).

    refused_by: index of the criterion, or behind them of the place in RANKING; KEPT = none. weight, backlog, cap: 0
    where refused. numbers: (1,) of NUMBERS, buffer for one candidate; kept: buffer for candidates without a refusal;
    classes: (n,) class of each candidate that reached the choice.
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
    """An empty answer about `n` candidates, of which at most `most` are used."""
    weight, backlog, cap = np.zeros((3, n))
    return Answer(np.empty(n, np.int16), weight, backlog, cap, *workspace(n), np.empty(most, np.int64))


@cache
def workspace(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Buffers shared by all decisions about `n` candidates: numbers, kept and classes."""
    return np.zeros(1, NUMBERS), np.empty(n, np.int32), np.empty(n, np.int8)


@compiled
def begin(question):
    """Fill in what the task's record holds of its input and its nucleus."""
    task = question.task[0]
    task["hint"], task["total_bytes"], task["total_files"] = question.hint, question.total_bytes, question.total_files
    task["nucleus_writable"], task["nucleus_readable"] = question.writable, question.readable
    task["nucleus_queued_files"] = question.queued_express if task["express"] else question.queued_files
    task["complete_somewhere"] = task["asks_for_sources"] and question.somewhere
    task["no_remote_source"] = task["asks_for_sources"] and question.no_remote_source
    task["incomplete"], task["best_part"] = question.incomplete, question.best_part


@compiled
def take_input(question, queue, numbers):
    """Initialise a candidate's numbers: input fractions at its PanDA queue; weight 0."""
    numbers["weight"] = 0.0
    numbers["disk_bytes"], numbers["disk_files"] = question.disk_bytes[queue], question.disk_files[queue]
    numbers["any_bytes"], numbers["any_files"] = question.any_bytes[queue], question.any_files[queue]
    numbers["complete"] = question.complete[queue]


@compiled
def counts(question, first):
    """Whether the job numbers of a candidate matter: it is not refused before the criteria that need them."""
    return first > question.least_numbers and not question.task[0]["hint"]


@compiled
def choose(question, answer, best_class):
    """Keep only the candidates of the best class reached."""
    for k in range(len(answer.classes)):
        if answer.refused_by[k] > question.choice_rank and answer.classes[k] > best_class:
            answer.refused_by[k] = question.choice_rank
            answer.weight[k] = answer.backlog[k] = answer.cap[k] = 0.0


@compiled
def note(question, answer, k, first):
    """Store the smallest rank at which candidate k is refused and, if it is not, its numbers."""
    answer.refused_by[k] = first
    if first == question.never:
        numbers = answer.numbers[0]
        answer.weight[k], answer.backlog[k], answer.cap[k] = numbers["weight"], numbers["backlog"], numbers["cap"]


@compiled
def best_candidates(question, answer):
    """Sort the best of the candidates without a refusal, those of weight 0 first; returns their number.

    PanDA keeps candidates of one weight in the arbitrary order of a set (brokerage reference, 0.2 and 10.4); here the
    list of the kept ones is rotated by the key of the task's random draws.
    """
    task = question.task[0]
    n_kept = 0
    for k in range(len(answer.refused_by)):
        if answer.refused_by[k] == question.never:
            answer.kept[n_kept] = k
            n_kept += 1
    by_running = question.busiest and task["t1weight"] < 0 and not task["is_merging"]
    n_best, most = 0, 1 if by_running else len(answer.best)
    turn = task["luck"] % max(n_kept, 1)
    for step in range(n_kept):
        k = answer.kept[(step + turn) % n_kept]
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
    """Sort key of a candidate: its weight, 0 above all; or the jobs of all shares that run at its queue.

    Of the candidates of one queue, which have the same jobs, the first in the alphabet comes first.
    """
    if by_running:
        queue = question.queues[k]
        return float(question.load[queue["queue"]]["running_all"]) * NAMES - queue["place"]
    return np.inf if answer.weight[k] == 0 else answer.weight[k]


@compiled
def settle(question, answer, n_best):
    """Translate ranks back to criterion indices; candidates behind the best get a ranking tag and weight 0."""
    n = question.n_criteria
    task = question.task[0]
    by_running = question.busiest and task["t1weight"] < 0 and not task["is_merging"]
    for place in range(n_best):
        answer.refused_by[answer.best[place]] = KEPT
    for k in range(len(answer.refused_by)):
        first = answer.refused_by[k]
        if first == KEPT:
            continue
        if first != question.never:
            answer.refused_by[k] = question.places[first]
            continue
        if by_running:
            answer.refused_by[k] = n + TOO_QUIET
        else:
            answer.refused_by[k] = n + (OTHERS_BOOTSTRAP if answer.weight[k] == 0 else LOW_WEIGHT)
        answer.weight[k] = answer.backlog[k] = answer.cap[k] = 0.0


@compiled
def rank(question, answer):
    """Rank and tag the candidates and return the number in `answer.best`; for a hint 0, and ranks stay as they are."""
    if question.task[0]["hint"]:
        return 0
    n_best = best_candidates(question, answer)
    settle(question, answer, n_best)
    return n_best
