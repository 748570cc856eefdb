"""The compiled frame of one decision: tables, question, and the ranking of the candidates."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import CLOSENESS_BLOCKED
from simgrid_broker.policy.brokerage.brokerage import LOW_WEIGHT, insert
from simgrid_broker.policy.brokerage.production.question import NUMBERS
from simgrid_broker.policy.rule import FINAL_STAGE, Criterion
from simgrid_broker.views import KEPT

SORTING: Any = {"panda": "sorting by weight", "stage": FINAL_STAGE, "source": "brokerage reference, 10.3, 10.4"}
RANKING = (
    Criterion(tag="-t1_weight", name="too_quiet", unit="jobs", **SORTING,
              says="{value} running, {limit:plain} at the queue that is used",
              meaning="Refuse all queues but the one with most running jobs to tasks that stay at their nucleus."),
    LOW_WEIGHT,
    Criterion(tag="-others_bootstrap", name="others_bootstrap", **SORTING,
              says="queues without any job are used first",
              meaning="Refuse queues of weight 0 behind the first such queues, which are used."))
"""Rules that refuse candidates behind the best, after all criteria; the last one: behind candidates of weight 0."""
NAMES = 1 << 20
"""More than the number of candidates, by whose names ties are broken."""
TOO_QUIET, TOO_LIGHT, OTHERS_BOOTSTRAP = range(3)

ASKED = np.dtype([
    ("hint", "?"),                   # whether task brokerage asks
    ("first", "i4"), ("weight", "i4"), ("load", "i4"), ("link", "i4"),     # rows of these tables
    ("parts", "i4"),                 # row of parts of the input, -1 = as the replicas have it
    ("total_bytes", "f8"), ("total_files", "f8"), ("somewhere", "?"), ("incomplete", "?"), ("best_part", "f8"),
    ("no_remote_source", "?"),       # of the input
    ("writable", "?"), ("readable", "?"), ("queued_files", "f8"), ("queued_express", "f8"),   # of the nucleus
])
"""A question: what is asked beside the record of the task; fields of the nucleus as in `views.Stats`."""

ORDER = np.dtype([
    ("least_numbers", "i8"),         # smallest rank of a rule that needs job numbers
    ("choice_rank", "i8"), ("n_criteria", "i8"), ("never", "i8"),
    ("busiest", "?"),                # a task that stays at its nucleus uses one queue only
])
"""When the rules of a brokerage refuse."""

SPLIT = np.dtype([
    ("cut", "i8"),                   # smallest rank of a rule about one candidate that concerns the task
    ("n_open", "i8"),                # candidates that these rules are asked about; the others are closed
    ("shown", "i8"), ("n_shown", "i8"),      # row of first refusals whose closed candidates stand in the result, and
                                             # how many candidates it leaves open; -1 = none
])
"""The candidates of the last decision: those that static rules refuse before all rules that concern the task, and the
others."""


class Tables(Bundle):
    """Input of all decisions, and the room in which each leaves its result.

    asked, task and the replicas belong together; orders and ranks: of an ordinary question and of a hint. The
    result has a column for each candidate, (n,): refused_by, the index of the criterion, or behind them of the place in
    RANKING, KEPT = none; value and limit, what a rule about one candidate compared when it refused; weight, backlog and
    cap, 0 where refused; classes, of those that reached the choice. Of those `weighed`: numbers, and factors.
    """

    asked: np.ndarray              # (n_asked,) of ASKED
    task: np.ndarray               # (n_asked,) of TASK
    replica_site: np.ndarray       # (n_asked, n_replicas), -1 = none
    replica_part: np.ndarray       # (n_asked, n_replicas), 0 to 1
    replica_tape: np.ndarray       # (n_asked, n_replicas), whether it is on tape
    orders: np.ndarray             # (2,) of ORDER
    ranks: np.ndarray              # (2, n_rules), of rules about one candidate
    concern: np.ndarray            # (2, n_rules + 1), for the task in hand: ranks, `never` where a rule does not
                                   # concern it, and the smallest from each of them on
    places: np.ndarray             # (n_criteria,), index of the criterion of each rank
    queues: np.ndarray             # (n,) of QUEUE
    load: np.ndarray               # (n_loads, n_queues) of LOAD
    link: np.ndarray               # (n_links, n_queues) of LINK
    store: np.ndarray              # (n_queues,) of STORE
    parts: np.ndarray              # (n_parts, n_queues) of `views.PART`
    first: np.ndarray              # (n_firsts, n), smallest rank at which a static criterion refuses, `never` = none
    open: np.ndarray               # (n_firsts, n), candidates by that rank, the last first
    split: np.ndarray              # (1,) of SPLIT
    static_weight: np.ndarray      # (n_weights, n), product of the static factors
    refused_by: np.ndarray
    value: np.ndarray
    limit: np.ndarray
    weight: np.ndarray
    backlog: np.ndarray
    cap: np.ndarray
    numbers: np.ndarray            # (n + 1,) of NUMBERS, of those weighed, and of the one in hand
    weighed: np.ndarray            # (n,), whether a candidate came as far as its weight
    factors: np.ndarray            # (n_factors, n), of the weight: those about one candidate
    kept: np.ndarray               # (n,), candidates without a refusal
    keys: np.ndarray               # (n,), by which these are sorted
    classes: np.ndarray            # -1 = it did not reach the choice
    best: np.ndarray               # (most,), the best candidates, best first


class Question(NamedTuple):
    """A row of `tables.asked`."""

    tables: Tables
    row: int


def last_first(first: np.ndarray) -> np.ndarray:
    """Candidates by the rank of their first refusal by static criteria, (n_firsts, n), the last first."""
    return np.argsort(-first, axis=1, kind="stable").astype(np.int32)


def room(n: int, most: int, n_factors: int) -> dict[str, np.ndarray]:
    """Columns of `Tables` for the result of a decision about `n` candidates, of which at most `most` are used."""
    weight, backlog, cap = np.zeros((3, n))
    value, limit = np.empty((2, n))
    split = np.zeros(1, SPLIT)
    split["shown"] = -1
    return dict(split=split, refused_by=np.empty(n, np.int16), value=value, limit=limit, weight=weight,
                backlog=backlog, cap=cap, numbers=np.empty(n + 1, NUMBERS), weighed=np.zeros(n, bool),
                factors=np.empty((n_factors, n)), best=np.empty(most, np.int64), **workspace(n))


@cache
def workspace(n: int) -> dict[str, np.ndarray]:
    """Columns of `Tables` that all decisions about `n` candidates share."""
    return dict(kept=np.empty(n, np.int32), keys=np.empty(n), classes=np.empty(n, np.int8))


@compiled
def begin(tables, row):
    """Fill in what the task's record holds of its input and its nucleus."""
    task, asked = tables.task[row], tables.asked[row]
    task["hint"], task["total_bytes"], task["total_files"] = asked["hint"], asked["total_bytes"], asked["total_files"]
    task["nucleus_writable"], task["nucleus_readable"] = asked["writable"], asked["readable"]
    task["nucleus_queued_files"] = asked["queued_express"] if task["express"] else asked["queued_files"]
    task["complete_somewhere"] = task["asks_for_sources"] and asked["somewhere"]
    task["no_remote_source"] = task["asks_for_sources"] and asked["no_remote_source"]
    task["incomplete"], task["best_part"] = asked["incomplete"], asked["best_part"]
    task["some_link_blocked"] = task["has_nucleus"] and is_any_blocked(tables, asked["link"])


