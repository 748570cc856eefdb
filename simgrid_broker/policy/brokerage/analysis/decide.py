"""The compiled frame of a decision of analysis brokerage: tables, the two loops, and the list that they end with.

Source: PanDA brokerage documentation, analysis job brokerage, step 4 and what follows; brokerage reference, 3.2, 3.3
and 11.5 (D71).
"""

from functools import lru_cache

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis.lists import HOSPITAL, HOSPITAL_NAME, ON_LIST
from simgrid_broker.policy.brokerage.analysis.locality import SUMS, find_input
from simgrid_broker.policy.brokerage.analysis.question import DATA, NUMBERS, ignores_locality
from simgrid_broker.policy.brokerage.analysis.users import count
from simgrid_broker.policy.brokerage.brokerage import insert
from simgrid_broker.policy.rule import FINAL_STAGE, Criterion
from simgrid_broker.views import KEPT

MAX_CANDIDATES = 10
"""Candidates that are used; source: step 4."""
LARGEST = float(np.finfo(float).max)
FINAL_RULES = (
    Criterion(tag="-below_min_weight", name="below_min_weight", unit="weight", panda="minimum weight",
              says="weight {value}, at least {limit} needed", stage=FINAL_STAGE, final=True, editions=("deployed",),
              source="brokerage reference, 11.5", applies=lambda task: task["MIN_WEIGHT"] > 0,
              meaning="Refuse queues whose weight is below MIN_WEIGHT of the label and share."),
    Criterion(tag="-fileunavailable", name="unavailable", says="it lacks files of the input", panda="available files",
              stage=FINAL_STAGE, final=True, editions=("deployed",), source="brokerage reference, 11.5",
              applies=lambda task: task["has_input"],
              meaning="Refuse queues without the files of the input: with data locality all files of a dataset that is "
                      "complete on a disk; otherwise where the queue reads local data only."))
"""Rules by which the deployed edition removes queues behind the sorting."""

TERMS = np.dtype([
    ("never", "i8"),                 # rank of a candidate that nothing refused
    ("least", "i8"),                 # smallest rank of a rule that is not static
    ("marks", "?"),                  # problems are only marked, and queues with one removed behind the weights
    ("passing", "i8"),               # from this rank on a refusal is temporary, and no other loop is tried
    ("n_loops", "i8"), ("first_loop", "i8"),   # of the decision in hand: 0 = with data locality, 1 = without
    ("n_gate", "i8"),                # rules of the gate
    ("used_first", "?"),             # queues that the task uses come first
    ("low_weight", "i8"), ("below_min_weight", "i8"), ("unavailable", "i8"),    # ranks, -1 = no such rule
])
"""Course of a decision, one row."""


class Tables(Bundle):
    """Input of a decision, and the room for its result.

    refused_by: place of the rule that refuses a candidate among all rules, KEPT = none; rank: of the first criterion
    that refuses it; problem: of the first that marks it; listed: the candidates with which the loops end; value, limit:
    what a rule compared when it refused; weight: product of the factors.
    """

    terms: np.ndarray              # (1,) of TERMS
    task: np.ndarray               # (1,) of question.TASK
    queues: np.ndarray             # (n,) of QUEUE
    load: np.ndarray               # (n_queues,) of LOAD
    user: np.ndarray               # (n_queues,) of USER_AT
    owner: np.ndarray              # (1,) of USER
    store: np.ndarray              # (n_queues,) of ANALYSIS_STORE
    data: np.ndarray               # (n_queues,) of question.DATA
    for_analysis: np.ndarray       # (n_queues,), whether it has candidates for analysis
    datasets: np.ndarray           # (n_datasets,) of locality.DATASET
    sources: np.ndarray            # (n_sources,) of SOURCE, of one dataset behind the other
    states: np.ndarray             # (n_datasets, n_queues), this and the next as in `views.DatasetAt`
    disk_files: np.ndarray
    tape_files: np.ndarray
    cache_files: np.ndarray
    disk_bytes: np.ndarray
    first: np.ndarray              # (n,), smallest rank at which a static criterion refuses
    marks: np.ndarray              # (n,), bits of `lists`
    concern: np.ndarray            # (1, n_rules), ranks of the rules that are not static
    refused_by: np.ndarray
    rank: np.ndarray
    problem: np.ndarray
    listed: np.ndarray
    value: np.ndarray
    limit: np.ndarray
    weight: np.ndarray
    numbers: np.ndarray            # (n,) of question.NUMBERS
    factors: np.ndarray            # (n_factors, n)
    sums: np.ndarray               # (3,) of weights.SUMS
    counted: np.ndarray            # (n_queues,), room for flags
    keys: np.ndarray               # (n,), by which candidates are sorted
    best: np.ndarray               # (n,), the candidates used, best first
    ended: np.ndarray              # (1,), rank of the last rule that refused in the last loop, -1 = some are used


