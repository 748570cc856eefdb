"""PanDA job records as a calibration reads them: who shares work, what is held out, and who made a job fail;
predictions of the wall times of held-out jobs: by a fit, and by medians of earlier jobs, which it must beat; and waits
of recorded jobs: slots that a queue had for them, and their distribution as predicted and as recorded.

A queue serves its jobs in the order of their creation: a job starts when the chain of agents and the time of its worker
in the batch system are over and its cores are free. That is what a queue of one share does in a run; shares and
priorities are not in it.
"""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.errors import InputFileError, Problem, nearest
from simgrid_broker.experiments.intervals import UNKNOWN, Estimate, spread
from simgrid_broker.luck import key_of, normal_quantile, uniforms
from simgrid_broker.metrics import tidy, walltime_errors, wide
from simgrid_broker.metrics.replay import OF_WALLTIMES
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.importers.panda import SERIAL, ran_at, read_panda_jobs
from simgrid_broker.schema.jobs import RecordColumns
from simgrid_broker.units import HOUR, MINUTE

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
        **{f"stage_in_{when}_s": ins for when in (BEFORE, AFTER)},
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


OTHERS = {"CPU times": ("cpuconsumptiontime", "cputime"), "Stage-in times": ("stage_in_s", "stage_in")}
"""Further times that are judged: recorded in this column, predicted in those with this prefix."""


def predictions(jobs: pd.DataFrame, recorded: str = "run_s", prefix: str = "predicted") -> pd.DataFrame:
    """The jobs with the predictions by medians, s; a job without earlier ones of its kind gets that of the next wider.

    Without held-out jobs the medians are those of all.
    """
    earlier = jobs[(jobs["jobstatus"] == FINISHED) & ~jobs["held_out"]]
    wider = pd.Series(earlier[recorded].median(), jobs.index)
    for name, by in PREDICTORS.items():
        medians = earlier.groupby(by)[recorded].median()
        found = pd.MultiIndex.from_frame(jobs[by]) if len(by) > 1 else pd.Index(jobs[by[0]])
        wider = pd.Series(medians.reindex(found).to_numpy(), jobs.index).fillna(wider)
        jobs = jobs.assign(**{f"{prefix}_{name} median_s": wider})
    return jobs


def errors_of(jobs: pd.DataFrame, held_out: float, recorded: str = "run_s", prefix: str = "predicted") -> pd.DataFrame:
    """Errors of the predicted times, tidy: dimension, name, when, and the metrics of `recorded_walltimes`.

    Of the finished jobs that were held out and have a recorded time above 0; of all if none were held out.
    """
    chosen = jobs[(jobs["jobstatus"] == FINISHED) & (jobs["held_out"] | (held_out == 0)) & (jobs[recorded] > 0)]
    predicted = [f"{prefix}_{when}_s" for when in WHEN]
    chosen = chosen.rename(columns={"computingsite": "queue"})[[*DIMENSIONS, recorded, *predicted]].dropna(
        subset=predicted)
    rows = [{"dimension": by, "name": name, "when": when, **walltime_errors(part[recorded], part[f"{prefix}_{when}_s"])}
            for by, name, part in _divided(chosen) for when in WHEN]
    dimensions = ["dimension", "name", "when"]
    return tidy(pd.DataFrame(rows, columns=[*dimensions, *OF_WALLTIMES]), dimensions, OF_WALLTIMES,
                "held-out jobs" if held_out else "all jobs")


def errors_of_others(jobs: pd.DataFrame, held_out: float) -> pd.DataFrame:
    """Errors of the predicted OTHERS, in the column `of`, as those of wall times; empty where the records lack them."""
    found = [errors_of(predictions(jobs, *columns), held_out, *columns).assign(of=of) for of, columns in OTHERS.items()]
    return pd.concat(found, ignore_index=True)


def verdicts_on_others(errors: pd.DataFrame) -> Iterator[str]:
    """A sentence on each of the OTHERS that the records have, with the median that predicts it better than the fit."""
    rows = wide(errors[(errors.dimension == "all")]) if len(errors) else errors
    for of, part in rows.groupby("of", sort=False):
        off = part.set_index("when").off_p50.astype(float).round(1)
        best = off.drop([BEFORE, AFTER]).idxmin()
        yield (f"{of} of held-out jobs: median error {off[AFTER]:.1f} % after the fit, {off[BEFORE]:.1f} % before it"
               + (f"; the {best} of earlier jobs predicts them better, {off[best]:.1f} %." if off[best] < off[AFTER]
                  else "."))