@compiled
def is_any_blocked(tables, link):
    """True if the link of any queue to a nucleus is blocked."""
    for queue in range(tables.link.shape[1]):
        if tables.link[link, queue]["closeness"] == CLOSENESS_BLOCKED:
            return True
    return False


@compiled
def close(tables, row, hint, cut):
    """Enter the refusals of closed candidates, whose rank is below `cut`; returns the number of the others.

    They may still be there from another decision.
    """
    place, split = tables.asked[row]["first"], tables.split[0]
    n_open = n_behind(tables, place, cut)
    split["cut"], split["n_open"] = cut, n_open
    if split["shown"] == place and split["n_shown"] == n_open:
        return n_open
    split["shown"], split["n_shown"] = place, n_open
    for i in range(n_open, len(tables.queues)):
        k = tables.open[place, i]
        first = tables.first[place, k]
        tables.refused_by[k], tables.weighed[k] = first if hint else tables.places[first], False
        tables.weight[k] = tables.backlog[k] = tables.cap[k] = 0.0
    return n_open


@compiled
def n_behind(tables, place, cut):
    """Number of candidates that static criteria refuse no sooner than at a rank."""
    low, high = 0, len(tables.queues)
    while low < high:
        middle = (low + high) // 2
        if tables.first[place, tables.open[place, middle]] >= cut:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def take_input(tables, row, queue, numbers):
    """Initialise a candidate's numbers: input fractions at its PanDA queue; weight 0.

    Of several replicas at a site the best counts (brokerage reference, 1.3).
    """
    numbers["weight"] = 0.0
    place = tables.asked[row]["parts"]
    if place >= 0:
        part = tables.parts[place, queue["queue"]]
        numbers["disk_bytes"], numbers["disk_files"] = part["disk_bytes"], part["disk_files"]
        numbers["any_bytes"], numbers["any_files"] = part["any_bytes"], part["any_files"]
        numbers["complete"] = part["complete"]
        return
    disk, tape = 0.0, 0.0
    for k in range(tables.replica_site.shape[1]):
        if tables.replica_site[row, k] < 0:
            break
        if tables.replica_site[row, k] == queue["site"]:
            if tables.replica_tape[row, k]:
                tape = max(tape, tables.replica_part[row, k])
            else:
                disk = max(disk, tables.replica_part[row, k])
    numbers["disk_bytes"] = numbers["disk_files"] = disk
    numbers["any_bytes"] = numbers["any_files"] = max(disk, tape)
    numbers["complete"] = max(disk, tape) >= 1.0


