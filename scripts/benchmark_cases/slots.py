"""The fabric alone, on a grid whose slots are always full."""

import time

import numpy as np

from benchmark_cases.measures import HOUR, peak_mib
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.names import JobStatus
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.tasklist import VOCABULARY_OF, TaskList
from simgrid_broker.schema import TASKS
from simgrid_broker.schema.tasks import N_REPLICAS
from simgrid_broker.world.build import build


def plain_grid(n_queues: int, cores: int, n_shares: int) -> tuple[Scenario, TaskList]:
    """Single-core queues that share so many cores, and one endless task for each share."""
    sites = {f"S{k}": {"cores": cores // n_queues, "nucleus": k == 0, "failure_rate": 0.02} for k in range(n_queues)}
    queues = {f"Q{k}": {"atlas_site": f"S{k}", "capability": "score", "corecount": 1} for k in range(n_queues)}
    storages = {f"D{k}": {"site": f"S{k}", "total": "1 PB", "free": "500 TB"} for k in range(n_queues)}
    scenario = Scenario(name="plain", duration="7d", grid=dict(sites=sites, queues=queues, storages=storages),
                        shares=[{"name": f"share {k}", "value": 1} for k in range(n_shares)],
                        agents={"pilot_startup": 0})
    rows = np.zeros(n_shares, TASKS.dtype)
    rows["jeditaskid"], rows["share"] = np.arange(n_shares) + 1, np.arange(n_shares)
    for name, value in dict(n_jobs=2**30, work_hs06s_per_event=36000, n_events_per_job=1, work_spread=0.3, corecount=1,
                            cpu_efficiency=1, maxpss_mb=1000, max_attempt=3, nucleus=-1).items():
        rows[name] = value
    no_replicas = np.full((n_shares, N_REPLICAS), -1, np.int16), np.zeros((n_shares, N_REPLICAS), np.float32)
    words = dict.fromkeys(VOCABULARY_OF.values(), ("",)) | {"labels": ("managed",)}
    return scenario, TaskList(rows, *no_replicas, words)


class Feed:
    """A fabric that always has queued jobs of every share and workers for all cores."""

    def __init__(self, n_queues: int, cores: int, n_shares: int = 30):
        scenario, tasks = plain_grid(n_queues, cores, n_shares)
        self.ended = 0
        self.world = build(scenario, tasks)
        self.fabric = Fabric(self.world, self._sink)
        self.queues, self.n_shares = np.arange(n_queues), n_shares
        self.per_queue = cores // n_queues
        self.now, self.spent = 0.0, 0.0

    def _sink(self, name, rows, times):
        self.ended += len(rows) if name == "jobs" else 0

    def fill(self) -> None:
        """Bring the jobs that wait at each queue to one and a half times its cores; not timed."""
        queued = self.world.arrays.counts[..., JobStatus.ACTIVATED].sum(axis=(1, 2))
        each = np.ceil(np.maximum(1.5 * self.per_queue - queued, 0) / self.n_shares).astype(int).tolist()
        for share in range(self.n_shares):
            for queue, number in zip(self.queues.tolist(), each, strict=True):
                self.fabric.order_jobs(share, queue, number, 1000.0, self.now)
        self.fabric.make_jobs()
        self.fabric.set_up_jobs(self.now)
        waiting = self.world.arrays.pseudo_queues["n_submitted"]
        self.fabric.submit_workers(self.queues, np.maximum(self.per_queue - waiting, 0), self.now)

    def turn(self, seconds: float) -> None:
        """Advance the fabric; only this is timed."""
        self.fill()
        self.now += seconds
        began = time.process_time()
        self.fabric.advance(self.now)
        self.spent += time.process_time() - began
        self.fabric.add_jobs(self.now)
        self.fabric.empty_outboxes()
        assert self.ended > 0 or self.now < 24 * HOUR, "no job ends"

    def alive(self) -> int:
        """Jobs that have been made and have not ended."""
        return len(self.world.arrays.jobs) - self.world.free_rows("jobs")


def jobs_per_s_of_fabric(n_queues: int, cores: int, least_jobs: int, n_shares: int = 30) -> dict:
    """Pilot, dispatch over so many shares, run; measured after one full turnover of the slots."""
    feed = Feed(n_queues, cores, n_shares)
    while feed.ended < cores:
        feed.turn(HOUR / 4)
    ended, feed.spent, events = feed.ended, 0.0, int(feed.world.state["n_processed"])
    while feed.ended - ended < least_jobs:
        feed.turn(HOUR / 4)
    jobs = feed.ended - ended
    running = int(feed.world.arrays.counts[..., JobStatus.RUNNING].sum())
    assert feed.ended + feed.alive() == int(feed.world.state["panda_id"]), "jobs are missing"
    assert jobs >= least_jobs and running >= 0.98 * feed.per_queue * n_queues, "the slots were not full"
    return {"jobs": jobs, "events": int(feed.world.state["n_processed"]) - events, "running": running,
            "jobs_per_s": jobs / feed.spent, "peak_mib": peak_mib()}


def fabric() -> dict:
    """The fabric alone with 116 000 running jobs."""
    return jobs_per_s_of_fabric(100, 116_000, 500_000)


def busy_cores() -> dict:
    """Cost of a job on 300 queues at 500 000 busy cores against 10 000."""
    few, many = jobs_per_s_of_fabric(300, 9_900, 200_000), jobs_per_s_of_fabric(300, 499_800, 500_000)
    return {"jobs": many["jobs"], "jobs_per_s": many["jobs_per_s"], "jobs_per_s_at_10000": few["jobs_per_s"],
            "cost_ratio": few["jobs_per_s"] / many["jobs_per_s"], "peak_mib": peak_mib()}
