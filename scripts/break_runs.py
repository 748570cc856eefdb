#!/usr/bin/env python3
"""Break random keys of random scenarios, ask `why` for the key, relax it, and see whether the share gets more cores.

    scripts/break_runs.py --seeds 0-99              a hundred scenarios, about three seconds each
    scripts/break_runs.py --seeds 17-17 --keep DIR  one of them; its runs stay in a folder, for `simgrid-broker why`

A seed makes a grid of three to six sites, shares with more work than cores, and one break: a key of gdpconfig, an
attribute of the queues, a link or a claim of the tasks. A break counts if it costs its share a twentieth of its target
and leaves it short. The first setting that `why` names is then relaxed (`chain_words.relaxed`) and the run is repeated.
An answer is right if the share gets a twentieth of its target more; one without a setting is wrong.

Each answer is a line; a table counts them by break. Exit status 1 if fewer than nine of ten answers are right.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tqdm import tqdm

import simgrid_broker as sb
from simgrid_broker.metrics.chain import Why
from simgrid_broker.metrics.chain_words import relaxed
from simgrid_broker.records import Run

MORE = 0.05
"""Part of its target that a share must gain."""
LEAST_RIGHT = 0.9
"""Part of the answers that must be right."""
SHARES = ("Evgen", "Simul", "Reco", "Group")
SITES = ("ALPHA", "BETA", "GAMMA", "DELTA", "EPSILON", "ZETA")
Values = dict[str, Any]


class Grid(NamedTuple):
    """A random scenario before it is broken: its document, the share to break, its target in jobs, and all queues."""

    document: Values
    share: str
    jobs: int
    corecount: int
    queues: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Resource type of the jobs of the share."""
        return "MCORE" if self.corecount > 1 else "SCORE"


def grid_of(dice: Random) -> Grid:
    """A random grid with more work than cores in every share."""
    sites = SITES[:dice.randint(3, len(SITES))]
    cores = {name: 8 * dice.randint(6, 24) for name in sites}
    names = SHARES[:dice.randint(2, len(SHARES))]
    weights = {name: dice.randint(10, 50) for name in (*names, "Analysis")}
    total, whole = sum(cores.values()), sum(weights.values())
    counts = {name: dice.choice((1, 1, 8)) for name in names} | {"Analysis": 1}
    analysis = [{"name": "Analysis", "value": weights["Analysis"], "prodsourcelabel": "user|panda"}]
    document = {
        "name": "broken", "description": "A random grid with a break", "duration": "6h", "warm_up": "2h",
        "edition": dice.choice(("documented", "deployed")), "seed": dice.randrange(1000),
        "grid": {
            "sites": {name: {"tier": 1 if name == sites[0] else 2, "region": "CH", "cores": cores[name],
                             "nucleus": name in sites[:2], "failure_rate": "2%"} for name in sites},
            "queues": {name: {"atlas_site": name, "corepower": dice.randint(8, 12), "maxrss": "32 GB",
                              "maxtime": "96h"} for name in sites},
            "storages": {f"{name}_DATADISK": {"site": name, "total": "2 PB", "free": "400 TB"} for name in sites},
            "links": {"default": {"bandwidth": "10 Gb/s", "latency": "30 s", "closeness": 4}}},
        "shares": [*({"name": name, "value": weights[name], "prodsourcelabel": "managed",
                      "processingtype": name.lower()} for name in names), *analysis],
        "workload": {
            "campaigns": [_campaign(dice, name, counts[name], 1.6 * total * weights[name] / whole) for name in names],
            "users": [{"name": "Analysis", "users": 4, "corecount": 1, "events_per_job": 12,
                       "hs06sec_per_event": {"median": 3000, "sigma": 0.2}, "memory_per_core": "1 GB",
                       "input_per_job": "200 MB", "output_per_job": "50 MB", "jobs_per_task": {"median": 30},
                       "replicas": {"number": 4, "where": "any", "incomplete": 0},
                       "tasks_per_period": 3, "active_period": "1h", "daily_amplitude": 0, "weekend_drop": 0,
                       "offered_cores": 1.6 * total * weights["Analysis"] / whole, "corepower": 10,
                       "backlog_time": "4h"}]}}
    share = dice.choice((*names, "Analysis"))
    return Grid(document, share, max(1, int(total * weights[share] / whole / counts[share])), counts[share], sites)


