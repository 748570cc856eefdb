"""Report sections on the lifecycle of tasks and jobs, on users, and on recorded against simulated times of a trace."""

import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Block, Note, Plot, Section, TableBlock, drawn_by, plot_or_note, table_or_note
from simgrid_broker.report.context import Context
from simgrid_broker.report.words import spoken

MOST_ROWS = 20
"""Maximum number of rows of a table and of queues in a plot."""
COSTS = (("jobs", "jobs"), ("lost_core_hours", "lost core-hours"), ("lost_wait_hours", "lost wait (h)"))
"""Metrics of the cost of a timeout rule, with axis labels."""


def progress(view: Context) -> Section:
    """Tasks by phase, time in each phase, turnaround and status at the end."""
    run = view.run
    turnaround, by_status = metrics.task_turnaround(run), metrics.tasks_by_status(run)
    if not len(turnaround):
        return Section("tasks", "Tasks", (Note("No task was recorded."),))
    phases, total = _on_the_axis(view, metrics.task_phases(run)), int(by_status.value.sum())
    n_shown = phases.jeditaskid.nunique()
    choice = (f" {n_shown} of {total:,} tasks: those with a unique name, then the largest by work."
              if n_shown < total else " All tasks of the run.")
    return Section("tasks", "Tasks", (
        plot_or_note(Plot(
            "task_phases", "Phases of tasks", phases, drawn_by("series.gantt", end_s=run.end_s, marks=view.marks),
            "Rows: tasks in order of arrival; colours: phases; marks: ends. Only the last entry into each status is "
            "recorded, so an earlier stay counts towards the preceding phase." + choice,
            (10, 1.3 + 0.19 * max(n_shown, 5))),
            "no task entered any status."),
        TableBlock("Time in each phase", wide(metrics.time_in_phase(run)),
                   "All tasks, within the window. A phase groups the statuses between which a task moves back and "
                   "forth, because only the last entry into each status is recorded."),
        TableBlock("Turnaround by campaign", wide(turnaround), "From arrival to end, for tasks that ended in the "
                   "window; tasks still open at its end are counted separately."),
        TableBlock("Tasks by status at the end", wide(by_status)), *_cut_jobs(view),
        *_first_jobs(view)))


def _on_the_axis(view: Context, phases: pd.DataFrame) -> pd.DataFrame:
    """The rows of the tasks that had not ended where the time axes begin."""
    return phases[phases.groupby("jeditaskid").value.transform("max") >= view.marks.start_s]


def _first_jobs(view: Context) -> tuple[Block, ...]:
    """Waiting times of tasks of work queues for their first job; empty without work queues."""
    table = metrics.first_jobs(view.run)
    if not len(table):
        return ()
    return (TableBlock("Work queues: time to the first job", wide(table), "From the arrival of a task to the start of "
                       "its first job, by work queue, task stream and hour of arrival. Where the tasks of several "
                       "users take turns (GROUPBYATTR), small tasks wait less behind large ones."),)


def _cut_jobs(view: Context) -> list[Block]:
    """Jobs cut from files, by the limit that closed them; empty if there are none."""
    cut = metrics.cut_jobs(view.run)
    return [TableBlock("Jobs cut from files", wide(cut).head(MOST_ROWS), "Jobs generated in the window, by the limit "
                       "that closed them; files, events and input are means per job.")
            ] if len(cut) else []


def attempts(view: Context) -> Section:
    """Attempts by number and outcome, the cost of each timeout rule, and moves from queue to queue."""
    table = metrics.attempts(view.run)
    shown = table.assign(attempt="attempt " + table.attempt.astype(str), outcome=table.outcome.map(spoken))
    losses = metrics.rule_losses(view.run)
    blocks: list[Block] = [plot_or_note(Plot(
        "attempts", "Attempts by number and outcome", shown,
        drawn_by("bars.stacked_bars", rows="attempt", parts="outcome", xlabel="attempts that ended in the window"),
        "Attempt number of each job at its input, and its outcome: finished, or the cause of its end.",
        (10, 1.1 + 0.28 * min(15, max(shown.attempt.nunique(), 3)))), "no attempt ended in the window.")]
    n_rows = max(losses.groupby(["status", "cause"]).ngroups, 3)
    blocks.append(plot_or_note(Plot(
        "timeouts", "Timeout rules and rebrokerage", losses, drawn_by("bars.cause_bars", metrics=COSTS),
        "Jobs ended by each rule (failed: counts as a failure; closed: the input is brokered again), core-hours that "
        "they had used, and hours from their creation until they started to run or were ended.",
        (10, 0.9 + 0.28 * n_rows), (1, len(COSTS))), "no rule ended a job in the window."))
    return Section("attempts", "Attempts, timeouts and rebrokerage", (*blocks, *_moves(view), *_event_service(view)))


