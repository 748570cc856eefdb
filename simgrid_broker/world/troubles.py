"""Troubles of the networks of sites: when each begins and ends, drawn for each site."""

from typing import NamedTuple

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.scenario.model import Scenario


class Moment(NamedTuple):
    """Begin or end of a trouble: time, s; its cause (kind, site, number); whether it begins; what is left."""

    at: float
    cause: tuple[int, str, int]
    begins: bool
    factor: float


def troubles(scenario: Scenario) -> list[Moment]:
    """All troubles of a run, in order of time; each kind comes to each site as an alternating process."""
    return sorted(moment for kind, trouble in enumerate(scenario.grid.links.troubles) for site in scenario.grid.sites
                  for moment in _of_site(scenario, kind, trouble, site))


def _of_site(scenario: Scenario, kind: int, trouble, site: str):
    """Moments of one kind of trouble at one site: exponential times without and with it, keyed by their number."""
    now, number, key = 0.0, 0, key_of(site)
    while True:
        luck = uniforms(scenario.seed, "network_trouble", key, kind, np.array([2 * number, 2 * number + 1]))
        begin = now - trouble.every * float(np.log(luck[0]))
        if begin >= scenario.duration:
            return
        now = begin - trouble.lasts * float(np.log(luck[1]))
        yield Moment(begin, (kind, site, number), True, trouble.factor)
        if now < scenario.duration:
            yield Moment(now, (kind, site, number), False, trouble.factor)
        number += 1
