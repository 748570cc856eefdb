"""PanDA job records, from JSON of the monitor or of the index, CSV or Parquet, as a recorded workload.

Each job has its own work and efficiency, without what its queue added to them: a recorded wall time is staging +
payload_overhead + work / (cores x corepower x efficiency), with the figures of the queue where the job ran; replayed
there it takes as long again, elsewhere as long as that queue's figures say. Source: formats reference, section 9.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.names import USER_PRIORITY
from simgrid_broker.scenario.importers.files import (
    UNKNOWN,
    BadLines,
    Tally,
    finite_number,
)
from simgrid_broker.scenario.importers.sheets import NOTHING, Sheet, found_columns, read_columns, read_sheet
from simgrid_broker.scenario.model import Grid
from simgrid_broker.schema.jobs import TIMES, RecordColumns
from simgrid_broker.schema.queues import UNKNOWN_COREPOWER

NEEDED = (("pandaid",), ("creationtime",), ("starttime+endtime", "durationsec", "corewalltimesec"))
"""Columns that a replay needs, each in one of the ways."""

TIMING = ("getjob", "stagein", "payload", "stageout", "setup")
"""Parts of `pilottiming`, in order; more may follow."""

STATUS_WORDS = {"finished": 1, "failed": 0, "cancelled": 5, "closed": 5}
"""Status of PanDA to that of the trace formats."""

SERIAL = re.compile(r"(?:/\.|\._|_)\d+(?:\.job)?(?:\.\d+)?$", re.ASCII)
"""End of the name of a job that numbers it among those of its task."""

LATEST_S = 1e11
"""Seconds since 1970 of the year 5138, from which a time cannot be meant in seconds."""

RAN = ("finished", "failed", "cancelled", "closed", "merging", "transferring", "holding", "")
"""Statuses of jobs whose payload is over; "" = the records do not say."""


def read_panda_jobs(path: Path, tally: Tally, limit: int | None = None, columns: RecordColumns | None = None,
                    needed: Sequence[Sequence[str]] = NEEDED) -> pd.DataFrame:
    """PanDA job records, at most `limit`: a column for each of FIELDS, NaN or "" = unknown, and what follows of them.

    submit_s, start_s: s since 1970; run_s, wait_s: wall time and time from creation to start, s; cores; corepower: HS06
    per core of the slot; stage_in_s, payload_s, stage_out_s, s; line: in the file, or number of the record. columns:
    names in the file; needed: as of `found_columns`. Remarks go to `tally`. Raises InputFileError with every field that
    cannot be read.
    """
    sheet = read_sheet(path, limit)
    found = found_columns(sheet, columns or RecordColumns(), needed, tally)
    bad = BadLines(sheet.path)
    table = read_columns(sheet, found, bad)
    timing = pd.DataFrame([_timing(sheet, row, text, bad) for row, text in enumerate(table["pilottiming"])],
                          columns=[*TIMING])
    for row in np.flatnonzero(table["pandaid"] == ""):
        bad.add(*sheet.place(int(row), "pandaid"), None, "each record needs an identifier")
    for field in TIMES:
        for row in np.flatnonzero(table[field] > LATEST_S):
            bad.add(*sheet.place(int(row), field), f"{table[field][row]:.0f}",
                    "seconds since 1970 were expected; this looks like milliseconds")
    bad.stop()
    _say_repeated(table, tally)
    return _with_times(table.assign(line=sheet.lines if sheet.lines is not None else range(1, len(table) + 1)), timing,
                       tally)


def _say_repeated(table: pd.DataFrame, tally: Tally) -> None:
    again = table["pandaid"].duplicated()
    tally.count_all("jobs with more than one record, each of which counts", table["pandaid"][again])


def _timing(sheet: Sheet, row: int, text: str, bad: BadLines) -> list[float]:
    """The parts of `pilottiming`, s, NaN = unknown."""
    if not text:
        return [np.nan] * len(TIMING)
    parts = [part.strip() for part in text.split("|")]
    numbers = [np.nan if part.lower() in NOTHING else finite_number(part) for part in parts[:len(TIMING)]]
    if len(parts) < len(TIMING) or None in numbers:
        bad.add(*sheet.place(row, "pilottiming"), text, f"{'|'.join(TIMING)}, each in seconds, was expected")
        return [np.nan] * len(TIMING)
    return [number for number in numbers if number is not None]


def _with_times(table: pd.DataFrame, timing: pd.DataFrame, tally: Tally) -> pd.DataFrame:
    """The table with what follows of its columns; times that cannot be are unknown, with a remark."""
    wait = (table["starttime"] - table["creationtime"]).fillna(table["waittimesec"])
    early = wait < 0
    tally.count_all("jobs that started before they were created: their wait is unknown", table["pandaid"][early])
    cores = table["corecount"].where(table["corecount"] >= 1, 1.0)
    of_cores = (table["corewalltimesec"] / cores).where(table["corewalltimesec"] > 0)
    run = of_cores.fillna(table["endtime"] - table["starttime"]).fillna(table["durationsec"])
    of_slot = table["hs06"].where(table["hs06"] > 0).fillna((table["hs06sec"] / run).where(table["hs06sec"] > 0))
    power, payload = of_slot / cores, timing["payload"].fillna(table["timeexe"])
    return table.assign(
        submit_s=table["creationtime"], start_s=table["creationtime"] + wait.where(~early),
        run_s=run.where(run > 0), wait_s=wait.where(~early), cores=cores,
        corepower=power.where(np.isfinite(power)), stage_in_s=timing["stagein"].fillna(table["timestagein"]),
        stage_out_s=timing["stageout"].fillna(table["timestageout"]),
        payload_s=payload.where((payload > 0) & (payload <= run)))


KB_PER_MB = 1000.0
"""maxPSS is recorded in kB."""

USER, MANAGED = "user", "managed"


class RanAt(NamedTuple):
    """Figures of the PanDA queues where jobs ran, each (n_jobs,); NaN where the scenario has no such queue.

    site: number of the site, -1 = unknown; corepower, HS06; efficiency: factor; overhead_s; latency_s, rate: of
    staging; copies: whether input is copied to the slot.
    """

    site: np.ndarray
    corepower: np.ndarray
    efficiency: np.ndarray
    overhead_s: np.ndarray
    latency_s: np.ndarray
    rate: np.ndarray
    copies: np.ndarray

    def factor(self) -> np.ndarray:
        """Factor of CPU efficiency of each queue, 1 where it is unknown, (n_jobs,)."""
        return np.where(np.isnan(self.efficiency), 1.0, self.efficiency)

    def staging_s(self, jobs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Time to copy input and output of each job as a run does, s; unknown sizes count as none."""
        ins, outs = (jobs[name].fillna(0).to_numpy() for name in ("inputfilebytes", "outputfilebytes"))
        return (np.where((ins > 0) & (self.copies > 0), self.latency_s + ins / self.rate, 0.0),
                np.where(outs > 0, self.latency_s + outs / self.rate, 0.0))


