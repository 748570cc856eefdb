"""Decision log: decisions, candidates and refusals between two samples, as rows for the recorder.

The figures behind a verdict are computed only for the decisions whose candidates are recorded.
"""

from collections.abc import Callable, Iterable

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.policies import Policies
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.job_brokerage.decide import RANKING_TAGS
from simgrid_broker.policy.scouts import REASONS as SCOUT_REASONS
from simgrid_broker.policy.task_brokerage.editions import PREASSIGNED
from simgrid_broker.schema.series import CANDIDATES, DECISIONS, FACTORS, REFUSALS
from simgrid_broker.views import KEPT, Task, Verdict
from simgrid_broker.world.counts import tally
from simgrid_broker.world.world import World

RANKING = "sorting by weight"
"""Last step of the brokerage, after all criteria; source: brokerage reference, 10.4."""


def all_tags(policies: Policies) -> tuple[str, ...]:
    """Every tag with which a broker can refuse a candidate, each once."""
    return tuple(dict.fromkeys((*policies.job_rules.tags, *policies.task_rules.tags)))


def all_reasons(policies: Policies) -> tuple[str, ...]:
    """Values of errorDialog of a task: every tag, and the reasons for which scouts exhaust or break a task."""
    return (*all_tags(policies), *SCOUT_REASONS)


def all_factors(policies: Policies) -> tuple[str, ...]:
    """Names of the factors of the weights of both brokers, each once."""
    factors = *policies.job_rules.factors, *policies.task_rules.factors
    return tuple(dict.fromkeys(factor.rule.name for factor in factors))


def criteria_in_order(policies: Policies) -> dict[str, list[tuple[str, str]]]:
    """Tag and PanDA's name of every step that can remove a candidate, by kind of decision, in the order of removal."""
    jobs, tasks = policies.job_rules.funnel, policies.task_rules.funnel
    return {DecisionKind.JOB_BROKERAGE.word: _named(jobs.by_rank) + [(tag, RANKING) for tag in RANKING_TAGS],
            DecisionKind.TASK_BROKERAGE.word: _named((*PREASSIGNED.funnel.criteria, *tasks.by_rank))}


def _named(criteria: Iterable) -> list[tuple[str, str]]:
    return [(rule.rule.tag, rule.rule.panda) for rule in criteria]


