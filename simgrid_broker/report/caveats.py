"""Warnings that limit how far the figures of a run can be trusted, read from its manifest and tables."""

from simgrid_broker.metrics import (
    drifting,
    part_of_jobs,
    tasks_without_place,
    why,
    wide,
    window_of,
)
from simgrid_broker.metrics.chain_words import sentences
from simgrid_broker.metrics.window import once_per_run
from simgrid_broker.records import Run
from simgrid_broker.report.words import number, spoken
from simgrid_broker.units import format_seconds

MOST_NAMED = 3


def warnings_of(run: Run) -> tuple[str, ...]:
    """The shares that are short, each in a sentence, and warnings as of `cautions_of`."""
    return (*sentences(run), *cautions_of(run))


def cautions_of(run: Run) -> tuple[str, ...]:
    """Warnings that limit how far the figures of a run can be trusted."""
    warnings = list(cut_short(run))
    if 0 < (part := part_of_jobs(run)) < 1:
        warnings.append(f"{100 * part:.3g} % of the jobs have a row (record.jobs). Failures, statuses, attempts and "
                        "throughput count all jobs, hour by hour; waiting times are those of the sample, their numbers "
                        "of jobs scaled up; rebrokerage, memory retries and jobs cut from files count the sample.")
    if run.manifest["status"] == "complete":
        warnings += [*_tasks_without_place(run), *_drift(run)]
    warnings += [_command_ignored(command) for command in run.manifest.get("commands", ())
                 if command["n_done"] < command["n_tasks"] or not command["n_tasks"]]
    if cut := run.manifest.get("counters", {}).get("cut_cycles"):
        warnings.append(f"{cut} cycle{'s' if cut > 1 else ''} of the production watchdog ended half-way, as in the "
                        "production code, which stops with an error where it pauses a task with a requesttype.")
    return (*warnings, *run.remarks)


def cut_short(run: Run) -> tuple[str, ...]:
    """Sentences about a run that did not come to its end."""
    status, window = run.manifest["status"], window_of(run)
    if status == "complete":
        return ()
    of_warm_up = () if window.length_s else (
        f"The run has no data after its warm-up of {format_seconds(window.start_s)}: figures over the window are "
        "empty, and curves show the warm-up only.",)
    end, duration = format_seconds(run.end_s), format_seconds(float(run.manifest["duration_s"]))
    return ({
        "running": f"This run has not ended or was killed: figures cover what is on disk, up to {end} of {duration}. "
                   "The last jobs to end may be missing, and jobs that were still alive have no rows.",
        "interrupted": f"This run was interrupted at about {end} of {duration}.",
        "failed": f"This run failed at about {end} of {duration}; its figures may be wrong."}[status], *of_warm_up)


def _command_ignored(command: dict) -> str:
    """Command, task, time, and how many tasks ignored it for which reason."""
    reasons = ", ".join(f"{tasks} {reason}" for reason, tasks in command["ignored"].items())
    by = "" if command["n_done"] == 0 else " by some tasks"
    return (f"{spoken(command['command'])} of task {command['task']} at {format_seconds(command['at_s'])}: ignored{by}"
            + (f" ({reasons})." if reasons else "."))


@once_per_run
def _tasks_without_place(run: Run) -> list[str]:
    """A sentence on the tasks that never got a job, by stream, with the cause for which their share is short."""
    rows = wide(tasks_without_place(run))
    if not len(rows):
        return []
    groups = rows.groupby(["name", "share"]).tasks.sum().sort_values(ascending=False, kind="stable")
    causes = {each.share: each.cause for each in why(run)}
    named = [f"{name} ({number:.0f}" + (f"; {cause.link}, {cause.rule})" if (cause := causes.get(share)) else ")")
             for (name, share), number in groups.head(MOST_NAMED).items()]
    more = f" and {len(groups) - MOST_NAMED} more" if len(groups) > MOST_NAMED else ""
    number = groups.sum()
    tasks = f"{number:.0f} task{'s' if number > 1 else ''}"
    return [f"{tasks} never got a job: {', '.join(named)}{more}. `simgrid-broker why RUN` says what their shares lack, "
            "`simgrid-broker explain RUN --unplaced` shows decisions about them."]


DRIFTING = {"activated": ("activated jobs", "{}"), "running_cores": ("running cores", "{}"),
            "delivered": ("delivered power of {share}", "{} %")}
"""Series of `metrics.drift` in words, and how a value of each is written."""


@once_per_run
def _drift(run: Run) -> list[str]:
    """A sentence on the series that drift over the window; empty if there are none."""
    rows = drifting(run)
    if not len(rows):
        return []
    named = []
    for row in rows.head(MOST_NAMED).itertuples(index=False):
        what, value = DRIFTING[row.series]
        first, last = (value.format(number(float(f"{mean:.3g}"))) for mean in (row.first, row.last))
        named.append(f"{what.format(share=row.share)} from {first} to {last}")
    more = f", and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return [f"Not stationary over the window: {', '.join(named)}{more} (means of its first and last third). Figures "
            "depend on where the window lies: lengthen the warm-up, or read the curves."]
