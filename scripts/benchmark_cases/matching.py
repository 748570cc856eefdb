"""DIRAC's matcher on a million jobs."""

import statistics
import time

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.task_queues import drawn_queue, one_of_the_oldest, put_waiting, stop_waiting
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.systems.dirac.policy.matching import Acceptance
from simgrid_broker.systems.dirac.policy.priorities import DEPLOYED
from simgrid_broker.systems.dirac.policy.request import checked_request
from simgrid_broker.systems.dirac.policy.task_queues import Identity
from simgrid_broker.world.arrays import AGE
from simgrid_broker.world.task_queues import Draw, draw_tables

N_SITES, N_OWNERS, N_REQUIREMENTS, WINDOW, DIRAC_JOB = 100, 250, 400, 50, STREAMS["dirac_job"]


def dirac(n_queues: int = 100_000, n_jobs: int = 1_000_000, n_matches: int = 20_000) -> dict:
    """One job among a million that wait in 100 000 task queues, for pilots of 100 sites with tags and memory.

    Task queues have 250 owners and 400 combinations of one to twenty sites, processors and memory; a match draws a task
    queue and a job, and takes this out; another job comes in its place. The figures are those of a call from Python.
    """
    random = np.random.default_rng(1)
    draw, nodes = waiting(n_queues, n_jobs, random)
    n_classes, taken, found, next_job = len(DEPLOYED.cpu_classes), [], [], n_jobs
    for k in range(n_matches):
        kind, classes = int(random.integers(N_SITES)), int(random.integers(6, n_classes + 1))
        began = time.perf_counter()
        row = matched(draw, nodes, kind, classes, 1, k)
        taken.append(time.perf_counter() - began)
        found.append(row >= 0)
        if row >= 0:
            next_job += 1
            nodes[row]["panda_id"] = next_job
            put_waiting(draw, nodes, int(nodes[row]["rank"]), row)
    taken = [1e6 * seconds for seconds in taken[100:]]
    return {"median_us": statistics.median(taken), "p99_us": float(np.percentile(taken, 99)),
            "found_percent": 100 * float(np.mean(found)), "jobs_waiting": int(draw.task_queues["n_jobs"].sum()),
            "matching_percent": 100 * float(draw.n_open.mean()) / n_queues}


def match(few: int = 10_000, many: int = 1_000_000, n_matches: int = 20_000) -> dict:
    """A match with few and with many waiting jobs in as many task queues, 501.

    501 task queues held 871 973 waiting jobs of LHCb on 28 March 2026 (scenarios/lhcb_day.yaml names the source).
    """
    figures = {n_jobs: dirac(501, n_jobs, n_matches) for n_jobs in (few, many)}
    return {**{f"median_us_of_{n_jobs}": each["median_us"] for n_jobs, each in figures.items()},
            "p99_us": figures[many]["p99_us"], "cost_ratio": figures[many]["median_us"] / figures[few]["median_us"],
            "found_percent": figures[many]["found_percent"], "jobs_waiting": figures[many]["jobs_waiting"]}


@compiled
def matched(draw, nodes, kind, n_classes, seed, key):
    """The job of a request, which is taken out; -1 if no task queue matches."""
    number = drawn_queue(draw, kind, 0, n_classes, seed, key, kind)
    if number < 0:
        return -1
    row = one_of_the_oldest(draw, nodes, number, WINDOW, uniform(seed, DIRAC_JOB, key, number, 0))
    stop_waiting(draw, nodes, number, row)
    return row


def waiting(n_queues: int, n_jobs: int, random: np.random.Generator) -> tuple:
    """The task queues with their jobs, and the list of these; the rank of a job is the number of its task queue."""
    draw, requests = Draw(**draw_tables(n_queues, N_SITES, len(DEPLOYED.cpu_classes))), sites_ask()
    acceptance, required = Acceptance(DEPLOYED, requests), requirements(random)
    queues = draw.task_queues
    queues["cpu_class"] = random.integers(len(DEPLOYED.cpu_classes), size=n_queues)
    queues["priority"] = 10 ** random.uniform(-3, 4, n_queues)
    for number in range(n_queues):
        sites, tags, memory = required[number % N_REQUIREMENTS]
        owner = f"user{number // N_REQUIREMENTS % N_OWNERS}"
        identity = Identity((owner, "prod"), DEPLOYED.cpu_classes[queues["cpu_class"][number]],
                            (sites, frozenset(), frozenset(), frozenset(), frozenset(), tags), memory)
        draw.accepts[:, number] = acceptance.of(identity)
    nodes = np.zeros(n_jobs, AGE)
    nodes["panda_id"], nodes["rank"] = np.arange(1, n_jobs + 1), random.permutation(n_jobs) % n_queues
    fill(draw, nodes)
    return draw, nodes


@compiled
def fill(draw, nodes):
    """Put all jobs into their task queues."""
    for row in range(len(nodes)):
        put_waiting(draw, nodes, nodes[row]["rank"], row)


def sites_ask() -> list:
    """One request of each site, a part of them with several processors and much memory."""
    tags = {1: [], 8: ["MultiProcessor", *(f"{k}Processors" for k in range(1, 9))]}
    return [checked_request(dict(CPUTime=1, Site=f"SITE{site}", Tag=tags[8 if site % 2 else 1],
                                 MaxRAM=4000 * (1 + site % 4)), DEPLOYED.request_fields) for site in range(N_SITES)]


def requirements(random: np.random.Generator) -> list[tuple[frozenset, frozenset, int]]:
    """Sites, tags and memory of task queues."""
    found = []
    for _ in range(N_REQUIREMENTS):
        sites = random.choice(N_SITES, int(random.integers(1, 21)), replace=False)
        tags = frozenset(["8Processors", "MultiProcessor"]) if random.random() < 0.4 else frozenset()
        found.append((frozenset(f"SITE{site}" for site in sites), tags, int(random.choice([0, 2000, 8000]))))
    return found
