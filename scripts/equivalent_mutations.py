"""Mutations of scripts/mutate.py that change no decision, by function and change, each with its reason."""

EQUIVALENT: dict[tuple[str, str], str] = {
    ("policy.job_brokerage.backlog.running_deployed", "load['num_slots'] > 0 -> load['num_slots'] >= 0"):
        "0 is decided before",
    ("policy.job_brokerage.backlog.running_deployed", "running < BOOTSTRAP_WORKERS -> running <= BOOTSTRAP_WORKERS"):
        "at most as many workers count, and only if they are more than the running jobs",
    ("policy.job_brokerage.backlog.running_deployed", "workers > running -> workers >= running"):
        "equal numbers are not changed",
    ("policy.job_brokerage.preliminary.is_named", "len(task.preassigned) > 0 -> len(task.preassigned) >= 0"):
        "no queue is on an empty list",
    ("policy.pilots._need", "np.where(counted, status.core_target, 0) -> np.where(counted, status.core_target, 1)"):
        "0.4 of one core is no core",
    ("policy.pilots._wanted", "np.asarray(status.meanrss) != 0 -> np.asarray(status.meanrss) != 1"):
        "no type needs so little memory, and without a fitting type none is held back",
    ("policy.pilots._within_limit", "np.maximum(wanted, 1) -> np.maximum(wanted, 2)"):
        "half a worker is rounded up to the number that is left",
    ("policy.pilots.take_workers", "need[queue] <= 0 -> need[queue] < 0"):
        "without need a job takes only what waits, and leaves one waiting",
    ("policy.throttle.throttle", "missing > bunch -> missing >= bunch"): "equal numbers are not changed",
}
