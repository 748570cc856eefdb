"""The data carousel: queued requests that start at each tape."""

from panda_cases.shape import fields, flag, named, reads, real, rows, text, unknown, whole
from simgrid_broker.policy.tasks.data_carousel import (
    Waiting,
    claim,
    config_from,
    files_in_staging,
    quota,
    to_stage,
)

QUEUED, STAGING = "queued", "staging"


LIMIT = dict(active=flag(None), max_size=whole(), max_staging_ratio=real())


@reads(u=real(0.5, 0, 1), share_order=rows(text()),
       DATA_CAROUSEL_CONFIG=fields(
           source_tapes_config=named(fields(rest=unknown, destination_expression=text(), **LIMIT)),
           source_rses_config=named(fields(rest=unknown, tape=text(""), **LIMIT)), excluded_destinations=rows(text())),
       tasks=rows(fields(jediTaskID=whole(), gshare=text(), currentPriority=real(), taskPriority=real())),
       requests=rows(fields(
           request_id=whole(0), status=text(), source_tape=text(), total_files=whole(), staged_files=whole(),
           parameters=fields(to_pin=flag(), init_task_gshare=text()), tasks=rows(whole()))))
def answer(case: dict) -> dict:
    """Requests that start at each active tape, and the share that each is counted for."""
    start, gshare = {}, {}
    shares = _shares(case)
    for name, tape in config_from(case["DATA_CAROUSEL_CONFIG"]).tapes.items():
        own = [one for one in case["requests"] if one["source_tape"] == name]
        queued = {one["request_id"]: waiting for one in own if one["status"] == QUEUED
                  and (waiting := _waiting(one, case, shares))}
        staging = files_in_staging(_staging(one, shares) for one in own if one["status"] == STAGING)
        if tape.active and queued:
            start[name] = to_stage(queued.values(), quota(tape, staging), staging, _draw(case, shares))
        for number in start.get(name, ()):
            gshare[str(number)] = shares[queued[number].share]
    return {"start": start, "gshare": gshare, "limits": []}


def _shares(case: dict) -> list[str | None]:
    """Shares of the list, and those that only tasks and requests have; None = none."""
    return list(dict.fromkeys((*case["share_order"], *(task["gshare"] for task in case["tasks"]),
                               *map(_counted_for, case["requests"]))))


def _counted_for(request: dict) -> str | None:
    """Share that a request has counted for since it started."""
    return request["parameters"]["init_task_gshare"]


def _staging(request: dict, shares: list[str | None]) -> tuple[int, int | None, bool]:
    """Share of a request, the files that are still to come, and to_pin."""
    files = (request["total_files"], request["staged_files"])
    return (shares.index(_counted_for(request)), None if None in files else files[0] - files[1],
            request["parameters"]["to_pin"])


def _waiting(request: dict, case: dict, shares: list[str | None]) -> Waiting | None:
    """A queued request by the first of its tasks; None without any."""
    order = case["share_order"]
    claims = [claim(shares.index(task["gshare"]), order.index(task["gshare"]) if task["gshare"] in order else None,
                    task["currentPriority"], task["taskPriority"])
              for task in case["tasks"] if task["jediTaskID"] in request["tasks"]]
    if not claims:
        return None
    first = min(claims)
    return Waiting(request["request_id"], first.share, first.rank, -first.negative_priority,
                   request["total_files"] or 0, 0.0, request["parameters"]["to_pin"])


def _draw(case: dict, shares: list[str | None]):
    """The choice of a share that PanDA made: by its place in the alphabet."""
    def draw(requests):
        ordered = sorted(requests, key=lambda one: shares[one.share] or "")
        return ordered[min(int(case["u"] * len(ordered)), len(ordered) - 1)]
    return draw