def _event_service(view: Context) -> list[Block]:
    """Jobs of event service by their ends, and the wall time kept where slots are taken away, if there is either."""
    ends, kept = metrics.event_service_ends(view.run), metrics.kept_where_slots_end(view.run)
    blocks: list[Block] = []
    if len(ends):
        blocks.append(TableBlock(
            "Event service", ends.assign(kind=ends.kind.map(spoken)), "Jobs that ended in the run, with the event "
            "ranges that they processed, their events, the ranges that they gave back unfinished, and their wall time, "
            "of which that of the events that they processed."))
    if len(kept):
        blocks.append(TableBlock(
            "Wall time kept where slots are taken away", kept, "Ordinary jobs keep the wall time of those that "
            "finished, jobs of event service that of the events that they processed; kept: % of the wall time of "
            "jobs that started and have ended."))
    return blocks


def _moves(view: Context) -> list[Block]:
    moves = metrics.rebrokerage(view.run)
    totals = moves.groupby(["source", "destination", "metric", "unit", "window"], sort=False,
                           observed=True).value.sum().reset_index()
    largest = [totals.groupby(side).value.sum().sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
               for side in ("source", "destination")]
    drawn = totals[totals.source.isin(largest[0]) & totals.destination.isin(largest[1])]
    blocks: list[Block] = [plot_or_note(Plot(
        "rebrokerage", "Moves from queue to queue", drawn,
        drawn_by("bars.heat_map", rows="source", columns="destination", order=list(largest[1]),
                label="withdrawn jobs: queue that they left (rows), queue of the next attempt (columns)"),
        "Queue of the next attempt at the input of jobs that the server closed; each row sums to the jobs withdrawn "
        f"from that queue. At most {MOST_ROWS} queues each way.",
        (10, 1.8 + 0.27 * max(drawn.source.nunique(), 2))), "no job was withdrawn in the window.")]
    if len(moves):
        rows = wide(moves).head(MOST_ROWS)
        blocks.append(TableBlock("Moves by cause", rows.assign(cause=rows.cause.map(spoken)),
                                 f"The {MOST_ROWS} most frequent." if moves.shape[0] > MOST_ROWS else ""))
    return blocks


OF_USERS = {"waiting": "Jobs waiting"}
"""Labels of columns that other tables use for something else."""
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
        TableBlock("Users by size", wide(metrics.users_by_size(view.run)).rename(columns=OF_USERS),
                   "Waits from activated to running, h, of the jobs that started in the window; waiting: jobs "
                   "activated at the end."),
        _by_class(view), TableBlock("Largest users", rows.head(MOST).rename(columns=OF_USERS),
                                   anchor="user"), _throttled(view),
        _site_classes(view), _moved(view)))


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
    return table_or_note(TableBlock(
        "Jobs by class of their task", wide(metrics.users_by_class(view.run)).rename(columns=OF_USERS),
        "The class when the job was activated: S tasks are nearly done or express, A, B and C are those of users with "
        "few, many and most slots."), "No task had a class: tasks of the shares User Analysis and Express Analysis get "
        "one.")


def _throttled(view: Context) -> Block:
    """Reasons for which tasks were throttled, and for how long."""
    table = wide(metrics.throttled_time(view.run))
    return table_or_note(TableBlock("Throttled tasks", table.assign(throttled_by=table.throttled_by.map(spoken)), "By "
                                    "what throttled a task last; the time of all tasks together, h."),
                         "No task of a user was throttled.")


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
    return table_or_note(TableBlock(
        "Input of users over the WAN", table.assign(TB=table.bytes / 1e12).drop(columns="bytes").head(MOST_WAYS),
        f"The {min(MOST_WAYS, len(table))} largest of {len(table):,} ways; all jobs of users together fetched "
        f"{table.bytes.sum() / 1e12:.4g} TB for {table.jobs.sum():,.0f} jobs. The second loop of analysis brokerage, "
        "without data locality, and queues with a part of the input send jobs where this is needed."),
        "No job of a user fetched input from another site.")


MOST_GROUPS = 15

SUBMITTED_TO_START = "time from submission to start"

MOST_JOBS = 5000

AS_RECORDED = (" The work of a job is what it did where it was recorded, unless its record or `work: task` says "
               "otherwise, so a job that runs there again takes as long again.")

