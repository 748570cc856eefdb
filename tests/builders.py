"""Small worlds for tests: the plain case by default, the test names only what matters.

Plain is: one site HERE, a nucleus with eight cores and an empty storage; one queue HERE of single-core slots at
10 HS06 per core, without limits and without `timefloor`; one share and one resource type; pilots that start at once;
links that are idle, never fail and have no latency, without doors; failed transfers are repeated at once; tasks of one
job of 1000 HS06 s (100 s at HERE), without files.
"""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from simgrid_broker.agents import start_agents
from simgrid_broker.agents.control import Control
from simgrid_broker.engine import FabricEnvironment
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.names import JobStatus, TaskStatus
from simgrid_broker.policy.brokerage.production.broker import Hints
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.work.synthetic import n_pieces
from simgrid_broker.scenario.work.tasklist import TaskList, new_rows, no_replicas
from simgrid_broker.schema import SPLITTING
from simgrid_broker.schema.tasks import RAM_UNITS, VOCABULARY_OF
from simgrid_broker.turns.brokers import all_criteria, all_factors, all_reasons, all_tags
from simgrid_broker.views import KEPT, Gdpconfig, InputDataset, Queues, Stats, Task, Verdict
from simgrid_broker.world import build, invariants, recount, rows
from simgrid_broker.world.jobs.transitions import enter
from simgrid_broker.world.queues.statistics import count_activity
from simgrid_broker.world.users.metrics import Ends, count_ends

S, T = JobStatus, TaskStatus

SITE = dict(tier=2, cores=8, nucleus=True, failure_rate=0, stage_in_rate=1e9, stage_latency=0, memory_per_core=4000)
QUEUE = dict(capability="score", corecount=1, corepower=10, timefloor=0)
STORAGE = dict(total=1e15, free=1e15)
LINK = dict(bandwidth=1e6, latency=0, failure_rate=0, closeness=1)
AGENTS = dict(pilot_startup=0, empty_pilot=600)
OUTBOX_ROWS = 2048
ONE_SHARE = [dict(name="All", value=1)]
ONE_TYPE = dict(SCORE=dict(mincore=1, maxcore=1))

EVENTFUL = {
    "duration": 10 * 3600, "record.candidates": 1, "agents.copy_archive": 600, "agents.sampler": 200,
    "grid.links.default.bandwidth": 20e6, "grid.links.default.max_active_files": 5,
    "grid.storages.CENTRE_DATADISK.expired": "50 TB", "grid.storages.CENTRE_DATADISK.min_free": "400 TB",
    "workload.campaigns[0].failure_rate": 0.4, "workload.campaigns[0].max_attempt": 2,
    "workload.campaigns[0].max_failure": 2,
    "workload.campaigns[0].baseramcount": 100, "workload.campaigns[0].jobs_per_task": 2,
    "workload.campaigns[0].priority": 900, "workload.campaigns[0].output_per_event": 50e6,
    "incidents": [dict(at=3600, what="queue_status", queue="SOUTH", status="brokeroff"),
                  dict(at=7200, what="site_outage", site="NORTH")],
}
"""Changes of `scenarios/minimal.yaml` after which everything happens: failures, old data, timeouts, an outage."""

TASK = dict(n_jobs=1, n_events_per_job=1, work_hs06s_per_event=1000.0, cpu_efficiency=1.0, max_attempt=3, share=0,
            resource_type=0, corecount=1, priority=500, maxpss_mb=1000.0, n_input_files=1)
WORDS = dict(name="task", user="somebody", processing_type="simul", label="managed", working_group="", campaign="",
             transpath="", requesttype="", architecture="", transhome="", container_name="", preassigned="",
             ipconnectivity="", user_parameters="", vo="atlas")