@compiled
def take_inputs(tables, row, numbers):
    """`take_input` of all candidates, numbers: (n,) of NUMBERS."""
    for k in range(len(numbers)):
        take_input(tables, row, tables.queues[k], numbers[k])


@compiled
def choose(tables, row, order, best_class, n_kept):
    """Keep only the candidates of the best class reached; returns how many these are."""
    place, n_left = tables.asked[row]["first"], 0
    for i in range(tables.split[0]["n_open"]):
        k = tables.open[place, i]
        if tables.classes[k] > best_class:
            tables.refused_by[k] = tables.places[order["choice_rank"]]
            tables.value[k], tables.limit[k] = tables.classes[k], best_class
            tables.weight[k] = tables.backlog[k] = tables.cap[k] = 0.0
    for i in range(n_kept):
        k = tables.kept[i]
        if tables.classes[k] <= best_class:
            tables.kept[n_left] = k
            n_left += 1
    return n_left


@compiled
def note(tables, order, hint, k, first, numbers, n_kept):
    """Store at which smallest rank candidate k is refused, or its numbers; returns how many are kept with it."""
    if first < order["never"]:
        tables.refused_by[k] = first if hint else tables.places[first]
        tables.weight[k] = tables.backlog[k] = tables.cap[k] = 0.0
        return n_kept
    tables.refused_by[k], tables.kept[n_kept] = first, k
    tables.weight[k], tables.backlog[k], tables.cap[k] = numbers["weight"], numbers["backlog"], numbers["cap"]
    return n_kept + 1


@compiled
def is_by_running(task, order):
    """True if the queue with most running jobs is the best of a task that stays at its nucleus."""
    return order["busiest"] and task["t1weight"] < 0 and not task["is_merging"]


@compiled
def best_candidates(tables, row, order, n_kept):
    """Sort the best of the candidates without a refusal, those of weight 0 first; returns their number.

    PanDA keeps candidates of one weight in the arbitrary order of a set (brokerage reference, 0.2 and 10.4); here the
    list of the kept ones is rotated by the key of the task's random draws.
    """
    task, load = tables.task[row], tables.asked[row]["load"]
    by_running = is_by_running(task, order)
    n_best, most = 0, 1 if by_running else len(tables.best)
    turn = task["luck"] % max(n_kept, 1)
    for step in range(n_kept):
        k = tables.kept[(step + turn) % n_kept]
        tables.keys[k] = key(tables, load, k, by_running)
        n_best = insert(k, tables.keys, tables.best, n_best, most)
    return n_best


