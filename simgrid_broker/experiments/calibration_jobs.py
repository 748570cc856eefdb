"""PanDA job records as a calibration reads them: who shares work, what is held out, and who made a job fail; and
predictions of the wall times of held-out jobs: by a fit, and by medians of earlier jobs, which it must beat."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, nearest
from simgrid_broker.metrics import tidy, walltime_errors, wide
from simgrid_broker.metrics.replay import OF_WALLTIMES
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
    task with the same processing type, cores and events), held_out, staging_s, and fails: "site", "payload", "" or
    "unknown", of records without a status, all of which count as finished.
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
    jobs = jobs.assign(says_end=(status != "").any())
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
    strange = jobs["computingsite"][used & ~is_known].replace("", "without a name")
    tally.count_all("jobs at PanDA queues that the scenario does not have, which are not used", strange)
    jobs = jobs.assign(jobstatus=status)[used & is_known].reset_index(drop=True)
    if not len(jobs):
        queues = list(dict.fromkeys(strange))
        near = [name for queue in queues[:3] for name in nearest(queue, tuple(scenario.grid.queues))]
        raise InputFileError([Problem(
            str(records), None, "computingsite", ", ".join(queues[:3]) or None, "at least one job that finished or "
            "failed at a PanDA queue of the scenario, and has a wall time, was expected; there are "
            + "; ".join(tally.remarks()), tuple(dict.fromkeys(near)))])
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
    return np.where(failed, np.where(of_payload, "payload", "site"), np.where(jobs["says_end"], "", "unknown"))


BEFORE, AFTER = "before", "after"
PREDICTORS = {"task": ["task"], "group": ["group"], "site": ["group", "site"]}
"""Medians of recorded wall times of earlier jobs of the same task; of the same task, type, cores and events; of these
at the same site."""
WHEN = (BEFORE, AFTER, *(f"{name} median" for name in PREDICTORS))
DIMENSIONS = ("site", "queue", "share", "task")
CLEARLY = 1.05
"""Ratio of errors from which a predictor is said to be better."""


def predictions(jobs: pd.DataFrame) -> pd.DataFrame:
    """The jobs with the predictions by medians, s; a job without earlier ones of its kind gets that of the next wider.

    Without held-out jobs the medians are those of all.
    """
    earlier = jobs[(jobs["jobstatus"] == FINISHED) & ~jobs["held_out"]]
    wider = pd.Series(earlier["run_s"].median(), jobs.index)
    for name, by in PREDICTORS.items():
        medians = earlier.groupby(by)["run_s"].median()
        found = pd.MultiIndex.from_frame(jobs[by]) if len(by) > 1 else pd.Index(jobs[by[0]])
        wider = pd.Series(medians.reindex(found).to_numpy(), jobs.index).fillna(wider)
        jobs = jobs.assign(**{f"predicted_{name} median_s": wider})
    return jobs


def errors_of(jobs: pd.DataFrame, held_out: float) -> pd.DataFrame:
    """Errors of the predicted wall times, tidy: dimension, name, when, and the metrics of `recorded_walltimes`.

    Of the finished jobs that were held out; of all if none were.
    """
    chosen = jobs[(jobs["jobstatus"] == FINISHED) & (jobs["held_out"] | (held_out == 0))]
    chosen = chosen.rename(columns={"computingsite": "queue"}).dropna(subset=[f"predicted_{when}_s" for when in WHEN])
    rows = [{"dimension": by, "name": name, "when": when, **walltime_errors(part["run_s"], part[f"predicted_{when}_s"])}
            for by, name, part in _divided(chosen) for when in WHEN]
    dimensions = ["dimension", "name", "when"]
    return tidy(pd.DataFrame(rows, columns=[*dimensions, *OF_WALLTIMES]), dimensions, OF_WALLTIMES,
                "held-out jobs" if held_out else "all jobs")


def _divided(jobs: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """All jobs, then those of each site, queue, share and task, the largest first."""
    if len(jobs):
        yield "all", "all", jobs
    for by in DIMENSIONS:
        for name in jobs[by].value_counts().index:
            yield by, str(name), jobs[jobs[by] == name]


def verdicts(errors: pd.DataFrame) -> tuple[tuple[str, ...], bool]:
    """Sentences on what predicts the held-out jobs best, and whether their errors fell by the fit."""
    if not len(errors):
        return (), False
    off = wide(errors).pivot_table(index=["dimension", "name"], columns="when", values="off_p50", observed=True)
    whole = off.loc[("all", "all")]
    better = round(whole[AFTER], 1) < round(whole[BEFORE], 1)      # as printed
    said = [f"The fit predicts wall times of held-out jobs with a median error of {whole[AFTER]:.1f} %, "
            f"{'less than' if better else 'no less than'} the {whole[BEFORE]:.1f} % before it."]
    best = whole.drop([BEFORE, AFTER]).idxmin()
    if whole[AFTER] / CLEARLY <= whole[best] and round(whole[best], 1) < round(whole[AFTER], 1):
        said.append(f"The {best} of earlier jobs predicts them about as well: {whole[best]:.1f} %.")
    elif whole[best] * CLEARLY < whole[AFTER]:
        queues = off.loc["queue"]
        lost = (queues[AFTER] - queues[best]).sort_values(ascending=False)
        where = ", ".join(f"{name} ({queues[best][name]:.1f} instead of {queues[AFTER][name]:.1f} %)"
                          for name in lost.index[:3] if lost[name] > 0)
        said.append(f"The {best} of earlier jobs predicts them better: {whole[best]:.1f} %; most at {where}. The fit "
                    "lacks something that these jobs have in common.")
    return tuple(said), bool(better)