def _campaign(dice: Random, name: str, corecount: int, cores: float) -> Values:
    """Work of a share, in jobs of about an hour."""
    return {"name": name, "processingtype": name.lower(), "corecount": corecount, "events_per_job": 12 * corecount,
            "hs06sec_per_event": {"median": dice.choice((2000, 3000)), "sigma": 0.2}, "memory_per_core": "1 GB",
            "input_per_job": "200 MB", "output_per_event": "0.5 MB", "jobs_per_task": {"median": 40, "sigma": 0.3},
            "offered_cores": cores, "corepower": 10, "backlog_time": "4h"}


def _of_throttler(key: str, most: float) -> Any:
    """A limit of the throttler at one of its levels, as a part up to `most` of the jobs that fill the target."""
    def breaks(dice: Random, grid: Grid) -> Values:
        level = dice.choice(("", f"_{grid.kind}", f"_{grid.kind}*"))
        return {f"gdpconfig.{key}_{grid.share}{level}": max(1, int(dice.uniform(0.2, 1) * most * grid.jobs))}
    return breaks


def _of_queues(*choices: tuple[str, Any]) -> Any:
    """One of some attributes at half of the queues or more."""
    def breaks(dice: Random, grid: Grid) -> Values:
        attribute, value = dice.choice(choices)
        hit = dice.sample(grid.queues, max(1, round(dice.uniform(0.5, 1) * len(grid.queues))))
        return {f"grid.queues.{name}.{attribute}": value for name in hit}
    return breaks


def _of_work(attribute: str, value: Any) -> Any:
    """An attribute of the stream of the share."""
    return lambda dice, grid: {f"workload.{_stream(grid)}.{attribute}": value}


def _stream(grid: Grid) -> str:
    return f"users.{grid.share}" if grid.share == "Analysis" else f"campaigns.{grid.share}"


def _types(dice: Random, grid: Grid) -> Values:
    """Queues for the other width of jobs only."""
    hit = dice.sample(grid.queues, len(grid.queues) - dice.randint(0, 1))
    return {f"grid.queues.{name}.capability": "mcore" if grid.corecount == 1 else "score" for name in hit}


def _ratio(dice: Random, grid: Grid) -> Values:
    """Few queued jobs for each running one."""
    keys = {"gdpconfig.THROTTLE_THRESHOLD": dice.choice((0.02, 0.05))}
    return keys | {f"gdpconfig.NQUEUELIMIT_{grid.share}": 2}


def _slow_links(dice: Random, grid: Grid) -> Values:
    """Links that bring less input than jobs need."""
    return {"grid.links.default.bandwidth": "0.2 Mb/s", f"workload.{_stream(grid)}.input_per_job": "150 MB"}


BREAKS = {
    "NRUNNINGCAP": _of_throttler("NRUNNINGCAP", 0.5), "NQUEUECAP": _of_throttler("NQUEUECAP", 0.05), "ratio": _ratio,
    "JOB_SUBMISSION": lambda dice, grid: {"gdpconfig.JOB_SUBMISSION": False},
    "memory of queues": _of_queues(("maxrss", "0.5 GB"), ("maxrss", "0.9 GB")),
    "memory of tasks": _of_work("memory_per_core", "40 GB"),
    "time of queues": _of_queues(("maxtime", "10 min")),
    "status": _of_queues(("status", "brokeroff"), ("status", "offline"), ("status", "test")),
    "types": _types,
    "workers": _of_queues(("params", {"maxWorkers": 3}), ("params", {"nQueueLimitWorker": 1})),
    "links": _slow_links,
    "users": lambda dice, grid: {f"gdpconfig.CAP_RUNNING_USER_{dice.choice(('JOBS', 'CORES'))}": 2},
    "disk of nuclei": lambda dice, grid: {"gdpconfig.DISK_THRESHOLD": 2000},
    "disk of queues": lambda dice, grid: {f"grid.storages.{name}_DATADISK.free": "100 GB" for name in grid.queues},
    "zero share": _of_queues(("fairsharepolicy", "type=any:0%")),
    "smallest memory": _of_queues(("minrss", "12 GB")),
    "batch systems": _of_queues(("batch_latency", "5h")),
    "kind of queues": lambda dice, grid: {
        f"grid.queues.{name}.type": "production" if grid.share == "Analysis" else "analysis" for name in grid.queues},
    "work": _of_work("offered_cores", 5),
    "work dir": _of_queues(("maxwdir", "10 MB")),
    "transfers": lambda dice, grid: {f"grid.queues.{name}.transferringlimit": 1 for name in grid.queues} | {
        "grid.links.default.latency": "4h"},
}
"""Ways to break a run, by name."""


