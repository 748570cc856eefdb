"""Zero share: whether the `fairsharepolicy` of a queue refuses a task."""

import simgrid_broker as sb
from panda_cases import plain
from panda_cases.layout import OF_ZERO_SHARE, complete

QUEUE, ANY_SHARE = "QUEUE", "SHARE"
REFUSED = "-zeroshare"


def answer(case: dict) -> dict:
    """True if the dry run refuses the queue for zero share; everything else fits."""
    decision = sb.broker(sb.Snapshot.from_dict(snapshot(complete(case, OF_ZERO_SHARE))))
    return {"zero_share": decision.candidates[0].tag == REFUSED}


def snapshot(case: dict) -> dict:
    """A task that names the queue, so that the check is made for every share.

    Clauses on priority hold for merge jobs, and for a task without priority.
    """
    task = dict(prodsourcelabel="test", site=[QUEUE], processingtype=case.get("processingType") or "",
                workinggroup=case.get("workingGroup") or "", priority=case.get("priority") or 0,
                next_jobs=dict(merging=bool(case.get("ignorePriority")) or case.get("priority") is None),
                without_share=not case.get("gshare"))
    queue = dict(fairsharepolicy=case.get("fairsharepolicy") or "")
    return plain.snapshot(case["edition"], {QUEUE: queue}, case.get("gshare") or ANY_SHARE, task)
