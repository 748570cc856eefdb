"""Decision log: decisions, candidates and refusals between two samples, as rows for the recorder.

The figures behind a verdict are computed only for the decisions whose candidates are recorded.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import DecisionKind
from simgrid_broker.schema import joined
from simgrid_broker.schema.series import CANDIDATES, DECISIONS, FACTORS, REFUSALS, STEPS
from simgrid_broker.turns.brokers import in_order, rules_behind
from simgrid_broker.turns.policies import Policies
from simgrid_broker.views import KEPT, Task, Verdict
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.jobs.counts import candidates_left, tally_refusals
from simgrid_broker.world.tasks.rows import renewed
from simgrid_broker.world.world import World

MADE, RECORDED = range(2)
FIRST_ROWS = 1024
"""Room for decisions at first; it doubles when it is used up."""
DECISION_RECORD = luck.STREAMS["decision_record"]
MOST_STEPS = 63
FAILED = np.dtype([("jeditaskid", "i8"), ("number", "i8")])
"""A task, and its decisions without a candidate since it last had one."""
RECORD = np.dtype([("of_decisions", "f8"), ("of_candidates", "f8"), ("unplaced", "i8"), ("looked_at", "?")])
"""Fractions of the tasks whose decisions, and whose candidates, are recorded; of `Log.chosen`, the most of each.

