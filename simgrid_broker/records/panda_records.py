"""Jobs of a run as PanDA job records, in the columns that `calibrate` and a recorded workload read."""

from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.errors import OutputError
from simgrid_broker.files import write_csv, write_whole
from simgrid_broker.names import PANDA_ERRORS
from simgrid_broker.records.reader import Run

EPOCH_S = 1_767_225_600
"""Begin of a run in its records, s since 1970: 1 January 2026, UTC."""
MISSING = {
    "attempts that never ran": "they have no start, so their wait is not known and no fit uses them",
    "jobs alive at the end": "they have not ended: a replay and a fit leave them out",
    "transformation": "programs have no names in a run; jobs are told apart by task and type",
    "hs06sec": "hs06 x wall time has it"}
"""Values that a run cannot give its records, with what that costs."""

CUT_AT_START = ("work of the jobs under way when a filled run begins: they last a part of their time and do less than "
                "`work` says, so powers come out too large; calibrate by a run with start: empty")


def panda_records(run: Run) -> pd.DataFrame:
    """A record for each attempt of a job: PanDA's names of columns; times in s since 1970, NaN = unknown.

    `work` is the true CPU work, HS06 s, which real records do not have.
    """
    jobs = run.table("jobs")
    of_task = run.table("tasks", ["jeditaskid", "name", "label", "working_group"]).astype(
        dict.fromkeys(("name", "label", "working_group"), object)).drop_duplicates("jeditaskid").set_index(
        "jeditaskid").reindex(jobs.jeditaskid)
    ended = jobs.running_s.notna() & jobs.status.isin(["finished", "failed", "holding", "transferring", "merging"])
    wall = jobs.walltime_s.astype(float).where(ended & (jobs.walltime_s > 0))
    around = jobs.queue.astype(object).map({name: queue["payload_overhead"] for name, queue in run.manifest["scenario"][
        "grid"]["queues"].items()})
    payload = (wall - jobs.stage_in_s - jobs.stage_out_s - around).where(jobs.status == "finished")
    codes = {cause.word: error.code for cause, error in PANDA_ERRORS.items() if error.source == "pilotErrorCode"}
    return pd.DataFrame({
        "pandaid": jobs.panda_id, "jeditaskid": jobs.jeditaskid, "creationtime": EPOCH_S + jobs[
            ["pending_s", "defined_s"]].min(axis=1), "starttime": EPOCH_S + jobs.running_s,
        "endtime": EPOCH_S + jobs.running_s + wall, "jobstatus": jobs.status.astype(object),
        "computingsite": jobs.queue.astype(object), "corecount": jobs.corecount,
        "cpuconsumptiontime": jobs.cputime_s.astype(float).where(wall.notna()), "hs06": jobs.hs06_milli / 1000,
        "work": jobs.work_hs06s, "nevents": jobs.n_events, "gshare": jobs.share.astype(object),
        "prodsourcelabel": of_task.label.to_numpy(), "processingtype": jobs.processing_type.astype(object),
        "workinggroup": of_task.working_group.to_numpy(), "produsername": jobs.user.astype(object),
        "jobname": [f"{name}._{chunk + 1:06d}.{attempt}" for name, chunk, attempt in zip(
            of_task.name, jobs.chunk, jobs.attempt, strict=True)],
        "currentpriority": jobs.priority, "minramcount": jobs.ramcount_mb, "maxpss": 1000.0 * jobs.maxpss_mb,
        "inputfilebytes": jobs.input_bytes, "ninputdatafiles": jobs.n_input_files, "outputfilebytes": jobs.output_bytes,
        "pilottiming": [f"0|{ins:.3f}|{inner:.3f}|{outs:.3f}|0" if np.isfinite(inner) else "" for ins, inner, outs in
                        zip(jobs.stage_in_s, payload, jobs.stage_out_s, strict=True)],
        "piloterrorcode": jobs.cause.astype(object).map(codes).where(jobs.status == "failed", 0).fillna(0).astype(int),
        "exeerrorcode": 0, "transexitcode": 0})


def write_panda_records(run: Run, path: Path) -> pd.DataFrame:
    """Write the records of a run as CSV or Parquet, by the suffix; returns them. Raises OutputError."""
    if Path(path).suffix not in (".csv", ".parquet"):
        raise OutputError(f"cannot write records to {path}: expected a name that ends with .csv or .parquet")
    records = panda_records(run)
    if Path(path).suffix == ".parquet":
        write_whole(path, records.to_parquet(index=False))
    else:
        write_csv(path, records)
    return records


def missing_in(records: pd.DataFrame) -> list[str]:
    """A sentence for each kind of value that the records of a run lack, with what that costs."""
    counts = {"attempts that never ran": int(records.starttime.isna().sum()), "jobs alive at the end": int(
        (~records.jobstatus.isin(["finished", "failed", "closed", "cancelled"])).sum())}
    return [f"{counts[name]} {name}: {cost}" if name in counts else f"no {name}: {cost}"
            for name, cost in MISSING.items() if counts.get(name, 1)]
