"""The data carousel: which datasets on tape are staged next, where to, and for how long they stay on disk.

Source: lifecycle reference, 7.5; panda-server, DataCarousel.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from simgrid_broker.gdpconfig import carousel_config, data_carousel, taskrefiner
from simgrid_broker.gdpconfig.carousel_config import Config, TapeConfig, config_from
from simgrid_broker.units import DAY, HOUR, TB
from simgrid_broker.views import Gdpconfig

MOST_FAIR = 10_000
"""Files of a cycle that are divided evenly among the shares, at most."""
STAGING_S, DONE_S = 15 * DAY, 30 * DAY
"""Lifetimes of the rule of a dataset that is being staged, and of one that is staged."""
REFRESHED_BELOW_S, REFRESHED_ABOVE_S = 7 * DAY, 2 * HOUR
"""Time that a rule has left when it is refreshed: less than the first, more than the second."""
MOST_PORTIONS = 20
"""Portions in which a dataset goes from tape to disk, at most; assumed."""
CERN = "CERN-PROD"
"""Part of the names of endpoints that are sources only where there is no other."""


def config_of(cfg: Gdpconfig) -> Config:
    """The configuration in force; without one no tape is active."""
    return config_from(cfg.value(data_carousel.DATA_CAROUSEL_CONFIG) or {})


UNRANKED = 999
"""Rank of a share that is not in the ordered list."""
NO_PRIORITY = 1000
"""Priority of a task that has none, or 0."""


class Waiting(NamedTuple):
    """A queued request; rank: place of its share, most under-served first; luck: in (0, 1), its own draw."""

    number: int
    share: int
    rank: int
    priority: int
    files: int
    luck: float
    to_pin: bool = False


class Claim(NamedTuple):
    """A task as it counts for its request, in the order in which one task of several speaks for it; rank: of its share.
    """

    rank: int
    negative_priority: int
    share: int


def claim(share: int, rank: int | None, current_priority: int | None, task_priority: int | None) -> Claim:
    """Rank and priority of a task, whose priorities may be None; rank: None if its share is not in the list."""
    priority = task_priority if current_priority is None else current_priority
    return Claim(UNRANKED if rank is None else rank, -(priority or NO_PRIORITY), share)


def files_in_staging(requests: Iterable[tuple[int, int | None, bool]]) -> dict[int, int]:
    """Files of each share that are still to come from a tape; requests: share, files missing, None = not counted yet,
    and to_pin. Requests to pin do not count."""
    staging: dict[int, int] = {}
    for share, files, to_pin in requests:
        if not to_pin:
            staging[share] = staging.get(share, 0) + (files or 0)
    return staging


def quota(tape: TapeConfig, staging: Mapping[int, int]) -> int:
    """Files of a tape that may be asked for now: max_size less those that are still staged from it."""
    return tape.max_size - sum(staging.values())


Draw = Callable[[Sequence[Waiting]], Waiting]
"""Choice of one of several requests, of a share each."""


def least_luck(requests: Sequence[Waiting]) -> Waiting:
    """The request whose own draw is smallest."""
    return min(requests, key=lambda one: one.luck)


def to_stage(queued: Iterable[Waiting], most: int, staging: Mapping[int, int], draw: Draw = least_luck) -> list[int]:
    """Numbers of the requests of one tape that start now, in that order.

    most: the quota, files; staging: files of each share that are being staged. Requests to pin always start. The others
    start while their sum is below the quota, and one more, which may reach or exceed it; where there are requests to
    pin, those behind it that add no file start with it, as in recorded decisions.
    """
    ordered = sorted(queued, key=lambda one: (one.rank, -one.priority, one.number))
    chosen, total = [one.number for one in ordered if one.to_pin], 0
    pins = bool(chosen)
    for one in fair_first([one for one in ordered if not one.to_pin], most, staging, draw):
        if most <= 0 or (total >= most and (one.files or not pins)):
            break
        total += one.files
        chosen.append(one.number)
    return chosen


def fair_first(queued: Sequence[Waiting], most: int, staging: Mapping[int, int],
               draw: Draw = least_luck) -> list[Waiting]:
    """Requests with the fair part of the quota first: the same for each share that waits.

    Shares with more in staging than their part are left out; where all are, PanDA stops with an error, and here the
    requests start in order. What the others leave goes to the smallest sums, and to one request of a share that would
    get nothing, drawn.
    """
    fair = min(MOST_FAIR, max(most, 0))
    if not queued or not fair:
        return [*queued]
    shares = [*dict.fromkeys(one.share for one in queued)]
    part = fair // len(shares)
    bound = (fair + sum(staging.get(share, 0) for share in shares)) // len(shares)
    served = [share for share in shares if staging.get(share, 0) < bound]
    first: list[Waiting] = []
    rest: list[tuple[int, Waiting]] = []
    for share in served:
        total = staging.get(share, 0)
        for one in (one for one in queued if one.share == share):
            total += one.files
            if total <= part:
                first.append(one)
            else:
                rest.append((total, one))
    more = _left_over(rest, fair - sum(one.files for one in first), first, served, draw)
    return [*dict.fromkeys((*first, *more, *queued))]


def _left_over(rest: Sequence[tuple[int, Waiting]], left: int, first: Sequence[Waiting],
               served: Sequence[int], draw: Draw) -> list[Waiting]:
    """Requests that get what is left of the fair part; rest: the others with the sum of their share up to each."""
    if left <= 0:
        return []
    more, over, total = list[Waiting](), list[Waiting](), 0
    for _, one in sorted(rest, key=lambda pair: (pair[0], pair[1].rank)):
        total += one.files
        (more if total <= left else over).append(one)
    without = {*served} - {one.share for one in (*first, *more)}
    lucky = [next(one for one in over if one.share == share) for share in without]
    return more + ([draw(lucky)] if lucky else [])


class Endpoint(NamedTuple):
    """A DDM endpoint that could take data; luck: in (0, 1), drawn for the dataset in question."""

    name: str
    type: str
    nucleus: bool
    free_bytes: float
    available: bool                # whether it may be read and written
    luck: float


def destination(endpoints: Iterable[Endpoint], expression: str, excluded: frozenset[str]) -> str | None:
    """Endpoint to which a dataset is staged: a random one of those that match and are available, None without one."""
    matching = [one for one in endpoints if one.available and one.name not in excluded and carousel_config.matches(
        expression, carousel_config.Rse(one.name, one.type, one.nucleus, one.free_bytes / TB))]
    return min(matching, key=lambda one: one.luck).name if matching else None


def source(endpoints: Mapping[str, float], config: Config) -> str:
    """Endpoint from which a dataset is staged, of those with a luck in (0, 1) each: an active one, not CERN's if
    another is; without an active one it waits for the first of them that will be."""
    active = {name: luck for name, luck in endpoints.items() if config.is_active(name)} or endpoints
    chosen = {name: luck for name, luck in active.items() if CERN not in name} or active
    return min(chosen, key=lambda name: chosen[name])


def is_refreshed(left_s: float) -> bool:
    """True if the lifetime of a rule of an active task is extended, with so much left."""
    return REFRESHED_ABOVE_S < left_s < REFRESHED_BELOW_S


def exceeds_tape_quota(size: float, cfg: Gdpconfig) -> bool:
    """True if a task of users asks for too much from tape, bytes; a negative limit is off (lifecycle reference, 7.5).
    """
    limit = cfg.value(taskrefiner.USER_MAX_TAPE_INPUT_TB)
    return limit >= 0 and size > limit * TB


def portions(files: int) -> list[int]:
    """Files that a drive passes on together, as even as possible; assumed, to keep their number small."""
    n = min(files, MOST_PORTIONS)
    return [files * (k + 1) // n - files * k // n for k in range(n)]