class DecisionLog:
    """Decisions and candidates as the scenario's `record` asks for, and all refusals by candidate, rule and share."""

    def __init__(self, world: World):
        record = world.scenario.record
        self.world, self.seed = world, world.scenario.seed
        self.of_decisions, self.of_candidates = max(record.decisions, record.candidates), record.candidates
        self.whole = tasks_of(world, record.tasks)
        self.queues = world.arrays.pseudo_queues["queue"].astype(np.int64)
        self.rows: list[tuple] = []
        self.candidates: list[tuple[tuple[str, ...], np.ndarray]] = []
        self.factors: list[np.ndarray] = []
        self.n_decisions = 0
        self.refusals: dict[tuple[int, int], tuple[tuple[str, ...], np.ndarray]] = {}

    def add(self, kind: DecisionKind, now: float, task: Task, verdict: Verdict, n_jobs: int, offset: int = 0,
            candidates: np.ndarray | None = None) -> None:
        """Note one decision before it takes effect; candidates: sites of the verdict, None = it is about queues."""
        self.n_decisions += 1
        self._count(kind, task.share, verdict, candidates)
        if not self._keeps(self.of_decisions, task.jeditaskid):
            return
        best, weight = -1, np.nan
        if len(verdict.order):
            first = int(verdict.order[0])
            best = offset + (first if candidates is None else int(candidates[first]))
            weight = float(verdict.weight[first])
        self.rows.append((now, self.n_decisions, kind, task.jeditaskid, task.share, task.resource_type,
                          len(verdict.refused_by), len(verdict.order), n_jobs, best, weight))
        if self._keeps(self.of_candidates, task.jeditaskid):
            self._add_candidates(verdict, offset + (np.arange(len(verdict.refused_by)) if candidates is None
                                                    else candidates))

    def _keeps(self, fraction: float, jeditaskid: int) -> bool:
        """Whether decisions about a task belong to a fraction of all; larger fractions include smaller ones."""
        if fraction >= 1 or jeditaskid in self.whole:
            return True
        return fraction > 0 and bool(luck.uniforms(self.seed, "decision_record", jeditaskid) < fraction)

    def _add_candidates(self, verdict: Verdict, codes: np.ndarray) -> None:
        """Keep every candidate of a verdict with its figures; codes: (n,) of the vocabulary `brokered`."""
        rows = CANDIDATES.empty(len(codes))
        rows["decision"], rows["candidate"], rows["tag"] = self.n_decisions, codes, verdict.refused_by
        rows["weight"], rows["value"], rows["limit"], rows["order"] = verdict.weight, np.nan, np.nan, -1
        rows["order"][verdict.order] = np.arange(len(verdict.order))
        if verdict.figures is not None:
            figures = verdict.figures()
            rows["value"], rows["limit"] = figures.value, figures.limit
            for name, multiplier in figures.factors.items():
                self.factors.append(self._factor_rows(name, multiplier[verdict.order], codes[verdict.order]))
        self.candidates.append((verdict.tags, rows))

    def _factor_rows(self, name: str, multiplier: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Rows about one factor of the candidates that are used."""
        rows = FACTORS.empty(len(codes))
        rows["decision"], rows["candidate"], rows["multiplier"] = self.n_decisions, codes, multiplier
        rows["factor"] = self.world.vocabularies["factors"].index(name)
        return rows

    def _count(self, kind: DecisionKind, share: int, verdict: Verdict, sites: np.ndarray | None) -> None:
        """Count refusals by rule and by site or PanDA queue; the last row counts the candidates that were kept."""
        found = self.refusals.get((kind, share))
        if found is None:
            columns = len(self.world.arrays.queues if sites is None else self.world.arrays.sites)
            found = (verdict.tags, np.zeros((len(verdict.tags) + 1, columns), np.int64))
            self.refusals[kind, share] = found
        tally(found[1], verdict.refused_by, self.queues if sites is None else sites)

    def flush(self, now: float, write: Callable[..., None]) -> None:
        """Write what was added since the last call."""
        tag_codes = {tag: code for code, tag in enumerate(self.world.vocabularies["tags"])}
        if self.rows:
            write("decisions", np.array(self.rows, DECISIONS.dtype))
        for tags, rows in self.candidates:
            rows["tag"] = _codes(tags, tag_codes)[rows["tag"]]
            write("candidates", rows)
        for rows in self.factors:
            write("factors", rows)
        for (kind, share), (tags, counts) in self.refusals.items():
            rule, where = np.nonzero(counts)
            rows = REFUSALS.empty(len(rule))
            rows["time_s"], rows["kind"], rows["share"] = now, kind, share
            rows["candidate"] = where if kind == DecisionKind.JOB_BROKERAGE else len(self.world.arrays.queues) + where
            rows["count"] = counts[rule, where]
            rows["tag"] = _codes(tags, tag_codes)[rule]
            if len(rows):
                write("refusals", rows)
        for books in (self.rows, self.candidates, self.factors, self.refusals):
            books.clear()


def tasks_of(world: World, wanted: Iterable[int | str]) -> frozenset[int]:
    """The jeditaskids of tasks given by jeditaskid or by name; several tasks may share a name."""
    words, tasks = world.vocabularies["task_names"], world.arrays.tasks
    codes = [words.index(task) for task in wanted if isinstance(task, str)]
    named = tasks["jeditaskid"][np.isin(tasks["name"], codes)].tolist()
    return frozenset([*named, *(task for task in wanted if isinstance(task, int))])


def _codes(tags: tuple[str, ...], tag_codes: dict[str, int]) -> np.ndarray:
    """Code of each tag, then KEPT, which index -1 finds, (n_tags + 1,)."""
    return np.array([*(tag_codes[tag] for tag in tags), KEPT])
