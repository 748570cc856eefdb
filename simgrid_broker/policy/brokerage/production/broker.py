"""One production job brokerage decision: a question to the compiled decision, and its answer as a verdict; the draw of
the queue that gets the next block of jobs, with the probabilities of the roulette wheel of the splitter; and hints to
task brokerage: which pseudo-queues could run the jobs of a task at all.

In the draw each candidate draws a number of its own, and the first of a race of exponential times wins: as likely as on
a wheel, but a change of one weight changes few draws. Source: brokerage reference, section 10.4; lifecycle reference,
section 2.5; `InputChunk.getOneSiteCandidate` of PanDA.

Hints survive all criteria but caps and weights. No nucleus is set, no queue is pre-assigned, and of the input only its
completeness is looked at. Source: brokerage reference, 1.2 (hint mode).
"""

import math
from collections.abc import Callable, Hashable, Mapping
from functools import cache as cache_for_ever
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import record_of
from simgrid_broker.policy.brokerage.brokerage import Decided, figures_of
from simgrid_broker.policy.brokerage.production.candidates import TERMS, for_hint, initial_list
from simgrid_broker.policy.brokerage.production.decide import (
    ASKED,
    TOO_LIGHT,
    TOO_QUIET,
    Question,
    Tables,
    last_first,
    room,
    take_inputs,
)
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION, JobBrokerage
from simgrid_broker.policy.brokerage.production.network import network, network_weight
from simgrid_broker.policy.brokerage.production.question import NUMBERS, TASK, Candidate, JobCase, task_record
from simgrid_broker.policy.brokerage.production.storage import Readable, readable
from simgrid_broker.policy.funnel import ONE, MaskCache, first_refusals
from simgrid_broker.views import (
    KEPT,
    LINK,
    LOAD,
    PART,
    STORE,
    Figures,
    Gdpconfig,
    InputDataset,
    Locality,
    Queues,
    Stats,
    Task,
    Verdict,
)

MAX_CANDIDATES = 10
"""Candidates that are used; source: PanDA brokerage documentation, production job brokerage, step 5."""
NO_PARTS = np.empty((1, 0), PART)
NO_REPLICAS = dict(replica_site=np.empty((1, 0), np.int32), replica_part=np.empty((1, 0)),
                   replica_tape=np.empty((1, 0), bool))
"""Input of a task that has none, or of which the parts at each PanDA queue are given."""
NUMBERS_SHOWN = {"weight": "weight", "running": "running", "assigned": "assigned", "queued": "backlog", "cap": "cap"}
"""Numbers of a candidate to the column of NUMBERS that has them."""


def broker_jobs(task: Task, queues: Queues, stats: Stats, locality: Locality | None, cfg: Gdpconfig,
                edition: str = "documented", cache: MaskCache | None = None) -> Verdict:
    """Production job brokerage of a task: who refused each pseudo-queue, and the best ten of the others.

    `cache` must belong to the grid of `queues`. Source: PanDA brokerage documentation, production job brokerage;
    brokerage reference, sections 2 and 10.
    """
    return run_brokerage(PRODUCTION[edition], task, queues, stats, locality, cfg, cache)


def broker_by(rules: Mapping[str, JobBrokerage]) -> Callable[..., Verdict]:
    """Job brokerage as a policy, by other rules for each edition; runs record the tags and factors of `rules`."""
    def broker(task, queues, stats, locality, cfg, edition="documented", cache=None) -> Verdict:
        return run_brokerage(record_of(rules, edition), task, queues, stats, locality, cfg, cache)
    vars(broker)["rules"] = rules
    return broker


def run_brokerage(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                  cfg: Gdpconfig, cache: MaskCache | None = None) -> Verdict:
    """The decision of any job brokerage; with the same arguments, the same verdict."""
    question = question_of(brokerage, task, queues, stats, locality, cfg, cache)
    n_best = brokerage.decide(*question)
    return verdict_of(brokerage, question, n_best, task, queues)


def verdict_of(brokerage: JobBrokerage, question: Question, n_best: int, task: Task, queues: Queues) -> Verdict:
    """The result in the tables of a question as a verdict, which shares their columns."""
    tables = question.tables
    return Verdict(brokerage.tags, tables.refused_by, tables.weight, tables.best[:n_best], tables.backlog, tables.cap,
                   lambda: figures(brokerage, JobCase(task, queues, brokerage.edition), question))


