"""The core of a random scenario, which random keys are laid over: a small grid with work for some hours.

It is drawn, or a scenario of the project with fewer jobs: what these show needs several keys that fit each other.
"""

from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, get_args

from simgrid_broker import editions, load_scenario
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.loading.documents import Source, read
from simgrid_broker.systems.worker_mode import MODES

ROOT = Path(__file__).resolve().parents[2]
MOST_SITES, LONGEST = 30, 40 * 86400
"""Sites and time, s, of the largest scenario of the project that is a core."""
TRACE = "trace.swf"
"""File of recorded jobs beside a scenario."""
HOUR, GB, TB = 3600, 1e9, 1e12
MOST_JOBS = 2000
"""Jobs of a stream of the core in a run."""
TAGS = ("simul", "evgen", "reprocessing", "deriv", "pile")


def core(random: Random, seed: int) -> dict[str, Any]:
    """A scenario that can be run, drawn or of the project."""
    said = dict(name=f"fuzz{seed}", seed=seed, edition=random.choice(get_args(editions.Name)))
    if random.random() < 0.4:
        values = deepcopy(random.choice(bases()))
        return _shorter(values, min(values["duration"], random.choice([4, 8, 16]) * HOUR)) | said
    return said | drawn(random)


@cache
def bases() -> tuple[dict[str, Any], ...]:
    """The scenarios of the project that are small enough, with as many jobs as a case may have."""
    found = []
    for path in sorted([*(ROOT / "scenarios").glob("*.yaml"), *(ROOT / "examples").glob("*.yaml")]):
        with suppress(ScenarioError):
            scenario = load_scenario(path)
            if len(scenario.grid.sites) <= MOST_SITES and scenario.duration < LONGEST:
                found.append(_smaller(read(Source(path))[0].values, scenario))
    return tuple(found)


def _smaller(values: dict[str, Any], scenario: Scenario) -> dict[str, Any]:
    """Values of a scenario in which each stream offers less work, so that a day of it has `MOST_JOBS` jobs."""
    for kind in ("campaigns", "users"):
        written = values.get("workload", {}).get(kind, ())
        for said, stream in zip(written, getattr(scenario.workload, kind), strict=True):
            jobs = stream.tasks_per_s * stream.mean_jobs * 24 * HOUR
            for key in ("offered_cores", "tasks_per_day"):
                if key in said and jobs > MOST_JOBS:
                    said[key] = float(said[key]) * MOST_JOBS / jobs
    for said, incident in zip(values.get("incidents", ()), scenario.incidents, strict=True):
        said |= {key: getattr(incident, key) for key in ("at", "until") if key in said}
    return values | {"duration": scenario.duration}


def _shorter(values: dict[str, Any], duration: float) -> dict[str, Any]:
    """Values of a scenario that ends earlier, with its incidents in the time that is left."""
    for said in values.get("incidents", ()):
        said |= {key: said[key] * duration / values["duration"] for key in ("at", "until") if said.get(key)}
    return {key: value for key, value in values.items() if key != "record"} | dict(duration=duration, warm_up=0)