def scenario(sites=None, queues=None, storages=None, links=None, **others) -> Scenario:
    """A scenario whose grid has the sites, queues and storages named, each plain but for what is said of it.

    A site gets a queue and a storage of its own name unless some are given; `links` are pairs, (source, destination)
    to what is said of the link.
    """
    sites = {"HERE": {}} if sites is None else sites
    queues = {name: dict(atlas_site=name) for name in sites} if queues is None else queues
    storages = {name: dict(site=name) for name in sites} if storages is None else storages
    pairs = [dict(source=source, destination=destination, **said)
             for (source, destination), said in (links or {}).items()]
    grid = dict(fts=dict(retry_delay=0, stuck_delay=0) | others.pop("fts", {}),
                sites={name: SITE | said for name, said in sites.items()},
                queues={name: QUEUE | said for name, said in queues.items()},
                storages={name: STORAGE | said for name, said in storages.items()},
                links=dict(default=LINK, pairs=pairs) | others.pop("more_links", {}))
    plain = dict(name="test", duration=1e6, shares=ONE_SHARE, resource_types=ONE_TYPE)
    return Scenario.from_dict(dict(grid=grid, agents=AGENTS | others.pop("agents", {}), **plain | others))


def two_sites(here=None, there=None, link=None, **others) -> Scenario:
    """Site HERE (number 0), a nucleus, and site THERE (number 1) that is none; `link` says what both links are."""
    both = {("HERE", "THERE"): link or {}, ("THERE", "HERE"): link or {}}
    return scenario({"HERE": here or {}, "THERE": dict(nucleus=False) | (there or {})}, links=both, **others)


def tasks(*said: dict) -> TaskList:
    """Tasks, each plain but for what is said of it; `replicas` is site number to the part that lies there.

    Words (user, label, ...) are given as words; `ramunit` likewise. `split` says how jobs are cut from files, in
    columns of SPLITTING, `container` the number of the one that is read whole. Sorted by arrival before they are
    numbered.
    """
    said = sorted(said, key=lambda one: one.get("arrival_s", 0.0))
    table = new_rows(len(said))
    site, fraction = no_replicas(len(said))
    for column, value in TASK.items():
        table[column] = value
    vocabularies = {name: [] for name in VOCABULARY_OF.values()}
    for number, (row, one) in enumerate(zip(table, said, strict=True)):
        for place, (where, part) in enumerate(one.get("replicas", {}).items()):
            site[number, place], fraction[number, place] = where, part
        for column, word in (WORDS | {key: one[key] for key in WORDS if key in one}).items():
            words = vocabularies[VOCABULARY_OF[column]]
            words += [] if word in words else [word]
            row[column] = words.index(word)
        for column, value in one.items():
            if column not in ("replicas", "ramunit", "split", "container", *WORDS):
                row[column] = value
        row["ramunit"] = RAM_UNITS.index(one.get("ramunit", "MB"))
        row["jeditaskid"] = number + 1
        row["luck"] = one.get("luck", number + 1)
    return TaskList(table, site, fraction, {name: tuple(words) for name, words in vocabularies.items()},
                    splitting=_splitting(table, said), container=np.array([one.get("container", -1) for one in said]))


def _splitting(table, said) -> np.ndarray:
    """How the input of each task is split; tasks with files have as many pieces as those make."""
    rows = SPLITTING.empty(len(said))
    for row, one in zip(rows, said, strict=True):
        for column, value in one.get("split", {}).items():
            row[column] = value
    table["n_jobs"] = np.where(rows["n_files"] > 0, n_pieces(rows), table["n_jobs"])
    return rows