looked_at: whether Python looks at every decision.
"""


class Log(Bundle):
    """Decisions as compiled turns record them: which are chosen, and the rows of those recorded."""

    record: np.ndarray             # (1,) of RECORD
    whole: np.ndarray              # jeditaskids of tasks all of whose decisions are recorded with their candidates
    failed: np.ndarray             # (n_tasks, n_kinds) of FAILED
    chosen: np.ndarray             # (n_kinds, n_shares, MOST_STEPS): of the 1st, 2nd, 4th, ... about a task
    numbers: np.ndarray            # (2,), of the decisions MADE so far, and of those RECORDED in `room`
    room: np.ndarray               # of DECISIONS
    groups: np.ndarray             # (2, n) queue and pool of each pseudo-queue
    furthest: np.ndarray           # (2, most), room for `tally_refusals`


class Steps(NamedTuple):
    """Codes and places of removal by the index in a verdict, (n_rules + 1,); the last is that of KEPT."""

    tags: np.ndarray
    criteria: np.ndarray
    ranks: np.ndarray


@compiled
def keeps(world: Arrays, log, fraction, jeditaskid, key):
    """Test for a task that belongs to a fraction of all; larger fractions include smaller ones.

    key: of the task's random draws.
    """
    if fraction >= 1:
        return True
    for k in range(len(log.whole)):
        if log.whole[k] == jeditaskid:
            return True
    return fraction > 0 and luck.uniform(world.settings[0]["seed"], DECISION_RECORD, key, 0, 0) < fraction


@compiled
def chooses(world: Arrays, log, kind, row, has_best):
    """Choose a decision about an unplaced task whose candidates are recorded; to be asked about each decision.

    Of each kind of decision and share, at most a number that are the first such decision about a task, and as many that
    are the 2nd, 4th, 8th, ...; decisions that found a candidate, and tasks that have had a job, are left out.
    """
    task, failed = world.tasks[row], log.failed[row, kind]
    if has_best or task["n_attempts"] > 0 or failed["jeditaskid"] != task["jeditaskid"]:
        failed["jeditaskid"], failed["number"] = task["jeditaskid"], 0
    if has_best or task["n_attempts"] > 0 or log.record[0]["unplaced"] == 0:
        return False
    failed["number"] += 1
    number, step = failed["number"], 0
    while number >> step > 1:
        step += 1
    if number != 1 << step or log.chosen[kind, task["share"], step] == log.record[0]["unplaced"]:
        return False
    log.chosen[kind, task["share"], step] += 1
    return True


@compiled
def choose(world: Arrays, log, kind, row, has_best):
    """Choose how a decision is recorded; returns whether it is at all, and whether its candidates are."""
    task, record = world.tasks[row], log.record[0]
    whole = (chooses(world, log, kind, row, has_best)
             or keeps(world, log, record["of_candidates"], task["jeditaskid"], task["luck"]))
    return whole or keeps(world, log, record["of_decisions"], task["jeditaskid"], task["luck"]), whole


@compiled
def add_decision(log, now_s, kind, task, n_candidates, n_kept, n_jobs):
    """Record a decision without its candidates, and without the best of them; returns its row."""
    number = log.numbers[RECORDED]
    row = log.room[number]
    log.numbers[RECORDED] += 1
    row["time_s"], row["decision"], row["kind"] = now_s, log.numbers[MADE], kind
    row["jeditaskid"], row["share"], row["resource_type"] = task["jeditaskid"], task["share"], task["resource_type"]
    row["n_candidates"], row["n_kept"], row["n_jobs"] = n_candidates, n_kept, n_jobs
    row["best"], row["best_weight"] = -1, np.nan
    return number


class DecisionLog:
    """Decisions and candidates as the scenario's `record` asks for, and all refusals by candidate, rule and share.

    of_jobs: (n_shares, n_rules + 1, n_queues, 3) refusals of queues by the rules of the scenario since the last sample,
    where `is_counted`, (n_shares,), says so; of_users, users_counted: the same by the rules of analysis brokerage;
    of_tasks, tasks_counted: of nuclei, (n_shares, n_rules + 1, n_sites, 3). log: as compiled turns read and write it,
    replaced when something in it is. to_tally: functions that complete the refusals before they are written.
    """

    def __init__(self, world: World, policies: Policies):
        record = world.scenario.record
        self.world, self.policies = world, policies
        self.wanted, self.log = record.tasks, log_of(world)
        self.candidates: list[np.ndarray] = []
        self.factors: list[np.ndarray] = []
        self.steps_asked: list[np.ndarray] = []
        self.texts: list[str] = []
        self.codes: dict[str, int] = {}
        self.known: dict[tuple[DecisionKind, tuple[str, ...]], Steps] = {}
        n_shares, n_queues, n_sites = len(world.arrays.hs06_milli), len(world.arrays.queues), len(world.arrays.sites)
        self.of_jobs = np.zeros((n_shares, len(policies.job_rules.rules) + 1, n_queues, 3), np.int64)
        self.of_tasks = np.zeros((n_shares, len(policies.task_rules.rules) + 1, n_sites, 3), np.int64)
        self.of_users = np.zeros((n_shares, len(policies.analysis_rules.rules) + 1, n_queues, 3), np.int64)
        self.is_counted, self.tasks_counted, self.users_counted = np.zeros((3, n_shares), bool)
        self.tables = {
            DecisionKind.JOB_BROKERAGE: (self.of_jobs, self.is_counted, policies.job_rules.tags),
            DecisionKind.TASK_BROKERAGE: (self.of_tasks, self.tasks_counted, policies.task_rules.tags),
            DecisionKind.ANALYSIS_BROKERAGE: (self.of_users, self.users_counted, policies.analysis_rules.tags)}
        self.refusals: dict[tuple[DecisionKind, int], tuple[Steps, np.ndarray]] = {}
        self.to_tally: list[Callable[[], None]] = []

    def begin(self, rows: np.ndarray) -> None:
        """Look out for tasks that are about to arrive if all about them is to be recorded."""
        words, tasks = self.world.vocabularies["task_names"], self.world.arrays.tasks
        codes = [words.index(task) for task in self.wanted if isinstance(task, str)]
        named = tasks["jeditaskid"][rows][np.isin(tasks["name"][rows], codes)]
        whole = np.union1d(self.log.whole, named) if codes else self.log.whole
        self.log = self.log.with_arrays(whole=whole, failed=renewed(self.world, self.log.failed, rows, 0))

    def add(self, kind: DecisionKind, now: float, task: Task, verdict: Verdict, n_jobs: int, offset: int = 0,
            candidates: np.ndarray | None = None) -> None:
        """Note one decision before it takes effect; candidates: sites of the verdict, None = it is about queues."""
        self.log.numbers[MADE] += 1
        steps = self.steps(kind, verdict.tags)
        counts = self.counts(kind, task.share, steps, candidates is None)
        groups = self.log.groups if candidates is None else np.stack([candidates, candidates])
        tally_refusals(counts[None], 0, verdict.refused_by, groups, steps.ranks, self.log.furthest)
        recorded, whole = choose(
            self.world.arrays, self.log, int(kind), self.world.row_of[task.jeditaskid], len(verdict.order) > 0)
        if recorded:
            self._add_decision(kind, now, task, verdict, n_jobs, offset, candidates)
        if whole:
            self.add_candidates(kind, verdict, offset, candidates)

    def _add_decision(self, kind: DecisionKind, now: float, task: Task, verdict: Verdict, n_jobs: int, offset: int,
                      candidates: np.ndarray | None) -> None:
        """Record a decision without its candidates."""
        best, weight = -1, np.nan
        if len(verdict.order):
            first = int(verdict.order[0])
            best = offset + (first if candidates is None else int(candidates[first]))
            weight = float(verdict.weight[first])
        self.make_room()
        self.log.room[self.log.numbers[RECORDED]] = (
            now, self.n_decisions, kind, task.jeditaskid, task.share, task.resource_type, len(verdict.refused_by),
            len(verdict.order), n_jobs, best, weight)
        self.log.numbers[RECORDED] += 1

    @property
    def n_decisions(self) -> int:
        """Decisions made so far."""
        return int(self.log.numbers[MADE])

    @property
    def rows(self) -> np.ndarray:
        """Decisions recorded since the last sample, (k,) of DECISIONS."""
        return self.log.room[:self.log.numbers[RECORDED]]

    def make_room(self, number: int = 1) -> None:
        """Make room for some more rows."""
        while self.log.numbers[RECORDED] + number > len(self.log.room):
            self.log = self.log.with_arrays(room=np.concatenate([self.log.room, np.zeros_like(self.log.room)]))

    def steps(self, kind: DecisionKind, tags: tuple[str, ...]) -> Steps:
        """Codes and places of the rules behind `tags`; a policy of another package may have others than the edition."""
        if (kind, tags) not in self.known:
            self.known[kind, tags] = steps_behind(self.world, self.policies, kind, tags)
        return self.known[kind, tags]

    def add_candidates(self, kind: DecisionKind, verdict: Verdict, offset: int = 0,
                       candidates: np.ndarray | None = None) -> None:
        """Keep every candidate of the last decision with its figures; arguments as for `add`."""
        steps = self.steps(kind, verdict.tags)
        codes = offset + (np.arange(len(verdict.refused_by)) if candidates is None else candidates)
        rows = CANDIDATES.empty(len(codes))
        rows["decision"], rows["candidate"] = self.n_decisions, codes
        rows["tag"], rows["criterion"] = steps.tags[verdict.refused_by], steps.criteria[verdict.refused_by]
        rows["weight"], rows["value"], rows["limit"], rows["order"] = verdict.weight, np.nan, np.nan, -1
        rows["text"], unasked = -1, frozenset[int]()
        rows["order"][verdict.order] = np.arange(len(verdict.order))
        if verdict.figures is not None:
            figures = verdict.figures()
            rows["value"], rows["limit"], unasked = figures.value, figures.limit, figures.unasked
            for k, text in figures.texts.items():
                rows["text"][k] = self.code(text)
            for name, multiplier in figures.factors.items():
                self.factors.append(self._factor_rows(name, multiplier[verdict.order], codes[verdict.order]))
        self.candidates.append(rows)
        self._add_steps(verdict.refused_by, steps, unasked)

    def code(self, text: str) -> int:
        """Code of what a rule names, in the vocabulary `texts`, which grows."""
        if text not in self.codes:
            self.codes[text] = len(self.texts)
            self.texts.append(text)
        return self.codes[text]

    def _add_steps(self, refused_by: np.ndarray, steps: Steps, unasked: frozenset[int]) -> None:
        """Keep what each rule that concerned the task left of the candidates, in the order of removal."""
        places, refused, left = candidates_left(refused_by, steps.ranks[:-1], unasked)
        rows = STEPS.empty(len(places))
        rows["decision"], rows["criterion"] = self.n_decisions, steps.criteria[places]
        rows["refused"], rows["left"] = refused, left
        self.steps_asked.append(rows)

    def _factor_rows(self, name: str, multiplier: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Rows about one factor of the candidates that are used."""
        rows = FACTORS.empty(len(codes))
        rows["decision"], rows["candidate"], rows["multiplier"] = self.n_decisions, codes, multiplier
        rows["factor"] = self.world.vocabularies["factors"].index(name)
        return rows

    def counts(self, kind: DecisionKind, share: int, steps: Steps, about_queues: bool) -> np.ndarray:
        """Refusals of one kind and share since the last sample, by rule and by queue or site; the last rule: none.

        (n_rules + 1, n_queues, 3) or (n_rules + 1, n_sites, 3), as `tally_refusals` adds to it.
        """
        found = self.refusals.get((kind, share))
        if found is None:
            table, is_counted, tags = self.tables[kind]
            if steps is self.steps(kind, tags):
                counts = table[share]
                counts[:], is_counted[share] = 0, True
            else:
                columns = len(self.world.arrays.queues if about_queues else self.world.arrays.sites)
                counts = np.zeros((len(steps.ranks), columns, 3), np.int64)
            found = self.refusals[kind, share] = (steps, counts)
        return found[1]

    def flush(self, now: float, write: Callable[..., None]) -> None:
        """Write what was added since the last call."""
        for tally in self.to_tally:
            tally()
        if len(self.rows):
            write("decisions", self.rows.copy())
            self.log.numbers[RECORDED] = 0
        for name, tables in (("candidates", self.candidates), ("steps", self.steps_asked), ("factors", self.factors)):
            for rows in tables:
                write(name, rows)
        refused = [self._refusal_rows(now, *key, *found) for key, found in self.refusals.items()]
        if sum(map(len, refused)):
            write("refusals", joined(refused))
        for books in (self.candidates, self.steps_asked, self.factors, self.refusals):
            books.clear()
        self.is_counted[:] = self.tasks_counted[:] = self.users_counted[:] = False

    def _refusal_rows(self, now: float, kind: DecisionKind, share: int, steps: Steps, counts: np.ndarray) -> np.ndarray:
        """Rows about the refusals of one kind and share; counts: as of `counts`."""
        rule, where = np.divmod(np.flatnonzero(counts[:, :, 0]), counts.shape[1])
        rows = REFUSALS.empty(len(rule))
        rows["time_s"], rows["kind"], rows["share"] = now, kind, share
        rows["candidate"] = len(self.world.arrays.queues) + where if kind == DecisionKind.TASK_BROKERAGE else where
        rows["count"], rows["queue_count"], rows["pool_count"] = counts[rule, where].T
        rows["tag"], rows["criterion"] = steps.tags[rule], steps.criteria[rule]
        return rows


