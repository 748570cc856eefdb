"""One production job brokerage decision: a question to the compiled decision, and its answer as a verdict."""

from collections.abc import Callable, Mapping
from functools import cache as cache_for_ever
from typing import NamedTuple

import numpy as np

from simgrid_broker.policy.funnel import ONE, MaskCache, first_refusals
from simgrid_broker.policy.job_brokerage.completeness import readable
from simgrid_broker.policy.job_brokerage.decide import Question, room
from simgrid_broker.policy.job_brokerage.editions import PRODUCTION, JobBrokerage
from simgrid_broker.policy.job_brokerage.figures import figures
from simgrid_broker.policy.job_brokerage.preliminary import for_hint, initial_list
from simgrid_broker.policy.job_brokerage.question import JobCase, task_record
from simgrid_broker.views import Gdpconfig, InputDataset, Locality, Queues, Stats, Task, Verdict

MAX_CANDIDATES = 10
"""Candidates that are used; source: PanDA brokerage documentation, production job brokerage, step 5."""


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
        return run_brokerage(rules[edition], task, queues, stats, locality, cfg, cache)
    vars(broker)["rules"] = rules
    return broker


def run_brokerage(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                  cfg: Gdpconfig, cache: MaskCache | None = None) -> Verdict:
    """The decision of any job brokerage; with the same arguments, the same verdict."""
    question = question_of(brokerage, task, queues, stats, locality, cfg, cache)
    answer = room(len(question.queues), MAX_CANDIDATES)
    n_best = brokerage.decide(question, answer)
    return Verdict(brokerage.tags, answer.refused_by, answer.weight, answer.best[:n_best], answer.backlog, answer.cap,
                   lambda: figures(brokerage, JobCase(task, queues, brokerage.edition), question, answer.refused_by))


def broker_hint(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, cfg: Gdpconfig,
                cache: MaskCache | None = None, asked_about: np.ndarray | None = None,
                inputs: tuple[InputDataset, ...] = ()) -> np.ndarray:
    """Pseudo-queues that could run jobs of a task, (n,) bool: those that survive all criteria but caps and weights.

    asked_about: (n,) bool, the pseudo-queues that are looked at, None = all; inputs: datasets of the task. No nucleus
    is set, no queue is pre-assigned, and of the input only its completeness is looked at. Source: brokerage reference,
    1.2 (hint mode).
    """
    question = question_of(brokerage, for_hint(task), queues, stats, None, cfg, cache, True, inputs)
    if asked_about is not None:
        question = question._replace(first=_only(asked_about, question.first))
    answer = room(len(question.queues), MAX_CANDIDATES)
    brokerage.decide(question, answer)
    return answer.refused_by == question.never


def _only(asked_about: np.ndarray, first: np.ndarray) -> np.ndarray:
    """First refusals, (n,), that skip the candidates outside `asked_about` as if refused by criterion 0."""
    first = first * asked_about
    first.setflags(write=False)                 # as all first refusals are: Numba compiles once for each kind of array
    return first


def question_of(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, locality: Locality | None,
                cfg: Gdpconfig, cache: MaskCache | None = None, hint: bool = False,
                inputs: tuple[InputDataset, ...] = ()) -> Question:
    """The arrays and numbers that the compiled decision reads; inputs: instead of those of `locality`."""
    known = (prepare(brokerage, task, queues, cfg) if cache is None
             else cache.of_task(prepare, brokerage, task, queues, cfg))
    n, funnel = len(stats.store), brokerage.funnel
    data: tuple[float, float, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]
    if locality is None:
        none = column_of(0.0, n)
        data = 0.0, 0.0, none, none, none, none, nowhere(n), False
    else:
        inputs, complete = locality.inputs, locality.complete
        data = (float(locality.total_bytes), float(locality.total_files), locality.disk_bytes, locality.disk_files,
                locality.any_bytes, locality.any_files,
                locality.any_bytes >= 1.0 if complete is None else complete, locality.somewhere)
    found = readable(inputs, task, cfg)
    order = brokerage.hint_order if hint else brokerage.order
    return Question(known.task, hint, queues.records, stats.load, stats.link, stats.store, *data,
                    found.failure != "", float(found.best_part), not found.remotely, bool(stats.writable),
                    bool(stats.readable), float(stats.files_to_nucleus), float(stats.express_to_nucleus), known.first,
                    known.static_weight, order.ranks, order.later, order.least, order.least_numbers,
                    order.choice_rank, funnel.places, len(funnel.criteria), funnel.never, brokerage.busiest)


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
    if brokerage.edition == "deployed" and (task.preassigned or task.premerge is not None):
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
def nowhere(n: int) -> np.ndarray:
    """A column that is False, (n,); not to be changed."""
    return np.zeros(n, bool)


@cache_for_ever
def column_of(value: float, n: int) -> np.ndarray:
    """A column of one value, (n,); not to be changed."""
    return np.full(n, value)
