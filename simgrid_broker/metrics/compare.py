"""Differences between two runs; whether a difference is significant takes replications."""

from collections.abc import Callable, Iterable

import pandas as pd

from simgrid_broker.metrics.attempts import attempts, failures, rebrokerage, rule_losses
from simgrid_broker.metrics.doors import door_use
from simgrid_broker.metrics.explain import with_labels
from simgrid_broker.metrics.refusals import refusals
from simgrid_broker.metrics.shares import share_compliance
from simgrid_broker.metrics.summary import summary
from simgrid_broker.metrics.tasks import task_turnaround, time_in_phase
from simgrid_broker.metrics.traffic import data_waits, link_use, staging_summary, storage_use
from simgrid_broker.metrics.usage import running_cores
from simgrid_broker.metrics.waiting import waiting_times
from simgrid_broker.metrics.window import window_of
from simgrid_broker.records import Run


def difference(base: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Row-wise difference of two tidy tables of the same figure: base, changed, difference, and relative, % of base.

    Rows are matched by dimensions, metric and unit; a row that only one table has is NaN on the other side.
    """
    keys = [name for name in base.columns if name not in ("value", "window")]
    both = base.drop(columns="window").rename(columns={"value": "base"}).merge(
        changed.drop(columns="window").rename(columns={"value": "changed"}), on=keys, how="outer", sort=False)
    order = pd.concat([base[keys], changed[keys]]).drop_duplicates()
    both = order.merge(both, on=keys, how="left")
    both["difference"] = both.changed - both.base
    both["relative"] = 100 * both.difference / both.base.abs().where(both.base != 0)
    return both


def comparison(base: Run, changed: Run, steps: Callable[[Iterable], Iterable] = iter) -> dict[str, pd.DataFrame]:
    """Tables of differences between two runs, by name; steps: wraps the iterable of tables, to show progress."""
    # shares go by name: numbers of nodes may differ between two trees
    figures: dict[str, Callable[[Run], pd.DataFrame]] = {
        "summary": summary, "shares": lambda run: share_compliance(run).drop(columns=["node", "level"]),
        "waiting": waiting_times, "sites": mean_cores, "failures": failures, "refusals": _refusals_by_rule,
        "tasks": task_turnaround, "attempts": attempts, "rules": rule_losses, "moves": rebrokerage,
        "phases": time_in_phase, "data": data_waits, "links": link_use, "doors": door_use,
        "storages": storage_use, "staging": staging_summary}
    return {name: difference(figure(base), figure(changed)) for name, figure in steps(figures.items())}


def mean_cores(run: Run) -> pd.DataFrame:
    """Mean running cores of each site in the window; dimension site."""
    window = window_of(run)
    series = running_cores(run, "site")
    inside = series[window.holds(series.time_s)]
    return inside.groupby(["site", "metric", "unit"]).value.mean().reset_index().assign(window=str(window))


def _refusals_by_rule(run: Run) -> pd.DataFrame:
    """Refusals by broker and rule, all candidates together."""
    table = with_labels(run, refusals(run))
    return table.groupby(["kind", "rule", "metric", "unit", "window"]).value.sum().reset_index()
