"""Predictions of wall times of held-out jobs: by a fit, and by medians of earlier jobs, which it must beat."""

from collections.abc import Iterator

import pandas as pd

from simgrid_broker.experiments.calibration_jobs import FINISHED
from simgrid_broker.metrics import tidy, walltime_errors, wide
from simgrid_broker.metrics.replay import OF_WALLTIMES

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
    if whole[best] * CLEARLY < whole[AFTER]:
        queues = off.loc["queue"]
        lost = (queues[AFTER] - queues[best]).sort_values(ascending=False)
        where = ", ".join(f"{name} ({queues[best][name]:.1f} instead of {queues[AFTER][name]:.1f} %)"
                          for name in lost.index[:3] if lost[name] > 0)
        said.append(f"The {best} of earlier jobs predicts them better: {whole[best]:.1f} %; most at {where}. The fit "
                    "lacks something that these jobs have in common.")
    return tuple(said), bool(better)
