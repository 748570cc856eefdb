"""Requests of consumers for event ranges, and their reports."""

import simgrid_broker.systems.events.table as ranges
from panda_cases import event_service
from panda_cases.shape import either, fields, reads, rows, text, whole
from simgrid_broker.systems.events.policy.jobset import Jobset
from simgrid_broker.systems.events.policy.requests import (
    BUNCH,
    get_event_ranges,
    processed_events,
    update_event_range,
)


@reads(**event_service.PARTS, steps=rows(fields(
    call=text(None, ("get", "update")), PandaID=whole(), jobsetID=whole(), nRanges=either(whole(), text()),
    events=rows(fields(eventRangeID=text(""), eventStatus=text("")))), "call"))
def answer(case: dict) -> dict:
    """Ranges that are given, reports that are accepted, and all ranges and changed jobs afterwards."""
    before, after = event_service.jobset(case), event_service.jobset(case)
    steps, size = [], case["task"]["nEventsPerWorker"]
    for step in case["steps"]:
        if step["call"] == "get":
            given = get_event_ranges(after, step["PandaID"], step["jobsetID"] or case["jobsetID"],
                                     min(max(asked(step), 0), len(case["ranges"])))
            steps.append(dict(ranges=[range_id(after, row, case["task"]["jediTaskID"]) for row in given]))
        else:
            steps.append(dict(accepted=[report(after, event, size) for event in step["events"]]))
    changed = {str(key): one for key, one in after.jobs.items() if one != before.jobs[key]}
    return dict(steps=steps, ranges=event_service.all_ranges(after), jobs={
        key: event_service.job_attributes(one) | dict(nEvents=one.n_events) for key, one in changed.items()})


def asked(step: dict) -> int:
    """Number of ranges that a request asks for; one without a number gets a bunch."""
    try:
        return int(step["nRanges"])
    except (TypeError, ValueError):
        return BUNCH


def range_id(jobset: Jobset, row: int, task: int) -> str:
    """PanDA's eventRangeID."""
    one = jobset.ranges.rows[row]
    file = jobset.ranges.chunks[one["chunk"]]["file"]
    return f"{task}-{one['owner']}-{file}-{one['first']}-{one['attempts']}"


def report(jobset: Jobset, event: dict, size: int) -> bool | None:
    """Result of a report; one on a range with a number that no table holds is refused."""
    table = jobset.ranges
    try:
        _, owner, file, first, attempts = map(int, event["eventRangeID"].split("-"))
        row = ranges.find(table.rows, table.chunks, jobset.chunks_of(), owner, file, first, attempts)
    except (OverflowError, ValueError):
        return False
    accepted = update_event_range(jobset, row, owner, event["eventStatus"])
    if accepted and event["eventStatus"] == "finished":
        jobset.jobs[owner].n_events = processed_events(jobset, owner, size)
    return accepted
