"""The PanDA queues of a synthetic grid and their limits, from the quantiles of CRIC in October 2025.

Sources: workload statistics, section 2.1, below WS 2.1; formats reference, section 1.1. HPC and cloud queues fill
their slots in advance (numslots of Harvester_Slots); that all of them do is an assumption.
"""

from dataclasses import dataclass

from simgrid_broker.scenario.model import SyntheticGrid
from simgrid_broker.scenario.quantiles import interpolated, stepped

COREPOWER = (7.27, 9.8, 10.75, 13.6, 16.05, 21.59, 27.18)
"""HS06 per core at `quantiles.PUBLISHED_AT`; source: WS 2.1."""

MAXWDIR = (20e3, 30e3, 100e3, 160e3, 204.8e3, 520e3, 5120e3)
"""MB of scratch space of a slot at `quantiles.PUBLISHED_AT`; source: WS 2.1, but for the least, 5 GB there: such a
queue would take nothing under the documented rule, which divides by the cores."""

LIMITS = {
    "maxrss": ((25, 16000), (15, 24000), (35, 32000), (20, 48000), (5, 96000)),
    "maxtime": ((2, 0), (13, 86400), (25, 172800), (20, 259200), (38, 345600), (2, 1209600)),
    "meanrss": ((72, 2000), (15, 3000), (13, 4000)),
    "timefloor": ((62, 60), (30, 0), (5, 120), (3, 1440)),
    "maxinputsize": ((50, 100000), (20, 50000), (20, 14336), (10, -1)),
    "transferringlimit": ((60, 0), (1, 200), (15, 2000), (10, 3000), (8, 6000), (6, 20000)),
    "direct_access_lan": ((115, True), (112, False)),
    "direct_access_wan": ((171, True), (56, False)),
}
"""Parts of the whole and values; sources: WS 2.1 (maxrss, maxtime, transferringlimit), formats reference 1.1 (rest)."""

SIMULATION = "type=simul:100%,type=any:0%"
SIMULATION_AND_EVGEN = "type=evgen:100%,type=simul:100%,type=any:0%"
POLICIES = ((88, ""), (4, "priority>500:0"), (4, "type=evgen:0%,type=any:100%"),
            (4, "type=simul:0%,group=GP_VALI:100%,group=GP_*:0%"))
"""`fairsharepolicy` of ordinary queues; source: the values are real ones (formats reference, section 1.3), how often
each occurs on ordinary queues is an assumption."""

TYPES = ((60, "unified"), (12, "production"), (8, "both"))
"""Kinds of work of the main queue; `both` is a pair of queues. CRIC has 114 unified, 94 production and 18 analysis
queues, HPC and retired ones included (WS 2.1); the split of ordinary ones is an assumption."""

OUT_OF_USE = ((55, ""), (20, "test"), (16, "brokeroff"), (9, "offline"))
"""Status of a second queue on the site's batch system. CRIC: 29 test, 25 brokeroff, 13 offline of 227 (WS 2.1); that
they stand beside a working queue, so that no cores lie idle, is an assumption."""

HPC_CORECOUNTS = ((4, 16), (4, 32), (4, 64), (2, 128))
"""Cores of a slot on HPC queues; source: WS 2.1 (16 in nine queues, 56 to 256 in about twenty)."""


@dataclass(frozen=True)
class Pool:
    """One batch system: a site's own (kind `site`), or one beside it (`hpc`, `cloud`)."""

    site: str
    kind: str


