"""Blocks of the report about a replayed trace: recorded against simulated waiting and wall times."""

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.report.blocks import Block, Note, Plot, TableBlock, drawn_by
from simgrid_broker.report.context import Context

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
                 drawn_by("replay.job_by_job"), "Each dot is a job of the trace that finished; on the line both "
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
             drawn_by("replay.errors", by=by), "Simulated less recorded, % of recorded, of jobs that ran where "
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
