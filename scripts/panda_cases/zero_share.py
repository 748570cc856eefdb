"""Zero share: whether the `fairsharepolicy` of a queue refuses a task."""

import simgrid_broker as sb
from panda_cases import plain

QUEUE, ANY_SHARE = "QUEUE", "SHARE"
REFUSED = "-zeroshare"


def answer(case: dict) -> dict:
    """True if the dry run refuses the queue for zero share; everything else fits."""
    decision = sb.broker(sb.Snapshot.from_dict(snapshot(case)))
    return {"zero_share": decision.candidates[0].tag == REFUSED}


def snapshot(case: dict) -> dict:
    """A task that names the queue, so that the check is made for every share.

    Clauses on priority hold for merge jobs, and for a task without priority.
    """
    task = dict(prodsourcelabel="test", site=[QUEUE], processingtype=case["processingType"] or "",
                workinggroup=case["workingGroup"] or "", priority=case["priority"] or 0,
                next_jobs=dict(merging=case["ignorePriority"] or case["priority"] is None),
                without_share=not case["gshare"])
    queue = dict(fairsharepolicy=case["fairsharepolicy"] or "")
    return plain.snapshot(case["edition"], {QUEUE: queue}, case["gshare"] or ANY_SHARE, task)
