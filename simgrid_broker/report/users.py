"""The report section on users: who has the cores, who waits, what throttles tasks, and what is read over the WAN."""

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by, plot_or_note
from simgrid_broker.report.context import Context
from simgrid_broker.report.words import spoken

MOST = 20
"""Users in the plot and in the table."""
MOST_WAYS = 10
"""Ways of input in the table."""
COLOURS = {"hi": "#009E73", "mid": "#56B4E9", "lo": "#D55E00"}
"""Colours of the classes of queues."""


def users(view: Context) -> Section:
    """Cores and waits of users with analysis tasks; one sentence if there are none."""
    rows = wide(metrics.users(view.run))
    if not len(rows):
        return Section("users", "Users", (Note("No user has an analysis task."),))
    return Section("users", "Users", (
        _largest(view, rows),
        TableBlock("Users by size", wide(metrics.users_by_size(view.run)), "Waits from activated to running, h, of the "
                   "jobs that started in the window; waiting: jobs activated at the end."),
        _by_class(view), TableBlock("Largest users", rows.head(MOST)), _throttled(view), _site_classes(view),
        _moved(view)))


def _largest(view: Context, rows: pd.DataFrame) -> Block:
    """Cores of the largest users, and how fair the power is divided."""
    cores = metrics.user_cores(view.run)
    cores = cores[cores.user.isin(rows.user.head(MOST))]
    fair = metrics.fairness(rows.power.to_numpy(float))
    return plot_or_note(Plot(
        "users", "Cores of the largest users", cores,
        drawn_by("bars.stacked_bars", rows="user", parts="share", xlabel="mean running cores", most=MOST),
        f"The {min(MOST, len(rows))} largest of {len(rows):,} users by share. Jain's index of all users' power is "
        f"{fair['jain']:.2f} (1: all have the same); the ten largest have {100 * fair['largest_ten']:.0f} % of it.",
        (10, 1.2 + 0.25 * min(MOST, len(rows)))), "no analysis job ran in the window.", "cores")


def _by_class(view: Context) -> Block:
    """Waits by class of task."""
    table = wide(metrics.users_by_class(view.run))
    if not len(table):
        return Note("No task had a class: tasks of the shares User Analysis and Express Analysis get one.")
    return TableBlock("Jobs by class of their task", table, "The class when the job was activated: S tasks are nearly "
                      "done or express, A, B and C are those of users with few, many and most slots.")


def _throttled(view: Context) -> Block:
    """Reasons for which tasks were throttled, and for how long."""
    table = wide(metrics.throttled_time(view.run))
    if not len(table):
        return Note("No task of a user was throttled.")
    return TableBlock("Throttled tasks", table.assign(throttled_by=table.throttled_by.map(spoken)),
                      "By what throttled a task last; the time of all tasks together, h.")


def _site_classes(view: Context) -> Block:
    """Classes of queues over time."""
    return plot_or_note(Plot(
        "site_classes", "Classes of queues", view.over_time(metrics.site_class_series(view.run)),
        drawn_by("series.stacked", by="site_class", ylabel="PanDA queues", marks=view.marks, colours=COLOURS),
        "PanDA queues by how soon analysis jobs start there, as brokers know it: tests and merge jobs of users measure "
        "it. Tasks of class S and A go to hi first, those of class C to lo.", (10, 3.4)),
        "no queue was classified: neither tests nor merge jobs of users measured any.")


def _moved(view: Context) -> Block:
    """Input that jobs of users fetched from other sites."""
    table = wide(metrics.moved_input(view.run))
    if not len(table):
        return Note("No job of a user fetched input from another site.")
    return TableBlock("Input of users over the WAN", table.assign(TB=table.bytes / 1e12).drop(columns="bytes")
                      .head(MOST_WAYS), f"The {min(MOST_WAYS, len(table))} largest of {len(table):,} ways; all jobs of "
                      f"users together fetched {table.bytes.sum() / 1e12:.4g} TB for {table.jobs.sum():,.0f} jobs. The "
                      "second loop of analysis brokerage, without data locality, and queues with a part of the input "
                      "send jobs where this is needed.")
