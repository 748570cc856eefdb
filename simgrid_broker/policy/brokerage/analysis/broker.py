"""One decision of analysis brokerage: the compiled decision, and its answer as a verdict."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from simgrid_broker.policy.brokerage.analysis.candidates import matched
from simgrid_broker.policy.brokerage.analysis.decide import Tables, marks_of, room
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS, NEVER, AnalysisBrokerage
from simgrid_broker.policy.brokerage.analysis.locality import input_tables, why_unreadable
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase, Candidate, task_record
from simgrid_broker.policy.brokerage.brokerage import Decided, figures_of
from simgrid_broker.policy.funnel import MaskCache, first_refusals
from simgrid_broker.units import GIB
from simgrid_broker.views import KEPT, AnalysisView, Figures, Gdpconfig, Queues, Task, Verdict

NUMBERS_SHOWN = {"running": "running", "queued": "queued", "longest": "longest", "room": "left"}
"""Numbers of a candidate to the column of NUMBERS that has them."""


class Prepared(NamedTuple):
    """Part of a question kept from one decision about a task to the next; marks: of the candidates."""

    first: np.ndarray
    record: np.ndarray
    marks: np.ndarray


def broker_analysis(task: Task, queues: Queues, seen: AnalysisView, cfg: Gdpconfig, edition: str = "documented",
                    cache: MaskCache | None = None) -> Verdict:
    """Analysis brokerage of a task: who refused each pseudo-queue, and the best ten of the others.

    `cache` must belong to the grid of `queues`. Source: PanDA brokerage documentation, analysis job brokerage;
    brokerage reference, sections 3 and 11.
    """
    return run_brokerage(ANALYSIS[edition], task, queues, seen, cfg, cache)


def run_brokerage(brokerage: AnalysisBrokerage, task: Task, queues: Queues, seen: AnalysisView, cfg: Gdpconfig,
                  cache: MaskCache | None = None) -> Verdict:
    """The decision of any analysis brokerage; with the same arguments, the same verdict."""
    known = (prepare(brokerage, task, queues, cfg) if cache is None
             else cache.of_task(prepare, brokerage, task, queues, cfg))
    tables = tables_of(brokerage, queues, seen, known)
    n_best = int(brokerage.decide(tables))
    return verdict_of(brokerage, tables, n_best, partial(case_of, brokerage, task, queues, seen, cfg, tables))


def case_of(brokerage: AnalysisBrokerage, task: Task, queues: Queues, seen: AnalysisView, cfg: Gdpconfig,
            tables: Tables) -> AnalysisCase:
    """The case behind a decision, in whose words refusals are explained."""
    return AnalysisCase(task, queues, brokerage.edition, cfg, seen.user,
                        why_unreadable(seen.given, int(tables.task[0]["unreadable"]), cfg))


def verdict_of(brokerage: AnalysisBrokerage, tables: Tables, n_best: int, case: Callable[[], AnalysisCase]) -> Verdict:
    """The result of a decision as a verdict, which shares columns of the tables; case: as `case_of`."""
    refused_by = tables.refused_by
    weight = np.where(refused_by == KEPT, tables.weight, 0.0)
    return Verdict(brokerage.tags, refused_by, weight, tables.best[:n_best],
                   figures=lambda: figures(brokerage, case(), tables))


def prepare(brokerage: AnalysisBrokerage, task: Task, queues: Queues, cfg: Gdpconfig,
            cache: MaskCache | None = None) -> Prepared:
    """The part of a question that depends on the task, the queues' description and gdpconfig alone."""
    case = AnalysisCase(task, queues, brokerage.edition)
    first = (first_refusals if cache is None else cache.first_refusals)(brokerage.funnel, case)
    first = np.where(first == brokerage.funnel.never, NEVER, first)
    listed = np.ones(case.n_candidates, bool) if task.includedsite is None else matched(case, task.includedsite)
    return Prepared(first, task_record(task, queues, cfg, brokerage.edition), marks_of(queues.names, listed))


def tables_of(brokerage: AnalysisBrokerage, queues: Queues, seen: AnalysisView, known: Prepared) -> Tables:
    """The tables of one question."""
    record, n_queues = known.record.copy(), len(seen.load)
    row = record[0]
    row["n_jobs_to_submit"], row["n_datasets"] = seen.n_jobs, len(seen.given.datasets)
    row["total_gb"] = seen.given.total_bytes // GIB
    return Tables(terms=brokerage.terms.copy(), task=record, queues=queues.records, load=seen.load, user=seen.user.at,
                  owner=seen.user.record, store=seen.store, for_analysis=for_analysis(queues, n_queues),
                  **input_tables(seen.given, n_queues), first=known.first, marks=known.marks, concern=brokerage.concern,
                  **room(len(queues.records), n_queues, len(brokerage.factors)))


def for_analysis(queues: Queues, n_queues: int) -> np.ndarray:
    """PanDA queues with candidates for analysis, (n_queues,) bool."""
    found = np.zeros(n_queues, bool)
    found[queues.queue[queues.analysis]] = True
    return found


def figures(brokerage: AnalysisBrokerage, case: AnalysisCase, tables: Tables) -> Figures:
    """Value and limit of the rule that refused each candidate, and what the weight of those weighed is made of."""
    known = figures_of(brokerage, Decided(tables.refused_by, tables.value, tables.limit, tables.task[0], case,
                                          lambda k: candidate(tables, k)), ("weight", *NUMBERS_SHOWN))
    rows = np.flatnonzero(tables.listed & ~np.isnan(tables.weight))
    known.numbers["weight"][rows] = tables.weight[rows]
    for rule, factor in zip(brokerage.factors, tables.factors, strict=True):
        known.factors[rule.rule.name][rows] = factor[rows]
    for name, column in NUMBERS_SHOWN.items():
        known.numbers[name][rows] = tables.numbers[column][rows]
    behind = np.flatnonzero(tables.refused_by == len(brokerage.rules) - 1)
    known.value[behind] = tables.weight[behind]
    known.limit[behind] = tables.weight[tables.refused_by == KEPT].min(initial=np.inf)
    return known


def candidate(tables: Tables, k: int) -> Candidate:
    """Candidate k as compiled rules see it."""
    queue = tables.queues[k]
    place = queue["queue"]
    return Candidate(tables.task[0], queue, tables.load[place], tables.user[place], tables.store[place],
                     tables.data[place])
