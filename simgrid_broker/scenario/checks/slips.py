"""Remarks on slips of hand: values far from what any grid has, with what was probably meant.

Ranges are wide around what queues of CRIC have (the subset in the data, 157 queues: maxtime 2 h to 14 d, maxrss 1.8 to
256 GB, maxwdir 5 GB to 5.1 TB, corepower 8 to 27), those of sites, links, storages and work are assumed.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import log
from statistics import median
from typing import NamedTuple

from simgrid_broker.errors import first_three
from simgrid_broker.scenario.checks.grid import cores_by_key
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.units import DAY, HOUR, MINUTE

TIMES = ("h", HOUR), ("min", MINUTE), ("d", DAY)
MEMORY = ("GB", 1e3), ("TB", 1e6), ("bytes", 1e-6)
SIZES = ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)
RATES = ("MB/s", 1e6), ("Gb/s", 1.25e8), ("GB/s", 1e9)


class Usual(NamedTuple):
    """The usual range of a value, 0 apart: of a kind of thing, its key, smallest and largest in a unit, the range in
    words, and units that may have been meant, each with its size.
    """

    kind: str
    key: str
    least: float
    most: float
    unit: str
    says: str
    units: tuple[tuple[str, float], ...] = ()


USUAL = (
    Usual("queue", "maxtime", 15 * MINUTE, 60 * DAY, "s", "queues of CRIC have 2 h to 14 d", TIMES),
    Usual("queue", "mintime", MINUTE, 30 * DAY, "s", "queues of CRIC have 1 h", TIMES),
    Usual("queue", "maxrss", 500, 4e6, "MB", "queues of CRIC have 1.8 to 256 GB", MEMORY),
    Usual("queue", "meanrss", 100, 1e5, "MB", "queues of CRIC have 1 to 10 GB", MEMORY),
    Usual("queue", "maxwdir", 1e3, 5e7, "MB", "queues of CRIC have 5 GB to 5.1 TB", MEMORY),
    Usual("queue", "corepower", 1, 200, "HS06", "queues of CRIC have 8 to 27"),
    Usual("site", "memory_per_core", 200, 2e5, "MB", "sites have some GB", MEMORY),
    Usual("site", "stage_in_rate", 1e4, 1e11, "bytes/s", "jobs read some MB/s", RATES),
    Usual("site", "door_in", 1e5, 1e13, "bytes/s", "doors have some Gb/s", RATES[1:]),
    Usual("site", "door_out", 1e5, 1e13, "bytes/s", "doors have some Gb/s", RATES[1:]),
    Usual("storage", "total", 1e9, 1e19, "bytes", "storages have TB to PB", SIZES[2:]),
    Usual("storage", "free", 1e9, 1e19, "bytes", "storages have TB to PB", SIZES[2:]),
    Usual("stream", "memory_per_core", 10, 2e5, "MB", "jobs take 0.1 to 10 GB a core", MEMORY),
    Usual("stream", "ramcount", 10, 4e6, "MB", "jobs take 0.1 to 10 GB a core", MEMORY),
    Usual("stream", "input_per_job", 1e3, 1e14, "bytes", "jobs read MB to TB", SIZES[:3]),
    Usual("stream", "output_per_job", 1e3, 1e14, "bytes", "jobs write MB to TB", SIZES[:3]),
    Usual("stream", "workDirSize", 1, 5e7, "MB", "jobs take MB to TB", MEMORY),
    Usual("links", "bandwidth", 1e5, 1e13, "bytes/s", "links have some Gb/s", RATES[1:]),
    Usual("scenario", "duration", MINUTE, 36_600 * DAY, "s", "runs last hours to years", TIMES),
    Usual("scenario", "warm_up", MINUTE, 36_600 * DAY, "s", "warm-ups last hours to days", TIMES),
)
MOST_LOAD = 10.0
"""Offered cores, relative to those of all batch systems, that no scenario needs: a few times keep them busy."""


def unusual_values(scenario: Scenario) -> Iterator[str]:
    """Values far from what any grid has, equal ones of several things in one sentence."""
    for usual in USUAL:
        values = dict(_values(scenario, usual))
        odd: dict[float, list[str]] = {}
        for name, value in values.items():
            if value and not usual.least <= value <= usual.most:
                odd.setdefault(value, []).append(name)
        others = [value for value in values.values() if usual.least <= value <= usual.most]
        for value, names in odd.items():
            meant = probably(value, usual, others)
            yield (f"{usual.key} of {first_three(names)} is {value:.15g} {usual.unit}; {usual.says}."
                   + (f" {value:.15g} {meant} was probably meant." if meant else ""))


def probably(value: float, usual: Usual, others: Iterable[float]) -> str:
    """The unit in which a value is usual, the one that makes it most like others if there are any; empty if none."""
    fits = [(word, value * size) for word, size in usual.units if usual.least <= value * size <= usual.most]
    if not fits:
        return ""
    typical = [other for other in others if other > 0]
    if not typical:
        return fits[0][0]
    return min(fits, key=lambda fit: abs(log(fit[1] / median(typical))))[0]


def _values(scenario: Scenario, usual: Usual) -> Iterator[tuple[str, float]]:
    """Things of a kind in words, with their value, the median of one that is drawn."""
    for name, thing in _things(scenario, usual.kind):
        value = getattr(thing, usual.key)
        value = getattr(value, "median", value)
        if isinstance(value, int | float):
            yield name, float(value)


def _things(scenario: Scenario, kind: str) -> Iterator[tuple[str, object]]:
    grid = scenario.grid
    if kind == "scenario":
        yield "the run", scenario
    elif kind == "links":
        yield "links", grid.links.default
    elif kind == "stream":
        yield from ((repr(stream.name), stream) for stream in scenario.workload.streams)
    else:
        named: dict[str, Mapping[str, object]] = {"queue": grid.queues, "site": grid.sites, "storage": grid.storages}
        yield from ((f"{kind} {name!r}", thing) for name, thing in named[kind].items())


def more_work_than_cores(scenario: Scenario) -> Iterator[str]:
    """Streams that ask for many times the cores of all batch systems."""
    cores = sum(cores_by_key(scenario).values())
    for stream in scenario.workload.streams:
        offered = stream.offered_cores or 0.0
        if cores and offered > MOST_LOAD * cores:
            meant = f" {offered / 1000:g} was probably meant." if offered / 1000 <= MOST_LOAD * cores else ""
            yield (f"offered_cores of {stream.name!r}, {offered:,.15g}, is {offered / cores:,.0f} times the {cores:,} "
                   f"cores of all batch systems, so that most of this work never starts.{meant}")


def no_jobs_made(scenario: Scenario) -> Iterator[str]:
    """A key that switches job generation off, and that no incident switches on."""
    if in_force(scenario)["jobgen", "JOB_SUBMISSION"] is False and not any(
            incident.what == "gdpconfig" and str(incident.key).endswith("JOB_SUBMISSION")
            for incident in scenario.incidents):
        yield ("gdpconfig.JOB_SUBMISSION is false, so that no jobs are made of tasks in the whole run; its default is "
               "true.")