def room(n: int, n_queues: int, n_factors: int) -> dict[str, np.ndarray]:
    """Columns of `Tables` for the result of a decision about `n` candidates of `n_queues` PanDA queues."""
    return dict(refused_by=np.empty(n, np.int16), rank=np.empty(n, np.int64), problem=np.empty(n, np.int64),
                listed=np.empty(n, bool), value=np.empty(n), limit=np.empty(n), weight=np.empty(n),
                numbers=np.zeros(n, NUMBERS), factors=np.empty((n_factors, n)), data=np.zeros(n_queues, DATA),
                sums=np.zeros(3, SUMS), counted=np.zeros(n_queues, bool), keys=np.empty(n), best=np.empty(n, np.int64),
                ended=np.full(1, KEPT))


def marks_of(names: tuple[str, ...], on_list: np.ndarray) -> np.ndarray:
    """Marks of the candidates, (n,)."""
    return np.where(on_list, ON_LIST, 0) + np.where(hospitals(names), HOSPITAL, 0)


@lru_cache(maxsize=4)
def hospitals(names: tuple[str, ...]) -> np.ndarray:
    """Which candidates are of hospital queues, (n,) bool."""
    return np.array([name.partition("/")[0].endswith(HOSPITAL_NAME) for name in names], bool)


@compiled
def begin(tables):
    """Fill in what the task's record holds of all queues and of its input, and forget the last decision."""
    queued, running, task, terms = 0.0, 0.0, tables.task[0], tables.terms[0]
    find_input(task, tables)
    task["task_class"] = tables.owner[0]["task_class"]
    ignored = ignores_locality(task)
    two = task["has_input"] and (task["remote_source"] or not task["deployed"])
    terms["first_loop"] = 1 if ignored and not task["deployed"] else 0
    terms["n_loops"] = 2 if two and terms["first_loop"] == 0 else 1
    task["loses_patience"] = two and ignored and task["deployed"]
    for place in range(len(tables.load)):
        load = tables.load[place]
        queued += load["defined"] + load["assigned"] + load["activated"] + load["starting"]
        running += load["running"]
    task["grand_ratio"] = queued / running if running > 0 else np.inf
    tables.listed[:] = False
    tables.value[:] = np.nan
    tables.limit[:] = np.nan
    tables.weight[:] = np.nan
    tables.factors[:] = np.nan


@compiled
def stop(tables, place, value, limit):
    """Enter the rule of the gate that ends the attempt, by its place, and what it compared."""
    for k in range(len(tables.queues)):
        tables.refused_by[k], tables.value[k], tables.limit[k] = place, value, limit
    return 0


@compiled
def enter(tables, n_best):
    """Enter the rule that refuses each candidate; returns the number of the best."""
    never, n_gate = tables.terms[0]["never"], tables.terms[0]["n_gate"]
    for k in range(len(tables.queues)):
        tables.refused_by[k] = KEPT if tables.rank[k] == never else tables.rank[k] + n_gate
    return n_best


@compiled
def count_left(tables):
    """Number of candidates that are left, and the largest rank at which others were refused."""
    never, left, last = tables.terms[0]["never"], 0, -1
    for k in range(len(tables.queues)):
        if tables.rank[k] == never:
            left += 1
        else:
            last = max(last, tables.rank[k])
    return left, last


@compiled
def number_all(tables):
    """Fill in the numbers of the candidates that are left."""
    never = tables.terms[0]["never"]
    for k in range(len(tables.queues)):
        tables.problem[k] = never
        if tables.rank[k] == never:
            queue = tables.queues[k]
            place = queue["queue"]
            count(tables.task[0], queue, tables.load[place], tables.user[place], tables.store[place],
                  tables.data[place], tables.numbers[k])


@compiled
def take_up(tables):
    """Add the candidates that are left to the list; returns the length of the list."""
    n, never = 0, tables.terms[0]["never"]
    for k in range(len(tables.queues)):
        tables.listed[k] = tables.listed[k] or tables.rank[k] == never
        n += tables.listed[k]
    return n


@compiled
def is_problematic(tables, k):
    """True if a listed candidate is removed for a problem: not at a queue that the task names."""
    task, never = tables.task[0], tables.terms[0]["never"]
    return tables.problem[k] != never and tables.queues[k]["queue"] != task["preassigned"]


@compiled
def key(tables, k):
    """Sort key of a candidate: its weight; if they come first, queues that the task uses are above all weights."""
    if tables.terms[0]["used_first"] and tables.user[tables.queues[k]["queue"]]["used"]:
        return np.inf
    return LARGEST if tables.weight[k] == np.inf else tables.weight[k]


@compiled
def choose(tables, n_with_data):
    """Sort the listed candidates without a problem, cut the list, and remove what the final rules refuse.

    Candidates of one weight come in the order of the grid, rotated by the key of the task's random draws. Returns how
    many are used.
    """
    terms, task, n = tables.terms[0], tables.task[0], len(tables.queues)
    most = most_used(task, n, n_with_data)
    n_best, turn = 0, task["luck"] % max(n, 1)
    for step in range(n):
        k = (step + turn) % n
        if not tables.listed[k]:
            continue
        tables.rank[k] = terms["low_weight"]
        if is_problematic(tables, k):
            tables.rank[k] = tables.problem[k]
            continue
        tables.keys[k] = key(tables, k)
        n_best = insert(k, tables.keys, tables.best, n_best, most)
    return keep(tables, n_best)