OF_WALLTIMES = {"partition": "queue or partition", "share": "share"}
"""Dimension of the wall times and its word."""

GROUPS = {"partition": "partition", "batch_queue": "queue"}
"""Dimension of a comparison and its word."""


def replay(view: Context) -> list[Block]:
    """Recorded against simulated waits by partition and queue, and recorded ends; nothing for runs without a trace."""
    if not len(view.run.table("trace", ["jeditaskid"])):
        return []
    blocks: list[Block] = [TableBlock("Waiting time of recorded jobs from their submission", wide(
        metrics.submission_waits(view.run)), "From submission to start, for jobs that started in the window: with the "
        "time before a job is made, has found a queue and is activated. Not started: jobs submitted until the end of "
        "the run that did not start.")]
    compared = [block for by in GROUPS for block in _waits(view, by)]
    if not compared:
        compared = [Note("The trace records no waiting times, so there is nothing to compare with the simulated ones.")]
    ends = wide(metrics.recorded_statuses(view.run))
    ends["recorded"] = ends.recorded.replace("", "unknown")
    walltimes = [block for by in OF_WALLTIMES for block in _walltimes(view, by)]
    return [*blocks, *compared, *_one_by_one(view), *walltimes, TableBlock(
        "Recorded ends of the jobs of the trace", ends,
        "Whatever their recorded end, jobs are replayed for their whole run time and finish.")]


def _one_by_one(view: Context) -> list[Block]:
    """Simulated over recorded wall time, job by job."""
    jobs = metrics.replayed_walltimes(view.run)
    if not len(jobs):
        return [Note("No job of the trace has finished, so there are no wall times to compare.")]
    return [Plot("recorded_walltimes", "Recorded and simulated wall time of each job", jobs.head(MOST_JOBS),
                 drawn_by("data.job_by_job"), "Each dot is a job of the trace that finished; on the line both "
                 "are the same." + (f" The first {MOST_JOBS:,} of {len(jobs):,} jobs." if len(jobs) > MOST_JOBS else "")
                 + AS_RECORDED, (6.4, 5.2))]


def _walltimes(view: Context, by: str) -> list[Block]:
    """Errors of the wall times by one dimension; nothing if there is only one group."""
    table = metrics.recorded_walltimes(view.run, by)
    names = list(dict.fromkeys(table[by]))
    if len(names) < 2 or (by == "share" and len(names) == 2):
        return []
    shown, word = table[table[by].isin(names[:1 + MOST_GROUPS])], OF_WALLTIMES[by]
    more = f" The {MOST_GROUPS} largest of {len(names) - 1}." if len(names) > 1 + MOST_GROUPS else ""
    return [
        Plot(f"walltime_errors_{by}", f"Error of the simulated wall times by {word}", shown,
             drawn_by("data.errors", by=by), "Simulated less recorded, % of recorded, of jobs that ran where "
             f"their record says and of those that ran elsewhere: line 5 to 95 %, box 25 to 75 %, mark median.{more}",
             (10, 1.4 + 0.4 * shown[by].nunique())),
        TableBlock(f"Recorded and simulated wall times by {word}", wide(shown), "Error: simulated less recorded, % of "
                   f"recorded; off: median of its size.{more}{AS_RECORDED}")]


def _waits(view: Context, by: str) -> list[Block]:
    """Plot and table by one dimension; nothing if no wait or, beyond all jobs, no name of it was recorded."""
    table = metrics.recorded_waits(view.run, by)
    names = list(dict.fromkeys(table[by]))
    if not names or (by == "batch_queue" and len(names) == 1):
        return []
    shown = table[table[by].isin(names[:1 + MOST_GROUPS])]
    word = GROUPS[by]
    more = f" The {MOST_GROUPS} largest of {len(names) - 1}." if len(names) > 1 + MOST_GROUPS else ""
    reading = ("From submission to start, for the same jobs: those with a recorded wait that started in the simulation."
               + more)
    return [
        Plot(f"recorded_waits_{by}", f"Recorded and simulated waiting time by {word}",
             shown.rename(columns={"source": "run"}), drawn_by("bars.waiting_pair", by=by, xlabel=SUBMITTED_TO_START),
             f"Line 5 to 95 %, box 25 to 75 %, mark median. {reading}", (10, 1.4 + 0.4 * shown[by].nunique())),
        TableBlock(f"Recorded and simulated waiting time by {word}: figures", wide(shown),
                   f"{reading} Not started: jobs with a recorded wait that did not start before the end of the run.")]