class Bench:
    """A world and its fabric without agents: tests play the agents' parts by hand.

    What ends is kept: `ended()` and `moved()` give the rows of all attempts and transfers that ended so far. The
    outboxes are small, so that a world is made fast and an outbox is full now and then.
    """

    def __init__(self, plan: Scenario | None = None, *said: dict):
        self.scenario = plan or scenario()
        with patch.object(build, "OUTBOX_ROWS", OUTBOX_ROWS):
            self.world = build.build(self.scenario, tasks(*(said or ({},))))
        self.kept = {}
        self.fabric = Fabric(self.world, self.write)
        self.now = 0.0

    @property
    def arrays(self):
        """The arrays of the world, as they are now."""
        return self.world.arrays

    def write(self, name, table, times=None) -> None:
        """Keep rows, as the recorder would."""
        self.kept.setdefault(name, []).append((table.copy(), None if times is None else times.copy()))

    def make(self, jobs=1, task=0, queue=0, ram_mb=0.0) -> None:
        """Make jobs of a task at a pseudo-queue, pending."""
        self.fabric.order_jobs(task, queue, jobs, ram_mb, self.now)
        self.fabric.make_jobs()

    def submit(self, jobs=1, task=0, queue=0, ram_mb=0.0) -> None:
        """Make jobs and let the Setupper look at them."""
        self.make(jobs, task, queue, ram_mb)
        self.fabric.set_up_jobs(self.now)

    def workers(self, count=1, queue=0) -> None:
        """Submit workers of a pseudo-queue."""
        self.fabric.submit_workers([queue], [count], self.now)

    def run(self, until: float) -> None:
        """Let the fabric run up to and including a time."""
        self.fabric.advance(until)
        self.now = until

    def collect(self) -> None:
        """Let the Adder look at what has ended."""
        self.fabric.add_jobs(self.now)

    def take_back(self, row=None, status=S.CLOSED, cause=0) -> None:
        """Take back the job in a row, or all that are alive."""
        chosen = recount.live(self.arrays) if row is None else np.array([row])
        self.fabric.take_back(chosen, int(status), int(cause), self.now)

    def live(self) -> np.ndarray:
        """Rows of the jobs that are alive, in the order in which they were made."""
        found = recount.live(self.arrays)
        return found[np.argsort(self.arrays.jobs["panda_id"][found])]

    def statuses(self) -> list[str]:
        """Status of each job that is alive, in the order in which they were made."""
        return [S(status).word for status in self.arrays.jobs["status"][self.live()]]

    def ended(self) -> np.ndarray:
        """Rows of all attempts that have ended, in that order."""
        self.fabric.empty_outboxes()
        return np.concatenate([self.arrays.jobs[:0], *(table for table, _ in self.kept.get("jobs", ()))])

    def times(self, status: JobStatus) -> list[float]:
        """When each attempt that has ended entered a status, in the order of the ends."""
        self.fabric.empty_outboxes()
        return [float(moment) for _, times in self.kept.get("jobs", ()) for moment in times[:, status]]

    def moved(self) -> np.ndarray:
        """Rows of all transfers that have ended, in that order."""
        self.fabric.empty_outboxes()
        return np.concatenate([self.arrays.transfers[:0], *(table for table, _ in self.kept.get("transfers", ()))])

    def link(self, source=1, destination=0):
        """The row of a link, by default that from THERE to HERE."""
        return self.arrays.links[source * len(self.arrays.sites) + destination]

    def moved_by(self, now: float) -> np.ndarray:
        """Bytes that have moved over each link by a time, (n_sites, n_sites), [source, destination]."""
        links, n = self.arrays.links, len(self.arrays.sites)
        speed = np.where(links["active_files"] > 0, np.minimum(
            links["rate"], links["file_rate"] * np.maximum(links["active_files"], 1)), 0)
        return (links["bytes_moved"] + speed * (now - links["updated_s"])).reshape(n, n)

    def check(self) -> None:
        """Every invariant holds."""
        invariants.check(self.arrays)