@compiled
def most_used(task, n, n_with_data):
    """Number of candidates that are used: 10, with job cloning as many as it needs, and all for distributed input."""
    if task["deployed"] and task["distributed"] and task["with_locality"]:
        return n
    if task["deployed"] and task["n_sites_per_job"] > 1:
        return min(n, max(n_with_data, task["n_sites_per_job"]))
    return min(n, MAX_CANDIDATES)


@compiled
def keep(tables, n_best):
    """Remove the best candidates that the final rules refuse; returns how many are left."""
    terms, task, n_kept = tables.terms[0], tables.task[0], 0
    for place in range(n_best):
        k = tables.best[place]
        queue = tables.queues[k]
        data, local_only = tables.data[queue["queue"]], queue["use_only_local_data"]
        if terms["below_min_weight"] >= 0 and 0 < task["MIN_WEIGHT"] and tables.weight[k] < task["MIN_WEIGHT"]:
            tables.rank[k], tables.value[k], tables.limit[k] = (terms["below_min_weight"], tables.weight[k],
                                                                task["MIN_WEIGHT"])
        elif terms["unavailable"] >= 0 and not has_files(task, data, local_only):
            tables.rank[k] = terms["unavailable"]
        else:
            tables.rank[k] = terms["never"]
            tables.best[n_kept] = k
            n_kept += 1
    return n_kept


@compiled
def has_files(task, data, local_only):
    """True if a queue has the files that its jobs would read, or others may be asked for them."""
    if not task["has_input"] or not local_only:
        return True
    return data["files"] if task["with_locality"] else data["own_files"]


FRAME = begin, stop, enter, count_left, number_all, take_up, choose
"""Functions that the template of the decision names."""
TEXT = '''\
@compiled
def gate(tables):
    """Ask the rules of the gate; returns whether one ended the attempt, which is entered."""
    task, user = tables.task[0], tables.owner[0]
{gate}
    return False


@compiled
def refusal({arguments}, first, tables, k):
    """Smallest rank at which a criterion that needs no job numbers refuses a candidate, if below `first`."""
{refusals}
    return first


@compiled
def problem({arguments}, numbers, first, tables, k):
    """Smallest rank at which a criterion that needs job numbers refuses a candidate, if below `first`."""
{problems}
    return first


@compiled
def look(tables):
    """One loop: enter the rank of the first rule that refuses each candidate; returns how many are left, and the last.
    """
    task, terms = tables.task[0], tables.terms[0]
    for k in range(len(tables.queues)):
        first = tables.first[k]
        if first > terms["least"]:
            queue = tables.queues[k]
            place = queue["queue"]
            load, user, store, data = tables.load[place], tables.user[place], tables.store[place], tables.data[place]
            first = refusal({arguments}, first, tables, k)
        tables.rank[k] = first
    number_all(tables)
{lists}
    for k in range(len(tables.queues)):
        if tables.rank[k] == terms["never"]:
            queue = tables.queues[k]
            place = queue["queue"]
            load, user, store, data = tables.load[place], tables.user[place], tables.store[place], tables.data[place]
            tables.problem[k] = problem({arguments}, tables.numbers[k], terms["never"], tables, k)
            if not terms["marks"]:
                tables.rank[k] = tables.problem[k]
                tables.problem[k] = terms["never"]
{late_lists}
    return count_left(tables)


@compiled
def decision(tables):
    """Refuse, weigh and rank the candidates; returns the number of candidates in `tables.best`."""
    begin(tables)
    if gate(tables):
        return 0
    task, terms, n_with_data, failed = tables.task[0], tables.terms[0], -1, False
    for loop in range(terms["first_loop"], terms["first_loop"] + terms["n_loops"]):
        task["with_locality"] = loop == 0
        left, last = look(tables)
        tables.ended[0] = last
        if left == 0:
            failed = True
            if not terms["marks"] and last >= terms["passing"]:
                return enter(tables, 0)
            continue
        n_listed = take_up(tables)
        n_with_data = n_listed if n_with_data < 0 else n_with_data
        if n_listed >= task["n_sites_per_job"]:
            failed = False
            break
    if failed:
        return enter(tables, 0)
    for k in range(len(tables.queues)):
        tables.rank[k] = terms["never"] if tables.listed[k] else tables.rank[k]
{factors}
    for k in range(len(tables.queues)):
        if tables.listed[k]:
            tables.weight[k] = {product}
    return enter(tables, choose(tables, n_with_data))
'''
"""The template of the decision, a function of `Tables`."""
GATE = '''\
    refuses, value, limit = {name}(task, user)
    if refuses:
        stop(tables, {number}, value, limit)
        return True'''
LIST = "    {name}(tables, tables.concern[0, {number}])"
"""Text of each rule of the gate, and of each rule about the list."""