def _divided(jobs: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """All jobs, then those of each site, queue, share and task, the largest first."""
    if len(jobs):
        yield "all", "all", jobs
    for by in DIMENSIONS:
        places = jobs.groupby(by, observed=True, sort=False).indices
        for name in jobs[by].value_counts().index:
            yield by, str(name), jobs.take(places.get(name, ()))


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


FEWEST = 10
"""Jobs of a part whose waits are compared, and jobs that must have waited at a queue to show its slots."""
OF_WAITS = ("dimension", "name", "when", "jobs", "crps_h", "p50_h", "p95_h", "recorded_p50_h", "recorded_p95_h")
"""Columns of the errors of waits: crps_h, mean distance of the recorded waits from the predicted distribution less half
of the mean distance within it; quantiles of both."""
WIDEST = 1.645
"""Deviations of the logarithm of a batch latency beyond which a job has waited for a slot."""


class Batch(NamedTuple):
    """Batch system of a queue: median latency, s; spread of its logarithm; cores, NaN = as many as are asked for."""

    latency_s: float
    spread: float
    cores: float


def slots_of(jobs: pd.DataFrame, chain_s: float, batch: Batch) -> Estimate:
    """Cores in use at a queue while jobs waited for a slot: the median at the starts of those that waited."""
    ran = jobs[jobs["start_s"].notna() & jobs["run_s"].notna()]
    start, cores = ran["start_s"].to_numpy(float), ran["cores"].to_numpy(float)
    end = start + ran["run_s"].to_numpy(float)
    waited = (ran["wait_s"] > 2 * chain_s + batch.latency_s * np.exp(WIDEST * batch.spread)).to_numpy()
    if waited.sum() < FEWEST:
        return UNKNOWN._replace(n_values=int(waited.sum()))
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    begun, ended = (np.concatenate([[0], np.cumsum(cores[order])]) for order in (by_start, by_end))
    at = start[waited]
    in_use = begun[np.searchsorted(start[by_start], at, "right")] - ended[np.searchsorted(end[by_end], at, "right")]
    return Estimate(float(max(np.median(in_use), cores.max())), 1.2533 * spread(in_use) / np.sqrt(len(in_use)),
                    len(in_use))


def predicted_waits(jobs: pd.DataFrame, chain_s: float, batch: Batch) -> np.ndarray:
    """Waits of the jobs of one queue, served in the order of their creation for their recorded wall times, s.

    Jobs of which the creation is unknown wait for no slot.
    """
    luck = normal_quantile(uniforms(0, "batch_latency", numbers_of(jobs)))
    submit, waits = jobs["submit_s"].to_numpy(float), chain_s + batch.latency_s * np.exp(batch.spread * luck)
    if not np.isfinite(batch.cores) or np.isnan(submit).any():
        return waits
    ready, running, free, now = submit + waits, list[tuple[float, float]](), batch.cores, -np.inf
    cores, wall = np.minimum(jobs["cores"].to_numpy(float), batch.cores), jobs["run_s"].fillna(0.0).to_numpy(float)
    for row in np.argsort(ready, kind="stable"):
        now = max(now, ready[row])
        while running and (running[0][0] <= now or free < cores[row]):
            end, n = heapq.heappop(running)
            now, free = max(now, end), free + n
        free -= cores[row]
        heapq.heappush(running, (now + wall[row], cores[row]))
        waits[row] = now - submit[row]
    return waits


def numbers_of(jobs: pd.DataFrame) -> np.ndarray:
    """A number of each job that keys its random draws, (n_jobs,) int64: its PandaID, or that of its name."""
    numbers = pd.to_numeric(jobs["pandaid"], errors="coerce")
    if numbers.notna().all():
        return numbers.to_numpy(np.int64)
    return np.array([key_of(name) for name in jobs["pandaid"]], np.int64)


def drawn_waits(jobs: pd.DataFrame) -> dict[str, np.ndarray]:
    """By predictor the wait of an earlier job of the same task, group or group and site, drawn for each job, s.

    A job without an earlier one gets what the next wider kind gives.
    """
    earlier, u = (~jobs["held_out"] & jobs["wait_s"].notna()).to_numpy(), uniforms(0, "time_left", numbers_of(jobs))
    wider, found = _drawn(np.zeros(len(jobs), int), jobs["wait_s"].to_numpy(float), earlier, u), {}
    for name, by in PREDICTORS.items():
        one = _drawn(jobs.groupby(by, sort=False).ngroup().to_numpy(), jobs["wait_s"].to_numpy(float), earlier, u)
        wider = found[f"{name} median"] = np.where(np.isnan(one), wider, one)
    return found


def _drawn(groups: np.ndarray, waits: np.ndarray, earlier: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A wait of an earlier job of the group of each job, NaN without one."""
    rows = np.flatnonzero(earlier)
    rows = rows[np.argsort(groups[rows], kind="stable")]
    if not len(rows):
        return np.full(len(groups), np.nan)
    first, end = (np.searchsorted(groups[rows], groups, side) for side in ("left", "right"))
    place = np.minimum(first + (u * (end - first)).astype(int), len(rows) - 1)
    return np.where(end > first, waits[rows[place]], np.nan)


def errors_of_waits(jobs: pd.DataFrame) -> pd.DataFrame:
    """Errors of the distribution of waits of held-out jobs (of all, if none were): OF_WAITS; empty without waits.

    jobs: with a column wait_<when>_s for each of WHEN.
    """
    chosen = jobs[jobs["wait_s"].notna() & (jobs["held_out"] | ~jobs["held_out"].any())]
    parts = [("all", "all", chosen), *((by, str(name), part) for by in ("computingsite", "task")
                                       for name, part in chosen.groupby(by, sort=False))]
    rows = [row for by, name, part in parts if len(part) >= FEWEST
            for row in _errors(by.replace("computingsite", "queue"), name, part)]
    return pd.DataFrame(rows, columns=list(OF_WAITS))


def _errors(by: str, name: str, part: pd.DataFrame) -> Iterator[tuple]:
    recorded = part["wait_s"].to_numpy(float) / HOUR
    for when in WHEN:
        sample = part[f"wait_{when}_s"].dropna().to_numpy(float) / HOUR
        if len(sample):
            yield (by, name, when, len(part), crps(sample, recorded), *np.quantile(sample, (0.5, 0.95)),
                   *np.quantile(recorded, (0.5, 0.95)))


def crps(sample: np.ndarray, values: np.ndarray) -> float:
    """Continuous ranked probability score of a sample of a distribution, mean over the values; in their unit.

    Source: Gneiting and Raftery, J. Am. Stat. Assoc. 102 (2007) 359, equation 21.
    """
    ordered, n = np.sort(sample), len(sample)
    sums, below = np.concatenate([[0.0], np.cumsum(ordered)]), np.searchsorted(ordered, values)
    distance = (values * below - sums[below] + sums[-1] - sums[below] - values * (n - below)) / n
    within = 2 * ((2 * np.arange(1, n + 1) - n - 1) * ordered).sum() / n**2
    return float(distance.mean() - within / 2)


def sentences(errors: pd.DataFrame) -> Iterator[str]:
    """Sentences on how the waits of held-out jobs are predicted."""
    whole = errors[errors.dimension == "all"].set_index("when")
    if not len(whole):
        yield ("The records have no waits (start less creation) of held-out jobs, so waiting is not judged and batch "
               "latency and slots stay as they were.")
        return
    before, after = whole.loc[BEFORE], whole.loc[AFTER]
    yield (f"Waits of held-out jobs: recorded median {after.recorded_p50_h:.2f} h and 95 % {after.recorded_p95_h:.2f} "
           f"h; predicted {after.p50_h:.2f} and {after.p95_h:.2f} h after the fit (CRPS {after.crps_h:.3f} h), "
           f"{before.p50_h:.2f} and {before.p95_h:.2f} h before it ({before.crps_h:.3f} h)."
           + (" The fit has made them worse." if after.crps_h > before.crps_h * CLEARLY else ""))
    others = whole.crps_h.drop([BEFORE, AFTER])
    if len(others) and others.min() * CLEARLY < after.crps_h - MINUTE / HOUR:
        best = others.idxmin().removesuffix(" median")
        queues = errors[errors.dimension == "queue"].pivot(index="name", columns="when", values="crps_h")
        lost = (queues[AFTER] - queues[others.idxmin()]).sort_values(ascending=False)
        where = ", ".join(f"{name} ({lost[name]:.2f} h)" for name in lost.index[:3] if lost[name] > 0)
        yield (f"Waits of earlier jobs of the same {best} predict them better (CRPS {others.min():.3f} h)"
               + (f"; most at {where}" if where else "") + ". The fit serves each queue in order of creation, without "
               "shares, priorities or other load.")
