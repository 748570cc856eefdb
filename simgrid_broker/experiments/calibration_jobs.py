"""PanDA job records as a calibration reads them: who shares work, what is held out, and who made a job fail."""

from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, nearest
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.importers.panda import SERIAL, ran_at, read_panda_jobs
from simgrid_broker.schema.jobs import RecordColumns

NEEDED = (("pandaid",), ("starttime+endtime", "durationsec", "corewalltimesec"), ("computingsite",),
          ("cpuconsumptiontime",))
"""Columns that a calibration needs, each in one of the ways."""

FINISHED, FAILED = "finished", "failed"

PAYLOAD_ERRORS = (1150, 1203, 1212, 1220, 1223, 1235, 1305, 1328, 1355)
"""Errors of the pilot that the payload causes: it loops, crashes, needs too much memory or fails of itself.

Source: the pilot's list of error codes."""


def calibration_jobs(scenario: Scenario, records: Path, columns: RecordColumns | None,
                     held_out: float) -> tuple[pd.DataFrame, list[str]]:
    """Table of the jobs that finished or failed at queues of the scenario, and remarks.

    In addition to the columns of `read_panda_jobs`: site, share, task (that of JEDI, else the share), group (jobs of a
    task with the same processing type, cores and events), held_out, staging_s, and fails: "site", "payload" or "".
    Raises InputFileError if no job can be used.
    """
    tally = Tally()
    jobs = _usable(read_panda_jobs(records, tally, None, columns, NEEDED), scenario, records, tally)
    at = ran_at(scenario.grid, jobs["computingsite"])
    ins, outs = at.staging_s(jobs)
    sites = pd.Series(list(scenario.grid.sites), dtype=object)
    share = jobs["gshare"].replace("", "unknown")
    program = jobs["jobname"].str.replace(SERIAL, "", regex=True)
    task = jobs["jeditaskid"].where(jobs["jeditaskid"] != "", program.where(program != "", "share " + share))
    tally.count_all("jobs without jeditaskid, whose task is their name without its number, else their share: works are "
                    "compared within these, so different work under one name widens the fit",
                    jobs["pandaid"][jobs["jeditaskid"] == ""])
    jobs = jobs.assign(
        site=sites.iloc[at.site].to_numpy(), share=share, task=task, fails=_fails(jobs, tally),
        group=task.str.cat([jobs[name].astype(str) for name in ("processingtype", "cores", "nevents")], "/", "?"),
        staging_s=jobs["stage_in_s"].fillna(pd.Series(ins)) + jobs["stage_out_s"].fillna(pd.Series(outs)))
    return jobs.assign(held_out=is_held_out(jobs, held_out, tally)), tally.remarks()


def _usable(jobs: pd.DataFrame, scenario: Scenario, records: Path, tally: Tally) -> pd.DataFrame:
    """The jobs that ran to an end at a queue that the scenario has; what is left out or assumed goes to `tally`."""
    status = jobs["jobstatus"].str.lower()
    if (status == "").all():
        tally.say("the records do not say how the jobs ended: all count as finished")
        status = status.replace("", FINISHED)
    used = status.isin([FINISHED, FAILED]) & jobs["run_s"].notna()
    tally.count_all("jobs that neither finished nor failed, or never ran, which are not used", jobs["pandaid"][~used])
    queues = list(scenario.grid.queues)
    numbered = jobs["computingsite"].str.fullmatch(r"[0-9]{1,5}").fillna(False) & ~jobs["computingsite"].isin(queues)
    jobs = jobs.assign(computingsite=[                                     # CGSim counts them from 0
        queues[int(name)] if by_number and int(name) < len(queues) else name
        for name, by_number in zip(jobs["computingsite"], numbered, strict=True)])
    is_known = jobs["computingsite"].isin(queues)
    strange = jobs["computingsite"][used & ~is_known]
    tally.count_all("jobs at PanDA queues that the scenario does not have, which are not used", strange)
    jobs = jobs.assign(jobstatus=status)[used & is_known].reset_index(drop=True)
    if not len(jobs):
        queues = list(dict.fromkeys(strange))
        near = [name for queue in queues[:3] for name in nearest(queue, tuple(scenario.grid.queues))]
        raise InputFileError([Problem(
            str(records), None, "computingsite", ", ".join(queues[:3]) or None, "at least one job that finished or "
            "failed at a PanDA queue of the scenario was expected", tuple(dict.fromkeys(near)))])
    return jobs


def is_held_out(jobs: pd.DataFrame, part: float, tally: Tally) -> np.ndarray:
    """Mask of the last `part` of the jobs, by creation, or of each task by PandaID without times, (n_jobs,) bool."""
    number = pd.to_numeric(jobs["pandaid"], errors="coerce").fillna(0)
    if jobs["submit_s"].notna().any():
        rank = jobs["submit_s"].fillna(-np.inf).rank(method="first", pct=True)
    else:
        tally.say("the records have no times of creation, so the last jobs of each task by PandaID are held out, of "
                  "which the task is known already: that is easier than to predict new tasks")
        rank = number.groupby(jobs["task"]).rank(method="first", pct=True)
    return (rank > 1 - part).to_numpy()


def _fails(jobs: pd.DataFrame, tally: Tally) -> np.ndarray:
    """Cause of the failure of each job, "payload" or "site", "" for jobs that did not fail."""
    failed = (jobs["jobstatus"] == FAILED).to_numpy()
    pilot, own = jobs["piloterrorcode"], jobs[["exeerrorcode", "transexitcode"]]
    if failed.any() and pilot.isna().all() and own.isna().all().all():
        tally.say("the records have no error codes, so all failures count as those of sites")
    of_payload = pilot.isin(PAYLOAD_ERRORS) | ((own.fillna(0) != 0).any(axis=1) & (pilot.fillna(0) == 0))
    return np.where(failed, np.where(of_payload, "payload", "site"), "")