class Stage(Bench):
    """A world, its fabric and those agents that the test wants to see; time passes as in a run."""

    def __init__(self, agents, plan: Scenario | None = None, *said: dict):
        super().__init__(plan, *said)
        self.env = FabricEnvironment(self.fabric)
        self.validate = False
        self.control = Control(self.env, self.world, self.fabric, self._gdpconfig, self)
        self.world.vocabularies["tags"] = all_tags(self.control.policies)
        self.world.vocabularies["reasons"] = all_reasons(self.control.policies)
        self.world.vocabularies["criteria"] = all_criteria(self.control.policies)
        self.world.vocabularies["factors"] = all_factors(self.control.policies)
        self.world.vocabularies["texts"] = self.control.books.decisions.texts
        start_agents(self.control, agents)

    def _gdpconfig(self, changes):
        return in_force(self.scenario.with_config(changes) if changes else self.scenario)

    def run(self, until: float) -> None:
        """Let agents and fabric run up to a time; what agents would do at that very time is still to come."""
        if until > self.env.now:
            self.env.run(until=until)
        self.now = self.env.now

    def run_to_jobs(self, until: float) -> None:
        """Run up to a time; if there is no job yet, on to the first jobs and the four cycles after them.

        In the code an inactive work queue is visited in one cycle of four, by a draw.
        """
        self.run(until)
        period = self.control.periods.job_generator
        while not len(self.live()) and self.now < until + 40 * period:
            self.run(self.now + period)
        if self.now > until:
            self.run(self.now + 4 * period)

    def task(self, number: int = 0) -> str:
        """Status of a task."""
        return T(self.arrays.tasks["status"][number]).word

    def entered(self, status: TaskStatus, number: int = 0) -> float:
        """When a task last entered a status, NaN = never."""
        return float(self.arrays.task_times[number, status])

    def recorded(self, name: str) -> np.ndarray:
        """All rows that were written to a table so far."""
        return np.concatenate([table for table, _ in self.kept[name]])


def broker_hint(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, cfg: Gdpconfig,
                inputs: tuple[InputDataset, ...] = ()) -> np.ndarray:
    """Pseudo-queues that could run jobs of a task, (n,) bool; inputs: datasets of the task."""
    hints = Hints(brokerage, queues, stats._replace(load=stats.load[None]), cfg)
    hints.ask(task, inputs)
    return hints.groups_possible(np.ones(len(queues.records), bool))


def everyone(n_candidates: int) -> Verdict:
    """The verdict of a broker that refuses nobody and prefers nobody."""
    return Verdict(tags=(), refused_by=np.full(n_candidates, KEPT), weight=np.ones(n_candidates),
                   order=np.arange(n_candidates))


def assert_same_tables(one: Path, other: Path) -> None:
    """The folders of two runs have the same tables with the same rows, which files of the same bytes have."""
    names, others = (sorted(path.relative_to(folder) for path in folder.rglob("*.parquet")) for folder in (one, other))
    assert names == others
    for name in names:
        if (one / name).read_bytes() != (other / name).read_bytes():
            pd.testing.assert_frame_equal(pd.read_parquet(one / name), pd.read_parquet(other / name), check_exact=True,
                                          obj=str(name))


def ends_of_task(ends: Ends, jeditaskid: int, now: float) -> np.ndarray:
    """Failed, closed and finished jobs of a task at two queues."""
    at = np.zeros(2, [("failed", "f8"), ("closed", "f8"), ("finished", "f8")])
    count_ends(ends.table, ends.heads, jeditaskid, now - ends.window_s, at)
    return at


def put_task(bench: Bench, row: int, status: TaskStatus) -> None:
    """Give a task any status, without having come there."""
    for changed in (bench.arrays.tasks["status"][row], status):
        bench.world.status_changes[changed] += 1
    bench.arrays.tasks["status"][row] = bench.world.statuses[row] = status


def put_job(bench: Bench, status: JobStatus, **columns) -> int:
    """Row of a job that stands in any status without having come there; only for tests of the tables themselves."""
    bench.world.make_room()
    row = rows.take_job(bench.arrays)
    job = bench.arrays.jobs[row]
    bench.world.state["panda_id"] += 1
    plain = dict(panda_id=bench.world.state["panda_id"], attempt=1, n_chunks=1, corecount=1, hs06_milli=10_000)
    bench.arrays.job_files["subdataset"][row] = -1
    for name, value in (plain | columns).items():
        job[name] = value
    job["jeditaskid"] = bench.arrays.tasks["jeditaskid"][job["task"]]
    bench.arrays.job_times[row] = np.nan
    enter(bench.arrays, row, int(status), bench.now)
    count_activity(bench.arrays, job, int(status), 1)
    return row