def question_of(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                cfg: Gdpconfig, cache: MaskCache | None = None) -> Question:
    """The tables that the compiled decision reads, made for one question."""
    known = (frame(brokerage, task, queues, cfg) if cache is None
             else cache.of_task(frame, brokerage, task, queues, cfg))
    asked = np.zeros(1, ASKED)
    row = asked[0]
    row["parts"] = -1 if locality is None else 0
    if locality is not None:
        row["total_bytes"], row["total_files"] = locality.total_bytes, locality.total_files
        row["somewhere"] = locality.somewhere
    ask_about_input(row, readable(() if locality is None else locality.inputs, task, cfg))
    ask_about_nucleus(row, stats)
    return Question(known.with_arrays(
        asked=asked, load=stats.load[None], link=stats.link[None], store=stats.store, parts=parts_of(locality),
        **room(len(queues.records), MAX_CANDIDATES, len(brokerage.candidate_factors))), 0)


def frame(brokerage: JobBrokerage, task: Task, queues: Queues, cfg: Gdpconfig,
          cache: MaskCache | None = None) -> Tables:
    """Tables of which the part that depends on the arguments is filled in, for any number of questions."""
    known = prepare(brokerage, task, queues, cfg, cache)
    found = Tables(
        asked=np.zeros(1, ASKED), task=known.task, **NO_REPLICAS, **brokerage.order._asdict(), queues=queues.records,
        load=np.empty((1, 0), LOAD), link=np.empty((1, 0), LINK), store=np.empty(0, STORE), parts=NO_PARTS,
        first=known.first[None], open=last_first(known.first[None]), static_weight=known.static_weight[None],
        **room(0, MAX_CANDIDATES, len(brokerage.candidate_factors)))
    if cache is not None:
        found.words.setflags(write=False)                      # worked out here once, and copied for each question
    return found


def ask_about_input(asked: np.void, found: Readable) -> None:
    """Fill in how the input can be read."""
    asked["incomplete"], asked["best_part"] = found.failure != "", found.best_part
    asked["no_remote_source"] = not found.remotely


def ask_about_nucleus(asked: np.void, stats: Stats) -> None:
    """Fill in what is known of the nucleus."""
    asked["writable"], asked["readable"] = stats.writable, stats.readable
    asked["queued_files"], asked["queued_express"] = stats.files_to_nucleus, stats.express_to_nucleus


def parts_of(locality: Locality | None) -> np.ndarray:
    """Parts of the input at the PanDA queues, (1, n_queues) of PART; without input there are none."""
    if locality is None:
        return NO_PARTS
    parts = np.empty((1, len(locality.disk_bytes)), PART)
    for name in ("disk_bytes", "disk_files", "any_bytes", "any_files"):
        parts[name] = getattr(locality, name)
    parts["complete"] = locality.any_bytes >= 1.0 if locality.complete is None else locality.complete
    return parts


class Prepared(NamedTuple):
    """The part of a question that is kept from one decision about a task to the next; fields as in `Question`."""

    task: np.ndarray
    first: np.ndarray
    static_weight: np.ndarray


def prepare(brokerage: JobBrokerage, task: Task, queues: Queues, cfg: Gdpconfig,
            cache: MaskCache | None = None) -> Prepared:
    """The part of a question that depends on the task, the queues' description and gdpconfig alone."""
    case = JobCase(task, queues, brokerage.edition)
    first = (first_refusals if cache is None else cache.first_refusals)(brokerage.funnel, case)
    record = task_record(task, cfg, brokerage.edition)
    if TERMS[brokerage.edition].spares_single and (task.preassigned or task.premerge is not None):
        named = initial_list(task, queues, brokerage.edition)
        record["single"], record["listed"] = named.single, named.listed
    return Prepared(record, first, static_weight(brokerage, case, cache))


def static_weight(brokerage: JobBrokerage, case: JobCase, cache: MaskCache | None) -> np.ndarray:
    """Product of the factors that look at descriptions only, (n,); not to be changed."""
    weight = column_of(1.0, case.n_candidates)
    for rule in brokerage.static_factors:
        multiplier = rule(case) if cache is None else cache.multiplier(rule, case)
        if multiplier is not ONE:
            weight = weight * multiplier
    return weight


@cache_for_ever
def column_of(value: float, n: int) -> np.ndarray:
    """A column of one value, (n,); not to be changed."""
    return np.full(n, value)


