"""Policies by name: those of the package, and those that other packages offer as entry points.

An entry point `<kind>.<name>` (docs/policies.md) is called like the package's own policy of that kind,
and what it returns is checked; a dispatch order is a `dispatch.DispatchOrder`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from simgrid_broker import plugins
from simgrid_broker.editions import ByEdition, record_of
from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.analysis import editions as analysis_rules
from simgrid_broker.policy.brokerage.analysis.broker import broker_analysis
from simgrid_broker.policy.brokerage.production import editions as job_rules
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.task import editions as task_rules
from simgrid_broker.policy.brokerage.task.broker import broker_task
from simgrid_broker.policy.pilot_streaming import new_workers
from simgrid_broker.policy.shares import dispatch
from simgrid_broker.policy.tasks.throttle import Throttle, throttle
from simgrid_broker.views import KEPT, Figures, PilotStatus, Verdict

GROUP = "simgrid_broker.policies"
"""Group of entry points that offer policies."""

BUILT_IN: dict[str, dict[str, Any]] = {
    "dispatch_order": dispatch.ORDERS,
    "pilot_submission": {"unified_pilot_streaming": new_workers}, "throttle": {"job_throttler": throttle},
    "job_brokerage": {"production": broker_jobs},
    "task_brokerage": {"production": broker_task}, "analysis_brokerage": {"analysis": broker_analysis}}
"""The package's own policies by kind and name."""

RULES: dict[str, ByEdition] = {"job_brokerage": job_rules.PRODUCTION, "task_brokerage": task_rules.PRODUCTION,
                                       "analysis_brokerage": analysis_rules.ANALYSIS}
"""Rules of the package's own brokerages by kind and edition."""


def policy(kind: str, name: str):
    """The policy of a kind by name; one of the package takes precedence over an entry point of the same name.

    Raises PluginError for an unknown name and for an entry point that cannot be imported or is not a policy, KeyError
    for an unknown kind.
    """
    if name in BUILT_IN[kind]:
        return BUILT_IN[kind][name]
    plugin = plugins.load(GROUP, f"{kind}.{name}", tuple(f"{kind}.{known}" for known in BUILT_IN[kind]))
    if kind == "dispatch_order":
        if not isinstance(plugin.content, dispatch.DispatchOrder):
            raise plugin.refused(f"must be a DispatchOrder, not {plugin.content!r}")
        return plugin.content
    if not callable(plugin.content):
        raise plugin.refused(f"must be a function, not {plugin.content!r}")
    if kind not in RULES:
        return _checked(plugin, plugin.content, *EXPECTED[kind], None)
    rules = getattr(plugin.content, "rules", RULES[kind])
    if missing := [edition for edition in EDITIONS if edition not in rules]:
        raise plugin.refused(f"has an attribute `rules` without the edition {missing[0]!r}")
    return _checked(plugin, plugin.content, *EXPECTED[kind], rules)


def rules_of(kind: str, brokerage: Callable, edition: str) -> Any:
    """Rules of a brokerage in an edition: of its attribute `rules`, by edition, or PanDA's if it has none."""
    return record_of(getattr(brokerage, "rules", RULES[kind]), edition)


def names(kind: str) -> tuple[str, ...]:
    """Names of all policies of a kind, sorted; entry points are not imported."""
    found = (name.removeprefix(f"{kind}.") for name in plugins.offered(GROUP) if name.startswith(f"{kind}."))
    return tuple(sorted({*BUILT_IN[kind], *found}))


def is_workers(result: object, status: PilotStatus, *_: object) -> bool:
    """True if an answer is workers to submit, whole numbers from 0 on, (n_queues, n_resource_types)."""
    return (isinstance(result, np.ndarray) and result.shape == status.worker_cores.shape
            and np.issubdtype(result.dtype, np.integer) and not (result < 0).any())


def is_throttle(result: object, *_: object) -> bool:
    """True if an answer is a decision of a throttler."""
    return isinstance(result, Throttle) and result.max_jobs >= 0


def is_verdict(result: object, _: object, candidates, *__: object) -> bool:
    """True if an answer is a verdict on all candidates that uses no refused one, with finite weights from 0 on."""
    if not isinstance(result, Verdict):
        return False
    n, refused_by = len(candidates.site), np.asarray(result.refused_by)
    order = np.asarray(result.order)
    return (len(refused_by) == len(result.weight) == n and len(np.unique(order)) == len(order)
            and bool(np.isin(order, np.flatnonzero(refused_by == KEPT)).all())
            and bool(((refused_by >= KEPT) & (refused_by < len(result.tags))).all())
            and bool((np.isfinite(result.weight) & (np.asarray(result.weight) >= 0)).all()))


VERDICT = "a Verdict with a tag or KEPT and a finite weight from 0 on for each candidate, and the order of kept ones"
EXPECTED: dict[str, tuple[Callable[..., bool], str]] = {
    "pilot_submission": (is_workers, "whole numbers of workers from 0 on, (n_queues, n_resource_types)"),
    "throttle": (is_throttle, "a Throttle with at least 0 jobs"),
    "job_brokerage": (is_verdict, VERDICT), "task_brokerage": (is_verdict, VERDICT),
    "analysis_brokerage": (is_verdict, VERDICT)}
"""Check of what a policy of another package returns, and what is expected."""


def _checked(plugin: plugins.Plugin, function: Callable, holds: Callable[..., bool], expected: str,
             rules: Mapping[str, Any] | None) -> Callable:
    """A policy of another package that raises PluginError if it fails, or returns something else or an unknown name."""
    @wraps(function)
    def checked(*arguments):
        with plugin.blamed():
            result = function(*arguments)
        try:
            fits = holds(result, *arguments)
        except (TypeError, ValueError):         # its parts are not even arrays
            fits = False
        if not fits:
            raise plugin.refused(f"must return {expected}, not {' '.join(repr(result).split())[:200]}")
        return result if rules is None else _checked_verdict(plugin, result, rules)
    return checked


def _checked_verdict(plugin: plugins.Plugin, verdict: Verdict, rules: Mapping[str, Any]) -> Verdict:
    """A verdict whose tags are those of `rules`, by edition, and whose figures are checked when they are asked for."""
    _refuse_unknown(plugin, "tag", verdict.tags, {tag for each in rules.values() for tag in each.tags})
    if verdict.figures is None:
        return verdict
    told, n = verdict.figures, len(verdict.refused_by)

    def figures() -> Figures:
        with plugin.blamed():
            found = told()
        if not isinstance(found, Figures) or any(np.shape(column) != (n,) for column in _columns(found)):
            raise plugin.refused(f"must give figures with a number for each of {n} candidates, not "
                                 f"{' '.join(repr(found).split())[:200]}")
        _refuse_unknown(plugin, "factor", found.factors, {rule.rule.name for each in rules.values()
                                                          for rule in each.factors})
        return found
    return replace(verdict, figures=figures)


def _columns(figures: Figures) -> tuple[np.ndarray, ...]:
    return figures.value, figures.limit, *figures.factors.values(), *figures.numbers.values()


def _refuse_unknown(plugin: plugins.Plugin, what: str, names: Iterable[str], known: set[str]) -> None:
    """Raise PluginError for a name that a run could not record."""
    if unknown := sorted({*names} - known):
        raise plugin.refused(f"returns the {what} {unknown[0]!r}, of none of its rules (attribute `rules`; PanDA's if "
                             f"it has none){did_you_mean(nearest(unknown[0], known))}")