def ran_at(grid: Grid, names: pd.Series) -> RanAt:
    """Figures of the PanDA queues with these names."""
    known: Mapping[str, tuple[float, ...]] = {name: _figures(grid, name) for name in set(names) & grid.queues.keys()}
    unknown = (-1.0, *[np.nan] * 6)
    table = np.array([known.get(name, unknown) for name in names], float).reshape(-1, 7)
    return RanAt(table[:, 0].astype(int), *table.T[1:])


def _figures(grid: Grid, name: str) -> tuple[float, ...]:
    queue = grid.queues[name]
    site = grid.sites[queue.atlas_site]
    return (list(grid.sites).index(queue.atlas_site), queue.corepower or UNKNOWN_COREPOWER, queue.cpu_efficiency,
            queue.payload_overhead, site.stage_latency, site.stage_in_rate, float(not queue.direct_io))


def read_panda_records(path: Path, tally: Tally, limit: int | None, columns: RecordColumns | None, grid: Grid,
                       corepower: float, work: Literal["recorded", "task"]) -> pd.DataFrame:
    """Records of a file of PanDA jobs in the columns of `traces.RECORD`; see `read_panda_jobs`.

    grid: where they ran; corepower: HS06 per core of queues that neither the record nor the grid knows; work: as of the
    scenario's `trace`.
    """
    jobs = read_panda_jobs(path, tally, limit, columns)
    jobs = jobs.assign(run_s=jobs["run_s"].where(_has_ended(jobs, tally)))
    at = ran_at(grid, jobs["computingsite"])
    power = _power(jobs, at, corepower, tally)
    payload_s = payload_of(jobs, at, tally)
    own = own_efficiency(jobs, payload_s, at, tally).fillna(1.0)
    found = pd.DataFrame({
        "job": jobs["pandaid"], "submit_s": jobs["submit_s"].fillna(UNKNOWN), "run_s": jobs["run_s"].fillna(UNKNOWN),
        "wait_s": jobs["wait_s"].fillna(UNKNOWN), "processors": jobs["cores"], "payload_s": payload_s,
        "cpu_efficiency": own, "corepower": power, "cputime_s": jobs["cpuconsumptiontime"],
        "work_hs06s": work_of(jobs, payload_s * own * power, at), **_claims(jobs), **_names(jobs), "site": at.site,
        "input_bytes": jobs["inputfilebytes"].fillna(0), "output_bytes": jobs["outputfilebytes"].fillna(0),
        "n_input_files": jobs["ninputdatafiles"].fillna(0)})
    return without_names(of_tasks(found, jobs["nevents"], tally) if work == "task" else found)


def payload_of(jobs: pd.DataFrame, at: RanAt, tally: Tally) -> pd.Series:
    """Wall time of each payload, s: as the pilot timed it, else the job's less staging and overhead of its queue."""
    n_timed = int(jobs["payload_s"].notna().sum())
    if n_timed < len(jobs):
        tally.say("jobs without a time of the payload in pilottiming, which is their wall time less staging and "
                  f"payload_overhead of the queue where they ran: {len(jobs) - n_timed}")
    rest = jobs["run_s"] - np.nan_to_num(sum(at.staging_s(jobs)) + at.overhead_s)
    return jobs["payload_s"].fillna(rest.where(rest > 0, jobs["run_s"])).fillna(UNKNOWN)