def figures(brokerage: JobBrokerage, case: JobCase, question: Question) -> Figures:
    """Value and limit of the rule that refused each candidate, and of those that reach the weight what it is made of.

    A candidate of a worse class has its class and the best; one behind the best its weight and that of the last one
    used, or the jobs that run at its queue and at the one used.
    """
    tables = question.tables
    known = figures_of(brokerage, Decided(
        tables.refused_by, tables.value, tables.limit, tables.task[question.row], case,
        candidates_of(question)), (*NUMBERS_SHOWN, "network weight", "jumbo"))
    _split(brokerage, case, question, np.flatnonzero(reaches_weight(brokerage, tables.refused_by)), known)
    _rank(brokerage, question, known)
    return known


def reaches_weight(brokerage: JobBrokerage, refused_by: np.ndarray) -> np.ndarray:
    """Candidates that a broker weighs, kept or refused behind that, (n,) bool."""
    criteria = brokerage.funnel.criteria
    late = [rule.rule.needs_numbers or rule.rule.final for rule in criteria]
    places = np.append(np.array(late, bool), np.ones(len(brokerage.tags) - len(criteria) + 1, bool))
    return places[refused_by]                                     # the last one is KEPT, index -1


def candidates_of(question: Question) -> Callable[[int], Candidate]:
    """Function that gives candidate k as compiled rules see it, without job numbers and weight."""
    tables, row = question
    asked, task, queues, store = tables.asked[row], tables.task[row], tables.queues, tables.store
    load, link = tables.load[asked["load"]], tables.link[asked["link"]]
    numbers, places = np.zeros(len(queues), NUMBERS), queues["queue"].tolist()
    take_inputs(tables, row, numbers)

    def candidate_at(k: int) -> Candidate:
        place = places[k]
        return Candidate(task, queues[k], load[place], link[place], store[place], numbers[k])
    return candidate_at


def _split(brokerage: JobBrokerage, case: JobCase, question: Question, rows: np.ndarray, known: Figures) -> None:
    """The factors and numbers of candidates `rows`."""
    tables, n, refused_by = question.tables, case.n_candidates, question.tables.refused_by
    _weigh(brokerage, question, rows[~tables.weighed[rows]])
    for rule in brokerage.static_factors:
        known.factors[rule.rule.name][rows] = np.broadcast_to(rule(case), n)[rows]
    begins = {tag: place for place, tag in reversed(list(enumerate(brokerage.tags)))}
    for rule, factor in zip(brokerage.candidate_factors, tables.factors, strict=True):
        before = (refused_by[rows] >= 0) & (refused_by[rows] < begins.get(rule.rule.before, 0))
        known.factors[rule.rule.name][rows] = np.where(before, np.nan, factor[rows])
    for name, column in NUMBERS_SHOWN.items():
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
    (tables, row), candidate_at = question, candidates_of(question)
    static = tables.static_weight[tables.asked[row]["weight"]]
    for k in rows.tolist():
        seen = candidate_at(k)
        brokerage.count(*seen)
        factors = [rule(*seen) for rule in brokerage.candidate_factors]
        seen.numbers["weight"] = static[k] * math.prod(factors)
        tables.numbers[k], tables.weighed[k], tables.factors[:, k] = seen.numbers, True, factors


def _network_weights(brokerage: JobBrokerage, question: Question, rows: np.ndarray) -> np.ndarray:
    """The network weight of weighed candidates, also where it is no factor of their weight, (k,)."""
    tables, row = question
    task, link, queues = tables.task[row], tables.link[tables.asked[row]["link"]], tables.queues["queue"]
    if task["NW_ACTIVE"] and network in brokerage.candidate_factors:
        return tables.factors[brokerage.candidate_factors.index(network)][rows]
    return np.array([network_weight(task, link[queues[k]]) for k in rows.tolist()], float)


def _rank(brokerage: JobBrokerage, question: Question, known: Figures) -> None:
    """Figures of candidates behind the best.

    A weight of 0 ranks above all others: it is no limit, and a candidate behind with it has no figures.
    """
    tables, n = question.tables, len(brokerage.funnel.criteria)
    used, weight = tables.refused_by == KEPT, tables.numbers["weight"][:-1]
    running = tables.load[tables.asked[question.row]["load"], tables.queues["queue"]]["running_all"].astype(float)
    for place, numbers, limits in ((TOO_LIGHT, weight, weight[used & (weight != 0)]),
                                   (TOO_QUIET, running, running[used])):
        rows = np.flatnonzero(tables.refused_by == n + place)
        known.value[rows], known.limit[rows] = numbers[rows], min(limits, default=np.nan)


