"""The jobs of a calibration: PanDA records, checked against the grid of the scenario, some of them held out."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, nearest
from simgrid_broker.luck import key_of, keys
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.importers.panda import ran_at, read_panda_jobs
from simgrid_broker.schema.jobs import RecordColumns

NEEDED = (("pandaid",), ("creationtime",), ("starttime+endtime", "durationsec"), ("computingsite",), ("jobstatus",),
          ("cpuconsumptiontime",), ("work", "jeditaskid"))
"""Columns that a calibration needs, each in one of the ways."""

FINISHED, FAILED = "finished", "failed"

PAYLOAD_ERRORS = (1150, 1203, 1212, 1220, 1223, 1235, 1305, 1328, 1355)
"""Errors of the pilot that the payload causes: it loops, crashes, needs too much memory or fails of itself.

Source: the pilot's list of error codes."""


def calibration_jobs(scenario: Scenario, records: Path, columns: RecordColumns | None, held_out: float,
                     seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Table of the jobs that finished or failed, and remarks.

    In addition to the columns of `read_panda_jobs`: site, share, group (task, else share), held_out, staging_s, and
    fails: "site", "payload" or "". Raises InputFileError with all queues that the scenario does not have.
    """
    tally = Tally()
    jobs = read_panda_jobs(records, tally, None, columns, NEEDED)
    refuse_unknown(jobs, scenario, records)
    status = jobs["jobstatus"].str.lower()
    used = status.isin([FINISHED, FAILED]) & jobs["run_s"].notna()
    tally.count_all("jobs that neither finished nor failed, or never ran, which are not used", jobs["pandaid"][~used])
    jobs = jobs[used].reset_index(drop=True)
    if not len(jobs):
        raise InputFileError([Problem(str(records), None, "", None, "at least one job that finished or failed was "
                                      "expected")])
    at = ran_at(scenario.grid, jobs["computingsite"])
    ins, outs = at.staging_s(jobs)
    sites = pd.Series(list(scenario.grid.sites), dtype=object)
    jobs = jobs.assign(
        site=sites.iloc[at.site].to_numpy(), share=jobs["gshare"].replace("", "unknown"),
        group=jobs["jeditaskid"].where(jobs["jeditaskid"] != "", "share " + jobs["gshare"]),
        held_out=is_held_out(jobs["pandaid"], held_out, seed), fails=_fails(jobs, tally),
        staging_s=jobs["stage_in_s"].fillna(pd.Series(ins)) + jobs["stage_out_s"].fillna(pd.Series(outs)))
    return jobs, tally.remarks()


def is_held_out(identifiers: Sequence[str], part: float, seed: int) -> np.ndarray:
    """Mask of the jobs held out of the fit, (n,) bool, by identifier and seed alone: other jobs change nothing."""
    drawn = keys(key_of(f"/held out {seed}"), np.array([key_of(name) for name in identifiers], np.int64))
    return drawn / 2.0**63 < part


def refuse_unknown(jobs: pd.DataFrame, scenario: Scenario, records: Path) -> None:
    """Raise InputFileError with each queue of the records that the scenario does not have, at its first job."""
    queues = tuple(scenario.grid.queues)
    strange = jobs[~jobs["computingsite"].isin(queues)].groupby("computingsite", sort=False)
    problems = [Problem(str(records), int(rows["line"].iloc[0]), "computingsite", name or None,
                        f"the scenario has no such PanDA queue ({len(rows)} jobs)", nearest(str(name), queues))
                for name, rows in strange]
    if problems:
        raise InputFileError(problems)


def _fails(jobs: pd.DataFrame, tally: Tally) -> np.ndarray:
    """Cause of the failure of each job, "payload" or "site", "" for jobs that did not fail."""
    failed = (jobs["jobstatus"].str.lower() == FAILED).to_numpy()
    pilot, own = jobs["piloterrorcode"], jobs[["exeerrorcode", "transexitcode"]]
    if failed.any() and pilot.isna().all() and own.isna().all().all():
        tally.say("the records have no error codes, so all failures count as those of sites")
    of_payload = pilot.isin(PAYLOAD_ERRORS) | ((own.fillna(0) != 0).any(axis=1) & (pilot.fillna(0) == 0))
    return np.where(failed, np.where(of_payload, "payload", "site"), "")
