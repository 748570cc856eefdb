"""Troubles of networks: when each begins and ends, drawn for each site or link."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.network import Trouble


class Moment(NamedTuple):
    """Begin or end of a trouble: time, s; its cause (kind, names, number); whether it begins; what is left.

    names: the site, or source and destination of the link.
    """

    at: float
    cause: tuple[int, tuple[str, ...], int]
    begins: bool
    factor: float


def troubles(scenario: Scenario) -> list[Moment]:
    """All troubles of a run, in order of time; each kind comes to each site, or link, as an alternating process."""
    return sorted(moment for kind, trouble in enumerate(scenario.grid.links.troubles)
                  for names in _befallen(scenario, trouble) for moment in _of(scenario, kind, trouble, names))


def _befallen(scenario: Scenario, trouble: Trouble) -> Iterator[tuple[str, ...]]:
    """Names of the sites, or ends of the links, that have a kind of trouble."""
    for site in scenario.grid.sites:
        if trouble.of == "sites":
            yield (site,)
            continue
        yield from ((site, other) for other in scenario.grid.sites if other != site)


def _of(scenario: Scenario, kind: int, trouble: Trouble, names: tuple[str, ...]) -> Iterator[Moment]:
    """One kind of trouble at one site or link: exponential times without and with it, keyed by their number."""
    now, number, key = 0.0, 0, key_of("\n".join(names))
    while True:
        luck = uniforms(scenario.seed, "network_trouble", key, kind, np.array([2 * number, 2 * number + 1]))
        begin = now - trouble.every * float(np.log(luck[0]))
        if begin >= scenario.duration:
            return
        now = begin - trouble.lasts * float(np.log(luck[1]))
        yield Moment(begin, (kind, names, number), True, trouble.factor)
        if now < scenario.duration:
            yield Moment(now, (kind, names, number), False, trouble.factor)
        number += 1