RAW = f"V{TASK.itemsize}"
"""NumPy copies structured rows field by field otherwise."""
FIRST_ROWS = 64
"""Room for first refusals by static criteria at first; it doubles when it is used up."""


class Hints:
    """Hints about many tasks while queues and gdpconfig stay as they are; tables are made once.

    stats: as for a task without nucleus, but with a table of `load`, (n_loads, n_queues); groups: number of the group
    of each pseudo-queue, (n_pseudo_queues,), -1 = it is not looked at, None = each is a group; cache: of the grid of
    `queues`. tables: of which the first row is asked, replaced when statistics are.
    """

    def __init__(self, brokerage: JobBrokerage, queues: Queues, stats: Stats, cfg: Gdpconfig,
                 groups: np.ndarray | None = None, cache: MaskCache | None = None):
        self.brokerage, self.queues, self.cfg = brokerage, queues, cfg
        groups = np.arange(len(queues.records)) if groups is None else groups
        self.about = np.flatnonzero(groups >= 0)
        self.groups, self.never = groups[self.about], brokerage.funnel.never
        self.cache = MaskCache() if cache is None else cache
        self.rows: dict[Hashable, int] = {}
        asked, n = np.zeros(1, ASKED), len(self.about)
        first = np.zeros((FIRST_ROWS, n), np.int16)
        asked["hint"], asked["parts"] = True, -1
        ask_about_nucleus(asked[0], stats)
        self.tables = Tables(
            asked=asked, task=np.zeros(1, TASK), **NO_REPLICAS, **brokerage.order._asdict(),
            queues=queues.records[self.about], load=stats.load, link=stats.link[None], store=stats.store,
            parts=NO_PARTS, first=first, open=last_first(first), static_weight=np.ones((1, n)),
            **room(n, 1, len(brokerage.candidate_factors)))

    def renew(self, stats: Stats) -> None:
        """Take over new statistics."""
        self.tables = self.tables.with_arrays(load=stats.load, link=stats.link[None], store=stats.store)

    def ask(self, task: Task, inputs: tuple[InputDataset, ...] = (), load: int = 0) -> None:
        """Ask about a task: `tables.refused_by` is then the rank of the first refusal; load: row of the table."""
        record, row = self.prepare(task)
        self.tables.task.view(RAW)[:] = record.view(RAW)
        asked = self.tables.asked[0]
        asked["first"], asked["load"] = row, load
        ask_about_input(asked, readable(inputs, task, self.cfg))
        self.brokerage.decide(self.tables, 0)

    def prepare(self, task: Task) -> tuple[np.ndarray, int]:
        """Part of a question common to tasks of one kind: the record, (1,), and its row of `tables.first`."""
        task = for_hint(task)
        return task_record(task, self.cfg, self.brokerage.edition), self._row_of(task)

    def groups_possible(self, asked: np.ndarray) -> np.ndarray:
        """Which of the groups asked, (n_groups,) bool, have a pseudo-queue that could run jobs of the last task."""
        found = np.zeros(len(asked), bool)
        find_groups(self.tables.refused_by, self.never, self.groups, asked, found)
        return found

    def _row_of(self, task: Task) -> int:
        """Row of the first refusals by static criteria."""
        requirement = self.brokerage.funnel.requirement(task)
        if requirement not in self.rows:
            if len(self.rows) == len(self.tables.first):
                self._grow()
            row = self.rows[requirement] = len(self.rows)
            case = JobCase(task, self.queues, self.brokerage.edition)
            first = self.cache.first_refusals(self.brokerage.funnel, case)[self.about]
            self.tables.first[row], self.tables.open[row] = first, last_first(first[None])[0]
        return self.rows[requirement]

    def _grow(self) -> None:
        """Make room for as many first refusals again."""
        old = {name: getattr(self.tables, name) for name in ("first", "open")}
        self.tables = self.tables.with_arrays(
            **{name: np.concatenate([column, np.zeros_like(column)]) for name, column in old.items()})


@compiled
def find_groups(refused_by, never, groups, asked, found):
    """Mark the groups asked, (n_groups,) bool, that have a candidate without a refusal; groups: of each, (n,)."""
    for k in range(len(groups)):
        if refused_by[k] == never and asked[groups[k]]:
            found[groups[k]] = True


JOBS_PER_BLOCK, SCOUTS_PER_BLOCK = 25, 2
"""Jobs, and scout jobs, that go to one queue for each draw."""

