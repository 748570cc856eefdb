"""Requests of consumers for event ranges, and their reports."""

import simgrid_broker.systems.events.table as ranges
from panda_cases import event_service
from simgrid_broker.systems.events.policy.jobset import Jobset
from simgrid_broker.systems.events.policy.requests import (
    BUNCH,
    get_event_ranges,
    processed_events,
    update_event_range,
)


def answer(case: dict) -> dict:
    """Ranges that are given, reports that are accepted, and all ranges and changed jobs afterwards."""
    before, after = event_service.jobset(case), event_service.jobset(case)
    steps, size = [], case["task"]["nEventsPerWorker"]
    for step in case["steps"]:
        if step["call"] == "get":
            rows = get_event_ranges(after, step["PandaID"], step.get("jobsetID") or case["jobsetID"], asked(step))
            steps.append(dict(ranges=[range_id(after, row, case["task"]["jediTaskID"]) for row in rows]))
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
    """Result of a report."""
    try:
        _, owner, file, first, attempts = map(int, event["eventRangeID"].split("-"))
        status = event["eventStatus"]
    except (KeyError, ValueError):
        return False
    table = jobset.ranges
    row = ranges.find(table.rows, table.chunks, jobset.chunks_of(), owner, file, first, attempts)
    accepted = update_event_range(jobset, row, owner, status)
    if accepted and status == "finished":
        jobset.jobs[owner].n_events = processed_events(jobset, owner, size)
    return accepted