def own_efficiency(jobs: pd.DataFrame, payload_s: pd.Series, at: RanAt, tally: Tally) -> pd.Series:
    """CPU efficiency of each payload without the factor of its queue, NaN = unknown."""
    measured = jobs["cpuconsumptiontime"] / (payload_s * jobs["cores"]) / at.factor()
    known = measured.where((measured > 0) & (payload_s > 0))
    tally.count_all("jobs with more CPU time than their cores had, whose CPU efficiency counts as 1",
                    jobs["pandaid"][known > 1])
    tally.count_all("jobs without recorded CPU time, whose CPU efficiency counts as 1", jobs["pandaid"][known.isna()])
    return known.clip(upper=1.0)


def work_of(jobs: pd.DataFrame, of_a_core: pd.Series, at: RanAt) -> pd.Series:
    """CPU work of each job, HS06 s: as recorded, else what its payload did; of_a_core: at a queue without a factor.

    A job that did not finish has done no more than its payload did.
    """
    known = (jobs["work"] > 0) & ~_stopped(jobs["jobstatus"].str.lower().map(STATUS_WORDS))
    return jobs["work"].where(known).fillna(of_a_core * jobs["cores"] * at.factor())


def of_tasks(records: pd.DataFrame, n_events: pd.Series, tally: Tally) -> pd.DataFrame:
    """The records with the work and efficiency of their tasks: medians of its jobs, per event where all have events.

    Jobs without a task, and those that failed or were cancelled, keep their own, and do not count for the medians.
    """
    events, whole = n_events.where(n_events > 0), ~_stopped(records["status"])
    per_event = events.notna().groupby(records["task"]).transform("all")
    size = events.where(per_event, 1.0)
    rate = (records["work_hs06s"] / size).where(whole).groupby(records["task"]).transform("median")
    has_task = (records["task"] != "") & whole & rate.notna()
    tally.count_all("jobs without a task, or that did not finish, keep their own work", records["job"][~has_task])
    typical = records["cpu_efficiency"].where(whole).groupby(records["task"]).transform("median")
    return records.assign(work_hs06s=(rate * size).where(has_task, records["work_hs06s"]),
                          cpu_efficiency=typical.where(has_task, records["cpu_efficiency"]))


def _stopped(status: pd.Series) -> pd.Series:
    """True where a job ended without finishing."""
    return status.isin([STATUS_WORDS["failed"], STATUS_WORDS["cancelled"]])


def _has_ended(jobs: pd.DataFrame, tally: Tally) -> pd.Series:
    ended = jobs["jobstatus"].str.lower().isin(RAN)
    tally.count_all("records left out because the job had not ended", jobs["pandaid"][~ended])
    return ended


def _power(jobs: pd.DataFrame, at: RanAt, corepower: float, tally: Tally) -> np.ndarray:
    """HS06 per core where each job ran: as recorded, else as the grid says, else `corepower`."""
    power = jobs["corepower"].fillna(pd.Series(at.corepower, jobs.index))
    tally.count_all(f"jobs at queues that neither hs06 nor the grid gives a power: {corepower:g} HS06 per core",
                    (name or "unknown" for name in jobs["computingsite"][power.isna()]))
    return power.fillna(corepower).to_numpy()


def _claims(jobs: pd.DataFrame) -> dict[str, pd.Series]:
    """Memory and priority that each job asked for."""
    used, asked = jobs["maxpss"] / KB_PER_MB / jobs["cores"], jobs["minramcount"] / jobs["cores"]
    return {"used_mb": used.where(used > 0, UNKNOWN), "requested_mb": asked.where(asked > 0, UNKNOWN),
            "priority": jobs["assignedpriority"].fillna(jobs["currentpriority"]).fillna(float(USER_PRIORITY))}


def _names(jobs: pd.DataFrame) -> dict[str, pd.Series]:
    """To whom and to what each job belongs."""
    label = jobs["prodsourcelabel"].where(jobs["prodsourcelabel"] != "", np.where(
        jobs["jobname"].str.startswith(f"{USER}."), USER, MANAGED))
    program = jobs["jobname"].str.replace(SERIAL, "", regex=True)
    return {"status": jobs["jobstatus"].str.lower().map(STATUS_WORDS).fillna(UNKNOWN), "user": jobs["produsername"],
            "group": jobs["workinggroup"], "executable": program.where(program != "", jobs["transformation"]),
            "label": label, "partition": jobs["computingsite"], "gshare": jobs["gshare"], "task": jobs["jeditaskid"],
            "processing_type": jobs["processingtype"].replace("", "trace")}


def without_names(records: pd.DataFrame) -> pd.DataFrame:
    """The records with numbers in place of user names; the user may be unknown."""
    codes, values = pd.factorize(records["user"])
    unknown = [code for code, name in enumerate(values) if not name]
    return records.assign(user=[("" if code in unknown else str(code + 1)) for code in codes])