def synthetic_queues(spec: SyntheticGrid, sites: dict, cores: dict[Pool, int]) -> dict:
    """Queues of all sites as a dict of YAML shape; those of `hpc` and `cloud` have their own cores."""
    n = len(sites)
    if spec.queues == "unified":
        return {f"{name}_UCORE": common | {"type": "unified"} | _in_advance(spec, sites[name])
                for name, common in _common(spec, sites).items()}
    types, second, policies, hpc = (stepped(spec.seed, question, n, values) for question, values in (
        ("type", TYPES), ("second queue", OUT_OF_USE), ("fairsharepolicy", POLICIES), ("hpc cores", HPC_CORECOUNTS)))
    queues = {}
    for k, (name, common) in enumerate(_common(spec, sites).items()):
        queues |= _ordinary(name, common, types[k], policies[k]) | _out_of_use(name, common, second[k])
        if (pool := Pool(name, "hpc")) in cores:
            queues[f"{name}_HPC"] = common | _HPC | {
                "corecount": hpc[k], "maxwdir": common["maxwdir"] * hpc[k] / 8, "cores": int(cores[pool]),
                "num_slots": int(cores[pool]) // hpc[k], "params": _waiting_workers(cores[pool])}
        if (pool := Pool(name, "cloud")) in cores:
            queues[f"{name}_CLOUD"] = common | _CLOUD | {
                "cores": int(cores[pool]), "num_slots": int(cores[pool]) // 8, "params": _waiting_workers(cores[pool])}
    return queues


_HPC = {"type": "production", "capability": "mcore", "workflow": "push", "resource_type": "hpc", "maxrss": 0,
        "meanrss": 0, "timefloor": 0, "wnconnectivity": "http", "fairsharepolicy": SIMULATION}
_CLOUD = {"type": "production", "pledgedcpu": -1, "resource_type": "cloud", "fairsharepolicy": SIMULATION_AND_EVGEN}


def _in_advance(spec: SyntheticGrid, site: dict) -> dict:
    """Harvester_Slots of a site's only queue, if the grid is to fill its slots in advance."""
    return {"num_slots": site["cores"]} if spec.in_advance else {}


def _common(spec: SyntheticGrid, sites: dict) -> dict[str, dict]:
    """What all queues of a site have in common, by site; that tiers 0 and 1 all read directly is an assumption."""
    n = len(sites)
    columns = {name: stepped(spec.seed, name, n, values) for name, values in LIMITS.items()}
    columns["corepower"] = [spec.corepower] * n if spec.corepower else [
        round(float(power), 2) for power in interpolated(spec.seed, "corepower", n, COREPOWER)]
    columns["maxwdir"] = [round(float(mb), -3) for mb in interpolated(spec.seed, "maxwdir", n, MAXWDIR)]
    columns["direct_access_lan"] = [direct or site["tier"] < 2 for direct, site in zip(
        columns["direct_access_lan"], sites.values(), strict=True)]
    return {name: {"atlas_site": name, **{column: values[k] for column, values in columns.items()},
                   "params": _waiting_workers(sites[name]["cores"])} for k, name in enumerate(sites)}


def _waiting_workers(cores: int) -> dict:
    """Harvester's least number of waiting workers by the size of the batch system: one for 40 cores, assumed.

    The 100 of ATLAS's template would fill the line of a batch system of 48 cores for days.
    """
    return {"nQueueLimitWorkerMin": max(2, int(cores) // 40)}


def _ordinary(name: str, common: dict, kind: str, policy: str) -> dict:
    """The main queue on a site's own batch system, and its partner for analysis where the two are apart."""
    main = common | {"type": "unified" if kind == "unified" else "production", "fairsharepolicy": policy}
    return {f"{name}_UCORE": main} | ({f"{name}_ANALY": _single_core(common) | {"type": "analysis"}}
                                      if kind == "both" else {})


def _out_of_use(name: str, common: dict, status: str) -> dict:
    """A second queue that takes no brokered work: one for tests, or one left over from before the unified queues."""
    if status == "test":
        return {f"{name}_TEST": common | {"status": status}}
    if status == "brokeroff":
        return {f"{name}_MCORE": common | {"status": status, "type": "production", "capability": "mcore"}}
    if status == "offline":
        return {f"{name}_SCORE": _single_core(common) | {"status": status, "type": "production"}}
    return {}


def _single_core(common: dict) -> dict:
    return common | {"capability": "score", "corecount": 1, "maxrss": common["maxrss"] // 8,
                     "maxwdir": common["maxwdir"] // 8}