def log_of(world: World) -> Log:
    """The log before the first decision; of the tasks whose decisions are recorded those given by number."""
    record, arrays, n_kinds = world.scenario.record, world.arrays, 1 + max(map(int, DecisionKind))
    most = max(record.decisions, record.candidates)
    fractions = np.array([(most, record.candidates, record.unplaced, False)], RECORD)
    whole = np.array([task for task in record.tasks if isinstance(task, int)], np.int64)
    pseudo, most = arrays.pseudo_queues, max(len(arrays.queues), len(arrays.pools), len(arrays.sites))
    return Log(record=fractions, whole=whole, failed=np.zeros((len(arrays.tasks), n_kinds), FAILED),
               chosen=np.zeros((n_kinds, len(arrays.hs06_milli), MOST_STEPS), np.int64),
               numbers=np.zeros(2, np.int64), room=np.zeros(FIRST_ROWS, DECISIONS.dtype),
               groups=np.stack([pseudo["queue"], pseudo["pool"]]).astype(np.int64),
               furthest=np.empty((2, most), np.int64))


def steps_behind(world: World, policies: Policies, kind: DecisionKind, tags: tuple[str, ...]) -> Steps:
    """Codes and places of the rules behind the tags of a verdict."""
    rules, ordered = rules_behind(policies, kind, tags), in_order(policies)[kind]
    words = world.vocabularies
    return Steps(np.array([*(words["tags"].index(rule.tag) for rule in rules), KEPT]),
                 np.array([*(words["criteria"].index(rule.name) for rule in rules), KEPT]),
                 np.array([*(ordered.index(rule) for rule in rules), len(ordered)]))