def drawn(random: Random) -> dict[str, Any]:
    """Sites, queues, storages, shares, and streams of work for them."""
    duration = random.choice([2, 4, 8, 12]) * HOUR
    sites = {f"S{n}": _site(random, n) for n in range(random.randint(2, 6))}
    queues = {f"Q{n}": _queue(random, site) for n, site in enumerate(
        name for name in sites for _ in range(random.choice([1, 1, 2])))}
    storages = _storages(random, sites)
    shares, leaves = _shares(random)
    campaigns = [_campaign(random, f"c{n}", random.choice(leaves), duration) for n in range(random.randint(1, 3))]
    users = [users_of(random, f"u{n}", random.choice(leaves), duration) for n in range(random.choice([0, 1, 1, 2]))]
    trace = dict(trace=_trace(random, leaves)) if random.random() < 0.1 else {}
    data = dict(datasets=datasets_of(random, storages)) if random.random() < 0.7 else {}
    return dict(duration=duration, warm_up=random.choice([0, 0, duration // 4]),
                start=random.choice(["empty", "empty", "filled"]),
                grid=dict(sites=sites, queues=queues, storages=storages,
                          links={"default": {"bandwidth": random.choice([1e8, 1e9]), "closeness": 4}}),
                shares=shares, workload=dict(campaigns=campaigns, users=users, **trace), data=data)


def _site(random: Random, number: int) -> dict[str, Any]:
    """A site; the first is a nucleus."""
    return dict(tier=random.randint(0, 3), region=random.choice(["CH", "IT", "ND"]),
                nucleus=random.random() < 0.4 or not number, cores=random.choice([16, 64, 200, 400]),
                failure_rate=random.choice([0, 0.03, 0.3]))


def _queue(random: Random, site: str) -> dict[str, Any]:
    """A queue of any worker mode."""
    return dict(atlas_site=site, workflow=random.choice([*MODES.names(), None]), corepower=random.choice([8, 10, 15]),
                capability=random.choice(["ucore", "ucore", "mcore", "score"]),
                maxrss=random.choice([0, 16000, 32000]), maxtime=random.choice([0, 24 * HOUR, 96 * HOUR]),
                type=random.choice(["unified", "unified", "production", "analysis"]))


def _storages(random: Random, sites: dict[str, Any]) -> dict[str, Any]:
    """A storage of disk at most sites, at all nuclei, and some tapes."""
    found = {}
    for name, said in sites.items():
        if said["nucleus"] or random.random() < 0.8:
            total = random.choice([50, 500, 2000]) * TB
            found[f"{name}_DISK"] = dict(site=name, total=total, free=total * random.choice([0.05, 0.3, 0.6]))
            if random.random() < 0.25:
                found[f"{name}_TAPE"] = dict(site=name, total=total, free=total / 2, tape=True, type="DATATAPE",
                                             drives=random.randint(1, 4))
    return found


def _shares(random: Random) -> tuple[list[dict[str, Any]], list[str]]:
    """A tree of shares, and the names of its leaves."""
    tree, leaves = [], []
    for n in range(random.randint(1, 3)):
        share: dict[str, Any] = dict(name=f"L{n}", value=random.choice([10, 30, 60]))
        if random.random() < 0.4:
            share["children"] = [dict(name=f"L{n}{m}", value=random.choice([1, 5, 9])) for m in range(2)]
        leaves += [child["name"] for child in share.get("children", ())] or [share["name"]]
        tree.append(share)
    return tree, leaves


def _payload(random: Random, name: str, leaf: str, duration: float) -> dict[str, Any]:
    """A stream whose jobs take between a few minutes and some hours."""
    cores, hours = random.choice([1, 1, 8]), random.choice([0.2, 1, 4])
    return dict(name=name, gshare=leaf, corecount=cores, events_per_job=100, corepower=10,
                offered_cores=min(random.choice([20, 100, 300]), MOST_JOBS * hours * cores * HOUR / duration),
                backlog_time=random.choice([0, HOUR]),
                hs06sec_per_event=dict(median=hours * HOUR * cores * 10 / 100, sigma=0.4),
                memory_per_core=random.choice([500, 1500, 2500]),
                jobs_per_task=dict(median=random.choice([3, 20]), sigma=0.5),
                input_per_job=random.choice([0, 1, 5]) * GB, output_per_job=random.choice([0, 0.1, 2]) * GB)


def _campaign(random: Random, name: str, leaf: str, duration: float) -> dict[str, Any]:
    return _payload(random, name, leaf, duration) | dict(processingtype=random.choice(TAGS))


def users_of(random: Random, name: str, leaf: str, duration: float) -> dict[str, Any]:
    """A stream of tasks of users."""
    return _payload(random, name, leaf, duration) | dict(
        users=random.choice([1, 5, 30]), tasks_per_period=random.choice([1, 3]), active_period=HOUR)


def datasets_of(random: Random, storages: dict[str, Any]) -> dict[str, Any]:
    """Datasets that lie at some storages, of 1 % of the smallest of these."""
    size = min(said["total"] - said["free"] for said in storages.values()) / 200
    names = sorted(storages)
    return {f"D{n}": dict(
        files=random.choice([1, 20, 200]), bytes=size * random.uniform(0.1, 1), container=random.choice(["box", None]),
        replicas=[dict(storage=name) for name in random.sample(names, random.randint(1, min(2, len(names))))])
        for n in range(random.randint(1, 4))}


def _trace(random: Random, leaves: list[str]) -> dict[str, Any]:
    """A recorded workload, as tasks or as jobs."""
    return {"file": TRACE, "share": random.choice(leaves), "as": random.choice(["tasks", "jobs"])}


def write_trace(folder: Path) -> None:
    """Write the recorded jobs of all scenarios with a trace: some hundred of two hours, in SWF."""
    random = Random(TRACE)
    lines = [f"{n} {n * 30} 5 {random.randint(60, 7200)} {random.choice([1, 1, 8])} -1 500000 1 -1 -1 1 "
             f"{random.randint(1, 5)} {random.randint(1, 2)} {random.randint(1, 9)} 1 1 -1 -1" for n in range(1, 250)]
    (folder / TRACE).write_text("\n".join(lines))