@compiled
def key(tables, load, k, by_running):
    """Sort key of a candidate: its weight, 0 above all; or the jobs of all shares that run at its queue.

    Of the candidates of one queue, which have the same jobs, the first in the alphabet comes first.
    """
    if by_running:
        queue = tables.queues[k]
        return float(tables.load[load, queue["queue"]]["running_all"]) * NAMES - queue["place"]
    return np.inf if tables.weight[k] == 0 else tables.weight[k]


@compiled
def settle(tables, row, order, n_best, n_kept):
    """Mark the best of the candidates without a refusal; those behind them get a ranking tag and weight 0."""
    n, by_running = order["n_criteria"], is_by_running(tables.task[row], order)
    for i in range(n_best):
        tables.refused_by[tables.best[i]] = KEPT
    for i in range(n_kept):
        k = tables.kept[i]
        if tables.refused_by[k] == KEPT:
            continue
        if tables.weight[k] == 0:
            tables.refused_by[k] = n + OTHERS_BOOTSTRAP
        else:
            tables.refused_by[k] = n + (TOO_QUIET if by_running else TOO_LIGHT)
        tables.weight[k] = tables.backlog[k] = tables.cap[k] = 0.0


@compiled
def rank(tables, row, order, n_kept):
    """Rank and tag the candidates and return the number in `tables.best`; for a hint 0, and ranks stay as they are."""
    if tables.asked[row]["hint"]:
        return 0
    n_best = best_candidates(tables, row, order, n_kept)
    settle(tables, row, order, n_best, n_kept)
    return n_best


FRAME = begin, close, take_input, choose, note, rank
"""Functions that the template of the decision names."""
TEXT = '''\
@compiled
def concern(tables, task, hint):
    """Enter the ranks of the criteria that concern a task and may refuse; returns the smallest, and of the choice."""
    never, ranks = tables.orders[hint]["never"], tables.concern
{concerns}
    ranks[1, {n_all}] = never
    for k in range({n_all} - 1, -1, -1):
        ranks[1, k] = min(ranks[0, k], ranks[1, k + 1])
    choice_rank = {choice_rank}
    return min(ranks[1, 0], choice_rank, tables.orders[hint]["least_numbers"]), choice_rank


@compiled
def refusal({arguments}, first, tables, k):
    """Smallest rank at which a criterion that needs no job numbers refuses a candidate, if below `first`."""
{refusals}
    return first


@compiled
def numbers_refusal({arguments}, first, tables, k):
    """Smallest rank at which a criterion that needs job numbers or the weight refuses a candidate, if below `first`."""
{numbers_refusals}
    return first


@compiled
def weight({arguments}, tables, k):
    """Product of the factors of a candidate, which are noted."""
{factors}
    return {product}


@compiled
def decision(tables, row):
    """Refuse, weigh and rank the candidates of a question; returns the number of candidates in `tables.best`."""
    asked, task = tables.asked[row], tables.task[row]
    hint = 1 if asked["hint"] else 0
    order = tables.orders[hint]
    best_class, last_class, n_kept = 127, -1, 0
    begin(tables, row)
    cut, choice_rank = concern(tables, task, hint)
    n_open, numbers = close(tables, row, hint, cut), tables.numbers[len(tables.queues)]
    for i in range(n_open):
        k = tables.open[asked["first"], i]
        first, queue, tables.weighed[k] = tables.first[asked["first"], k], tables.queues[k], False
        place = queue["queue"]
        load, link = tables.load[asked["load"], place], tables.link[asked["link"], place]
        store = tables.store[place]
        take_input(tables, row, queue, numbers)
        first = refusal({arguments}, first, tables, k)
        if first > order["least_numbers"] and not hint:
            {count}({arguments})
            numbers["weight"] = tables.static_weight[asked["weight"], k] * weight({arguments}, tables, k)
            tables.numbers[k], tables.weighed[k] = numbers, True
            first = numbers_refusal({arguments}, first, tables, k)
{choice}
        n_kept = note(tables, order, hint, k, first, numbers, n_kept)
    if best_class < last_class:
        n_kept = choose(tables, row, order, best_class, n_kept)
    return rank(tables, row, order, n_kept)
'''
"""The template of the decision, a function of (`Tables`, row of a question)."""
CHOICE = '''\
        tables.classes[k] = -1
        if first > choice_rank:
            tables.classes[k] = {name}({arguments})
            best_class = min(best_class, tables.classes[k])
            last_class = max(last_class, tables.classes[k])'''
