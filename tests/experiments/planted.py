"""Records that the simulator itself makes on a grid whose figures are known, with noise and a few wild values."""

import numpy as np
import pandas as pd

from simgrid_broker import simulate
from simgrid_broker.scenario import Scenario

POWERS = {"A": 8.0, "B": 10.0, "C": 12.0, "D": 14.0, "E": 16.0}
"""Planted HS06 per core; overheads and factors of efficiency follow."""
OVERHEADS = {"A": 300.0, "B": 60.0, "C": 120.0, "D": 600.0, "E": 30.0}
FACTORS = {"A": 0.8, "B": 0.95, "C": 1.0, "D": 1.0, "E": 1.05}
FAILURES = {"A": 0.1, "B": 0.02, "C": 0.0, "D": 0.05, "E": 0.2}

WRONG = {"A": 10.0, "B": 12.0, "C": 12.0, "D": 11.0, "E": 13.0}
"""HS06 per core that a scenario gives before it is calibrated, on the whole neither too much nor too little."""

BASE = {"name": "planted", "duration": "14h", "seed": 5, "edition": "deployed", "shares": [
            {"name": name, "value": 1} for name in ("Simulation", "Derivation")],
        "agents": {"task_broker": 60, "job_generator": 60},
        "workload": {"campaigns": [
            {"name": name, "gshare": name, "corecount": 1, "hs06sec_per_event": {"median": work, "sigma": 0.3},
             "events_per_job": 100, "jobs_per_task": {"median": 120, "sigma": 0}, "backlog": 8, "work_spread": 0.2,
             "basewalltime": 0, "cpu_efficiency": efficiency, "output_per_job": {"median": "50 MB", "sigma": 0},
             "failure_rate": {"median": 0.03}}
            for name, work, efficiency in (("Simulation", 400, 0.9), ("Derivation", 250, 0.7))]}}


def grid(powers, overheads=None, factors=None, failures=None, **more):
    """Five sites with a queue each; more: values of every queue."""
    return {"sites": {f"SITE-{name}": {"cores": 24, "nucleus": True, "failure_rate": (failures or {}).get(name, 0.02)}
                      for name in powers},
            "queues": {name: {"atlas_site": f"SITE-{name}", "corepower": power,
                              "payload_overhead": (overheads or {}).get(name, 0),
                              "cpu_efficiency": (factors or {}).get(name, 1), **more}
                       for name, power in powers.items()},
            "storages": {f"{name}_DISK": {"site": f"SITE-{name}", "total": "10 PB", "free": "9 PB"} for name in powers}}


def scenario(**changes):
    """The scenario before it is calibrated."""
    return Scenario.from_dict(BASE | {"grid": grid(WRONG)} | changes)


def run_of_truth(folder):
    """A run on the grid as it is."""
    return simulate(Scenario.from_dict(BASE | {"grid": grid(POWERS, OVERHEADS, FACTORS, FAILURES)}), folder=folder)


def records(run, noise=0.05, wild=0.02, with_work=True, seed=1):
    """PanDA job records of a run; noise: sigma of the logarithm of CPU times; wild: part of them that is nonsense."""
    jobs = run.jobs[run.jobs.status.isin(["finished", "failed"])].reset_index(drop=True)
    luck = np.random.default_rng(seed)
    factor = np.exp(luck.normal(0, noise, len(jobs)))
    factor[luck.random(len(jobs)) < wild] = 20
    payload = jobs.walltime_s - jobs.stage_in_s - jobs.stage_out_s
    times = {name: pd.to_datetime(jobs[column], unit="s", origin="2025-01-27") for name, column in (
        ("creationtime", "pending_s"), ("starttime", "running_s"))}
    of_payload = jobs.cause.astype(object).isin(["payload error", "payload_error"])
    found = pd.DataFrame({
        "pandaid": jobs.panda_id, "jeditaskid": jobs.jeditaskid, **times,
        "endtime": times["starttime"] + pd.to_timedelta(jobs.walltime_s.astype(float), unit="s"),
        "jobstatus": jobs.status.astype(str), "computingsite": jobs["queue"].astype(str), "corecount": jobs.corecount,
        "gshare": jobs.share.astype(str), "nevents": jobs.n_events, "cpuconsumptiontime": jobs.cputime_s * factor,
        "inputfilebytes": jobs.input_bytes, "outputfilebytes": jobs.output_bytes,
        "piloterrorcode": np.where(of_payload, 1305, np.where(jobs.status == "failed", 1151, 0))})
    assert (payload >= 0).all()
    return found.assign(work=jobs.work_hs06s) if with_work else found