PLACE = np.dtype([("candidate", "i8"), ("weight", "f8"), ("queued", "f8"), ("cap", "f8"), ("counted", "?")])
"""A candidate in the race: its number, and its weight and queued jobs, which change from block to block if these are
counted, and its cap. Without a count, 0 jobs are queued, and there is no cap."""


def spread_jobs(verdict: Verdict, n_jobs: int, uniforms: np.ndarray, queued: np.ndarray | None = None,
                cap: np.ndarray | None = None, block: int = JOBS_PER_BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Candidate index and number of jobs of each block, (k,) each; fewer jobs than asked for if every queue fills up.

    uniforms: numbers in (0, 1), a row for each block with one for each candidate in `verdict.order` (ValueError
    otherwise); queued, cap: (n,), stand in for those of the verdict. Each candidate of weight 0 is used first and once;
    the others are drawn by weight while their queued jobs are below their cap, and every draw lowers the weight by
    (queued + 1) / (new + 1).
    """
    n_blocks, n_used = math.ceil(n_jobs / block), len(verdict.order)
    if len(uniforms) < n_blocks or n_blocks and uniforms.shape[1] != n_used:
        raise ValueError(f"{n_blocks} blocks of jobs at {n_used} queues need as many uniform numbers, not "
                         f"{' x '.join(map(str, uniforms.shape))}")
    queued, cap = verdict.queued if queued is None else queued, verdict.cap if cap is None else cap
    places, blocks = np.empty(n_used, PLACE), np.empty((2, n_blocks), np.int64)
    seat(places, verdict.order, n_used, verdict.weight)
    if queued is not None:
        count_queued(places, n_used, queued, np.full(len(queued), np.inf) if cap is None else cap)
    drawn = draw_blocks(places, n_used, uniforms, block, n_jobs, *blocks)
    chosen, sizes = blocks[:, :drawn]
    return chosen, sizes


@compiled
def seat(places, order, n_used, weight):
    """Enter the first `n_used` candidates of an order into the race; weight: (n,) of all candidates."""
    for k in range(n_used):
        place, candidate = places[k], order[k]
        place["candidate"], place["weight"] = candidate, weight[candidate]
        place["queued"], place["cap"], place["counted"] = 0.0, np.inf, False


@compiled
def count_queued(places, n_used, queued, cap):
    """Count the queued jobs of the candidates in the race, so that they lower the weight; both: (n,) of all."""
    for k in range(n_used):
        place = places[k]
        place["queued"], place["cap"] = queued[place["candidate"]], cap[place["candidate"]]
        place["counted"] = True


@compiled
def draw_blocks(places, n_used, uniforms, block, n_jobs, chosen, sizes):
    """Draw a candidate for each block of `n_jobs` jobs into `chosen`, and the size of the block into `sizes`.

    places: (n_used,) of PLACE, where a candidate of weight 0 that was used gets NaN. Returns how many blocks found one.
    """
    n_blocks = (n_jobs + block - 1) // block
    for number in range(n_blocks):
        k = first_unused(places, n_used, uniforms, number)
        if k < 0:
            k = first_open(places, n_used, uniforms, number)
            if k < 0:
                return number
            place = places[k]
            if place["counted"]:
                place["weight"] *= (place["queued"] + 1) / (place["queued"] + block + 1)
                place["queued"] += block
        else:
            places[k]["weight"] = np.nan
        chosen[number], sizes[number] = places[k]["candidate"], min(block, n_jobs - block * number)
    return n_blocks


@compiled
def first_unused(places, n_used, uniforms, number):
    """The winner among the candidates of weight 0, all equally likely; -1 if there is none."""
    best = -1
    for k in range(n_used):
        if places[k]["weight"] == 0 and (best < 0 or uniforms[number, k] > uniforms[number, best]):
            best = k
    return best


@compiled
def first_open(places, n_used, uniforms, number):
    """The winner among the candidates below their cap, as likely as its weight; -1 if there is none."""
    best, best_time, best_weight = -1, 0.0, 0.0
    for k in range(n_used):
        if is_open(places[k]):
            time, weight = -math.log(uniforms[number, k]), places[k]["weight"]
            if best < 0 or time * best_weight < best_time * weight:          # time / weight is less
                best, best_time, best_weight = k, time, weight
    return best


@compiled
def is_open(place):
    """True if a candidate can be drawn."""
    return place["weight"] > 0 and place["queued"] < place["cap"]
