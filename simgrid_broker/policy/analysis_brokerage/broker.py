"""One decision of analysis brokerage: the gate, the compiled decision, and its answer as a verdict."""

from math import isnan
from typing import NamedTuple

import numpy as np

from simgrid_broker.gdpconfig import anal_jobbroker
from simgrid_broker.policy.analysis_brokerage.candidates import matched
from simgrid_broker.policy.analysis_brokerage.decide import Tables, marks_of, room
from simgrid_broker.policy.analysis_brokerage.editions import ANALYSIS, NEVER, AnalysisBrokerage
from simgrid_broker.policy.analysis_brokerage.figures import figures
from simgrid_broker.policy.analysis_brokerage.locality import Found, find_input
from simgrid_broker.policy.analysis_brokerage.question import UNCLASSIFIED, AnalysisCase, preassigned_queue, task_record
from simgrid_broker.policy.funnel import MaskCache, first_refusals
from simgrid_broker.units import GIB, HOUR
from simgrid_broker.views import KEPT, AnalysisView, Gdpconfig, Queues, Task, Verdict

FREE_PRIORITY = 2000
"""taskPriority from which the locality of the input may be ignored; source: step 3; brokerage reference, 3.2."""


class Prepared(NamedTuple):
    """What is kept from one decision about a task to the next: first refusals, record, and marks of the candidates."""

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
    found = find_input(seen.given, task, candidate_queues(task, queues, len(seen.load)), brokerage.edition, cfg)
    case = AnalysisCase(task, queues, brokerage.edition, cfg, seen.user, found.failure)
    for place, rule in enumerate(brokerage.gate):
        if rule(case).refused.all():
            return stopped(brokerage, case, place)
    tables = tables_of(brokerage, task, queues, seen, known, found, cfg)
    n_best = int(brokerage.decide(tables))
    return verdict_of(brokerage, case, tables, n_best)


def stopped(brokerage: AnalysisBrokerage, case: AnalysisCase, place: int) -> Verdict:
    """The verdict of an attempt that a rule of the gate ended, by its place."""
    n = case.n_candidates
    refused_by = np.full(n, place, np.int16)
    return Verdict(brokerage.tags, refused_by, np.zeros(n), np.empty(0, np.int64),
                   figures=lambda: figures(brokerage, case, None, refused_by))


def verdict_of(brokerage: AnalysisBrokerage, case: AnalysisCase, tables: Tables, n_best: int) -> Verdict:
    """The result of a decision as a verdict."""
    refused_by = np.where(tables.rank == NEVER, KEPT, tables.rank + brokerage.n_gate).astype(np.int16)
    weight = np.where(refused_by == KEPT, tables.weight, 0.0)
    return Verdict(brokerage.tags, refused_by, weight, tables.best[:n_best],
                   figures=lambda: figures(brokerage, case, tables, refused_by))


def prepare(brokerage: AnalysisBrokerage, task: Task, queues: Queues, cfg: Gdpconfig,
            cache: MaskCache | None = None) -> Prepared:
    """The part of a question that depends on the task, the queues' description and gdpconfig alone."""
    case = AnalysisCase(task, queues, brokerage.edition)
    first = (first_refusals if cache is None else cache.first_refusals)(brokerage.funnel, case)
    first = np.where(first == brokerage.funnel.never, NEVER, first)
    listed = np.ones(case.n_candidates, bool) if task.includedsite is None else matched(case, task.includedsite)
    return Prepared(first, task_record(task, queues, cfg, brokerage.edition), marks_of(queues.names, listed))


def candidate_queues(task: Task, queues: Queues, n_queues: int) -> np.ndarray:
    """PanDA queues with candidates for analysis, and the one that the task names, (n_queues,) bool."""
    found = np.zeros(n_queues, bool)
    found[queues.queue[queues.analysis]] = True
    if preassigned_queue(task) >= 0:
        found[preassigned_queue(task)] = True
    return found


def tables_of(brokerage: AnalysisBrokerage, task: Task, queues: Queues, seen: AnalysisView, known: Prepared,
              found: Found, cfg: Gdpconfig) -> Tables:
    """The tables of one question."""
    record, terms = known.record, brokerage.terms.copy()
    row, user = record[0], seen.user
    has_input, ignored = bool(seen.given.datasets), ignores_locality(task, cfg)
    row["task_class"] = UNCLASSIFIED if user.task_class is None else user.task_class
    row["n_jobs_to_submit"], row["has_input"] = seen.n_jobs, has_input
    row["union"], row["distributed"], row["remote_source"] = found.union, found.distributed, found.remotely
    row["total_gb"] = seen.given.total_bytes // GIB
    two = has_input and (found.remotely or brokerage.edition == "documented")
    first_loop = int(brokerage.edition == "documented" and ignored)
    terms["n_loops"], terms["first_loop"] = 2 if two and not first_loop else 1, first_loop
    row["loses_patience"] = two and ignored and brokerage.edition == "deployed"
    n, n_queues = len(queues.records), len(seen.load)
    return Tables(terms=terms, task=record, queues=queues.records, load=seen.load, user=user.at, store=seen.store,
                  data=found.at, first=known.first, marks=known.marks, ranks=brokerage.ranks,
                  **room(n, n_queues, len(brokerage.factors)))


def ignores_locality(task: Task, cfg: Gdpconfig) -> bool:
    """Whether the locality of the input may be ignored: for taskPriority, ioIntensity, or after a long wait.

    Source: PanDA brokerage documentation, analysis job brokerage, step 3; brokerage reference, 3.2.
    """
    priority = task.currentpriority if task.taskpriority is None else task.taskpriority
    cutoff = cfg.value(anal_jobbroker.IO_INTENSITY_CUTOFF_USER)
    patience = cfg.value(anal_jobbroker.DATA_CHECK_TIMEOUT_USER)
    light = bool(cutoff) and not isnan(task.iointensity) and task.iointensity <= cutoff
    return priority >= FREE_PRIORITY or light or (bool(patience) and task.frozen_for_s > patience * HOUR)
