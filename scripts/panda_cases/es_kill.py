"""A kill of a job of event service: the other consumers, the ranges and the input files."""

from panda_cases import event_service
from panda_cases.shape import fields, reads, whole
from simgrid_broker.systems.events.policy.kills import kill


@reads(**event_service.PARTS, kill=fields(PandaID=whole(), code=whole(0)))
def answer(case: dict) -> dict:
    """Changes by the kill of a job."""
    before, after = event_service.jobset(case), event_service.jobset(case)
    accepted, is_told = kill(after, case["kill"]["PandaID"], case["kill"]["code"])
    return dict(
        accepted=accepted, propagated=is_told, ranges=event_service.all_ranges(after),
        jobs={key: event_service.job_attributes(one)
              for key, one in event_service.changed_jobs(before, after).items()},
        files=event_service.changed_files(before, after))
