"""Software and hardware: queues that a task passes, and their weights for its preferred CPU level."""

import numpy as np

import simgrid_broker as sb
from panda_cases import grid, plain
from panda_cases.architecture import as_json
from panda_cases.layout import OF_SOFTWARE, complete
from simgrid_broker.policy.brokerage.production.candidates import preferences
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.scenario.importers.cric import EVERYWHERE, software
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.world.snapshot.reading import world_of
from simgrid_broker.world.views import observe

TAGS = ("-cache", "-regexpcmtconfig")


def answer(case: dict) -> dict:
    """Queues that the dry run does not refuse for software or hardware; everything else fits."""
    given, limits = snapshot(complete(case, OF_SOFTWARE))
    asked = sb.Snapshot.from_dict(given)
    decision = sb.broker(asked)
    refused = {each.name: each.tag for each in decision.candidates if each.tag in TAGS}
    known = preferences(JobCase(decision.task, observe.queues(world_of(asked)), decision.edition))
    names = [each.name for each in decision.candidates]
    weights = {} if known is None else dict(zip(names, known.tolist(), strict=True))
    return {"status": "SUCCEEDED" if len(refused) < len(decision.candidates) else "FAILED", "rejected": refused,
            "accepted": sorted(set(names) - set(refused)),
            "preference": {name: weight for name, weight in weights.items() if not np.isnan(weight)}, "limits": limits}


def snapshot(case: dict) -> tuple[dict, list[str]]:
    """Single-core queues that publish software, the task, and what was not understood."""
    tally = Tally()
    published = {name: software(name, entry, tally) for name, entry in case["software"].items()}
    everywhere = published.pop(EVERYWHERE, None)
    queues = {name: dict(releases=queue["releases"], software=published.get(name), **grid.hardware(name, case))
              for name, queue in case["queues"].items()}
    wanted = case["task"]
    task = dict(architecture=as_json(wanted.get("architecture")), transhome=wanted.get("transHome") or "",
                container_name=wanted.get("container_name") or "", onlyTagsForFC=bool(wanted.get("onlyTagsForFC")))
    for_all = {"software_of_all": everywhere} if everywhere else {}
    return plain.snapshot(case["edition"], queues, "SHARE", task, **for_all), list(tally.remarks())