class Verdict(NamedTuple):
    """An answer: the seed, the break, what `why` said, the settings that were relaxed, and the share's cores in the
    whole, the broken and the relaxed run; answer: None if the break is no question.
    """

    seed: int
    name: str
    answer: Why | None
    settings: tuple[str, ...]
    cores: tuple[float, float, float]

    @property
    def is_right(self) -> bool:
        """True if the share got a part of its target more that counts."""
        return self.answer is not None and self.cores[2] - self.cores[1] > MORE * self.answer.target


def judged(seed: int, folder: Path) -> Verdict:
    """Break a run, ask, relax and run again."""
    dice = Random(seed)
    grid = grid_of(dice)
    name = tuple(BREAKS)[seed % len(BREAKS)]

    def run(scenario: sb.Scenario, what: str) -> tuple[Run, Why]:
        found = sb.simulate(scenario, folder=folder / f"{seed}-{what}")
        each, = sb.metrics.why(found, grid.share)
        return found, each
    whole = sb.Scenario.from_dict(grid.document)
    broken = whole.with_values(BREAKS[name](dice, grid))
    before, (recorded, each) = run(whole, "whole")[1].delivered, run(broken, "broken")
    if each.cause is None or not (each.is_short or each.is_work_short) or (
            before - each.delivered <= MORE * each.target):
        return Verdict(seed, name, None, (), (before, each.delivered, each.delivered))
    changes = relaxed(recorded, each.cause)
    after = run(broken.with_values(changes), "relaxed")[1].delivered if changes else each.delivered
    return Verdict(seed, name, each, tuple(changes), (before, each.delivered, after))


def line(one: Verdict) -> str:
    """One answer in a line: cores of the share in the whole, broken and relaxed run, and what was named."""
    what = f"seed {one.seed} ({one.name}): "
    if one.answer is None or one.answer.cause is None:
        return what + "no question"
    cause, cores = one.answer.cause, " -> ".join(f"{each:.0f}" for each in one.cores)
    named = ", ".join(one.settings or cause.settings) or "no setting"
    return (f"{what}{'right' if one.is_right else 'WRONG'}, {one.answer.share} {cores} of {one.answer.target:.0f}, "
            f"{cause.link}: {cause.rule}; {named}")


def table(found: list[Verdict]) -> str:
    """Right answers and all answers by break, and in all."""
    asked = [one for one in found if one.answer is not None]
    right, numbers = (Counter(one.name for one in some) for some in ([one for one in asked if one.is_right], asked))
    rows = [f"{right[name]:4} of {number:4}  {name}" for name, number in sorted(numbers.items())]
    return "\n".join([*rows, f"{len(found)} scenarios, {len(asked)} breaks that count, {right.total()} answers right, "
                      f"{100 * right.total() / max(len(asked), 1):.0f} %"])


def main() -> int:
    """Run the seeds and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0-99", help="first and last seed, default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder of the runs, default: none is kept")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    found = []
    with TemporaryDirectory() as scratch:
        for seed in tqdm(range(int(first), int(last or first) + 1), unit="scenario", disable=None):
            found.append(judged(seed, options.keep or Path(scratch)))
            tqdm.write(line(found[-1]))
    print(table(found))
    asked = [one for one in found if one.answer is not None]
    return int(sum(one.is_right for one in asked) < LEAST_RIGHT * len(asked))


if __name__ == "__main__":
    sys.exit(main())
