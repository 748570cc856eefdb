"""Sections on the life of tasks and jobs: progress, attempts, what timeouts and rebrokerage did.

What lives here: what is shown and how it is to be read. What does not: figures (metrics), drawing (`gantt`, `bars`,
`maps`).
"""

from functools import partial

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.bars import cause_bars, stacked_bars
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, plot_or_note
from simgrid_broker.report.context import Context
from simgrid_broker.report.gantt import gantt
from simgrid_broker.report.maps import heat_map
from simgrid_broker.report.words import spoken

MOST_ROWS = 20
"""Rows of a table, and queues of a picture."""
COSTS = (("jobs", "jobs"), ("lost_core_hours", "lost core-hours"), ("lost_wait_hours", "hours waited in vain"))
"""What a timeout rule costs, with labels of axes."""


def progress(view: Context) -> Section:
    """Tasks by phase, time in each status, turnaround and status at the end."""
    run = view.run
    turnaround, by_status = metrics.task_turnaround(run), metrics.tasks_by_status(run)
    if not len(turnaround):
        return Section("tasks", "Tasks", (Note("No task is on record."),))
    phases, total = metrics.task_phases(run), int(by_status.value.sum())
    n_shown = phases.jeditaskid.nunique()
    choice = (f" {n_shown} of {total:,} tasks: those with a name of their own, then the largest by work."
              if n_shown < total else " All tasks of the run.")
    return Section("tasks", "Tasks", (
        plot_or_note(Plot(
            "task_phases", "Phases of tasks", phases, partial(gantt, end_s=run.end_s, marks=view.marks),
            "A row is a task in the order of arrival, a colour its phase, a mark its end. A task keeps when it "
            "last entered each status: an earlier stay counts for the phase before." + choice,
            (10, 1.3 + 0.19 * max(n_shown, 5))),
            "no task has entered any status."),
        TableBlock("Time in each phase", wide(metrics.time_in_phase(run)),
                   "Of all tasks, within the window, up to its end. A phase is all statuses between which a task goes "
                   "back and forth, as a task keeps only when it last entered each."),
        TableBlock("Turnaround by campaign", wide(turnaround), "From arrival to the end of tasks that ended in the "
                   "window; tasks that were still open at the end are counted beside them."),
        TableBlock("Tasks by status at the end", wide(by_status)), *_cut_jobs(view),
        *_first_jobs(view)))


def _first_jobs(view: Context) -> tuple[Block, ...]:
    """How long tasks of work queues wait for their first job, if there are any."""
    table = metrics.first_jobs(view.run)
    if not len(table):
        return ()
    return (TableBlock("Work queues: time to the first job", wide(table), "From the arrival of a task to the start of "
                       "its first job, by work queue, stream of work and hour of arrival. Where tasks of several "
                       "users take turns (GROUPBYATTR), small tasks wait less behind large ones."),)


def _cut_jobs(view: Context) -> list[Block]:
    """Jobs that were cut from files, by the limit that ended them; nothing if there are none."""
    cut = metrics.cut_jobs(view.run)
    return [TableBlock("Jobs cut from files", wide(cut).head(MOST_ROWS), "Jobs made in the window, by the limit at "
                       "which they got no further file; files, events and input of a job in the mean.")
            ] if len(cut) else []


def attempts(view: Context) -> Section:
    """Attempts by number and outcome, what each timeout rule cost, and moves from queue to queue."""
    table = metrics.attempts(view.run)
    shown = table.assign(attempt="attempt " + table.attempt.astype(str), outcome=table.outcome.map(spoken))
    broken = metrics.rule_losses(view.run)
    blocks: list[Block] = [plot_or_note(Plot(
        "attempts", "Attempts by number and outcome", shown,
        partial(stacked_bars, rows="attempt", parts="outcome", xlabel="attempts that ended in the window"),
        "Which attempt at its input a job was, and how it ended: finished, or the cause why not.",
        (10, 1.1 + 0.28 * min(15, max(shown.attempt.nunique(), 3)))), "no attempt ended in the window.")]
    n_rows = max(broken.groupby(["status", "cause"]).ngroups, 3)
    blocks.append(plot_or_note(Plot(
        "timeouts", "Timeout rules and rebrokerage", broken, partial(cause_bars, metrics=COSTS),
        "Jobs that each rule ended (failed: counts as a failure; closed: the input is brokered again), core-hours for "
        "which they had run, and hours from their creation until they ran, or were ended.",
        (10, 0.9 + 0.28 * n_rows), (1, len(COSTS))), "no rule ended a job in the window."))
    return Section("attempts", "Attempts, timeouts and rebrokerage", (*blocks, *_moves(view)))


def _moves(view: Context) -> list[Block]:
    """From which queue to which the input of jobs went that were taken back."""
    moves = metrics.rebrokerage(view.run)
    totals = moves.groupby(["source", "destination", "metric", "unit", "window"], sort=False,
                           observed=True).value.sum().reset_index()
    largest = [totals.groupby(side).value.sum().sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
               for side in ("source", "destination")]
    drawn = totals[totals.source.isin(largest[0]) & totals.destination.isin(largest[1])]
    blocks: list[Block] = [plot_or_note(Plot(
        "rebrokerage", "Moves from queue to queue", drawn,
        partial(heat_map, rows="source", columns="destination", order=list(largest[1]),
                label="jobs taken back by the queue that they left (rows) and the queue of the next attempt (columns)"),
        "Where the input of jobs that the server closed went with its next attempt; a row adds up to the jobs that the "
        f"queue lost. At most {MOST_ROWS} queues each way.",
        (10, 1.8 + 0.27 * max(drawn.source.nunique(), 2))), "no job was taken back in the window.")]
    if len(moves):
        rows = wide(moves).head(MOST_ROWS)
        blocks.append(TableBlock("Moves by cause", rows.assign(cause=rows.cause.map(spoken)),
                                 f"The {MOST_ROWS} most frequent." if moves.shape[0] > MOST_ROWS else ""))
    return blocks
