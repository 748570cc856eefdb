"""Why a share misses its target: one chain from the tasks that arrived to the running jobs, hour by hour.

A link is the work that has passed one gate, in cores. The first link, from the tasks on, that is narrower than what the
share could use is the cause of the hour; where a rule only answers to jobs that queue and do not start, the cause lies
with the slots. A share is judged by what its tasks could have used of its target: without enough work it is not short
of anything, and leaves its power to others (Global Shares paper, section 2.1).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from simgrid_broker.metrics.refusals import (
    ABOUT_QUEUES,
    Verdict,
    refusal_counts,
    rules_of,
    served_seldom,
    verdicts,
    with_labels,
    without_nucleus,
)
from simgrid_broker.metrics.settings import KEYS_OF_CAPS, links_of, settings_of, streams_of
from simgrid_broker.metrics.shares import NEAR, Tree, cores_of_job, due_power, share_tree
from simgrid_broker.metrics.slots import (
    MUCH,
    OF_CAPS,
    STANDS_S,
    Obstacle,
    Waiting,
    closed_by,
    closed_in_hour,
    idle_cores,
    slots_behind,
    taken_elsewhere,
    waiting_for_slots,
)
from simgrid_broker.metrics.summary import core_capacity
from simgrid_broker.metrics.window import once_per_run, sums, window_of
from simgrid_broker.names import USED, DecisionKind
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR

LINKS = ("tasks that arrived", "tasks in progress", "caps of users", "scouts", "input of tasks", "task brokerage",
         "throttler", "job brokerage", "input of jobs", "slots")
"""Links of the chain; in front of each but the first work is held. What has passed the last one runs."""
ARRIVED, IN_PROGRESS, CAPS, SCOUTS, INPUT, NUCLEI, THROTTLER, BROKERAGE, TRANSFERS, SLOTS = range(len(LINKS))
PLACE_OF = {"ready": THROTTLER, "running": THROTTLER, "scouting": THROTTLER, "scouted": THROTTLER, "pending": BROKERAGE,
            "assigning": NUCLEI, "throttled": CAPS, "staging": INPUT, "staged": INPUT, "topreprocess": INPUT,
            "preprocessing": INPUT, "defined": INPUT, "registered": INPUT}
"""Link in front of which the ready input of a task waits, by the status of the task; of any other it is not worked
on."""
OF_QUEUED = ("queued", "defined")
"""Beginnings of the throttler's verdicts that answer to queued jobs."""
PERIOD_OF_GENERATION = "agents.job_generator"
UNKNOWN, TOO_LITTLE_WORK = "unknown", "too little work"
NO_NUCLEUS = "no site is a nucleus with a queue for production"
HALF, SMALL = 0.5, 0.05


@dataclass(frozen=True)
class Cause:
    """One cause of missing cores.

    link: of LINKS, or unknown; rule: what held the work, in words; settings: of a scenario, dotted, that the rule
    reads, the one that binds first; value, limit: mean figures that the rule compared, NaN = none; lost_core_h: missing
    cores x time of its hours; hours: their number.
    """

    link: str
    rule: str
    settings: tuple[str, ...] = ()
    value: float = np.nan
    limit: float = np.nan
    lost_core_h: float = 0.0
    hours: float = 1


@dataclass(frozen=True)
class Why:
    """The chain of a share, in cores, means over the window, and what made it narrow, the worst first.

    target: its part of all cores; could_use: what its tasks could have used of it; due: target with what other shares
    left; delivered: cores of its running jobs; widths: of LINKS; causes: of the hours in which it was short of cores or
    of work; hours, hours_short: of the window, and those in which it was short of cores; since_s: begin of the first of
    these, NaN = none.
    """

    share: str
    target: float
    could_use: float
    due: float
    delivered: float
    widths: tuple[float, ...]
    causes: tuple[Cause, ...]
    hours: int
    hours_short: int
    since_s: float = np.nan

    @property
    def is_short(self) -> bool:
        """True if the share got too little of what its tasks could have used, by a part of its target that counts."""
        return self.could_use - self.delivered > max(NEAR * self.could_use, SMALL * self.target)

    @property
    def is_work_short(self) -> bool:
        """True if its tasks could not have used its target."""
        return self.could_use < (1 - NEAR) * self.target

    @property
    def cause(self) -> Cause | None:
        """The cause that lost most, too little work only if it lost most of the target or the rest is a small part.

        None if the share has its target.
        """
        if not self.causes or self.delivered >= (1 - NEAR) * self.target:
            return None
        is_much = NEAR * self.target < self.could_use - self.delivered >= self.target - self.could_use
        return self.limit if self.limit and is_much else self.causes[0]

    @property
    def limit(self) -> Cause | None:
        """The cause that lost most of what its tasks could have used; None if nothing did."""
        return next((cause for cause in self.causes if cause.link != LINKS[ARRIVED]), None)

    def to_dict(self) -> dict[str, Any]:
        """The chain as JSON-compatible types, but for NaN."""
        return {**vars(self), "widths": dict(zip(LINKS, self.widths, strict=True)),
                "causes": [dict(vars(cause)) for cause in self.causes]}


def why(run: Run, share: str | None = None) -> tuple[Why, ...]:
    """The chain of each leaf share, or of one share of the tree, a branch as the sum of its leaves.

    Empty for a run without records of what held work back, or without a whole hour in its window; an older version
    wrote none. Raises ValueError for an unknown share.
    """
    tree = share_tree(run)
    if share is not None and share not in tree.names[1:]:
        raise ValueError(f"{share!r} is no share of the run; the shares are {', '.join(tree.names[1:])}")
    wanted = tree.leaf_names if share is None else (share,)
    return tuple(each for each in all_chains(run) if each.share in wanted)


@dataclass(frozen=True)
class Flow:
    """Work of the leaf shares in the hours of the window, cores.

    hours: numbers of the hours, (n_hours,); running, target: (n_hours, n_leaves); held: in front of each of LINKS,
    (n_links, n_hours, n_leaves); idle: free cores of queues, (n_hours,); waits_s: mean wait of activated jobs by
    Little's law; reasons: `held` of tasks by hour and leaf, with place, status and reason; verdicts: those that stopped
    most cycles of job generation, by hour and share; seldom: shares for which it ran at most once an hour while input
    was ready; hints: rules that left no queue; waiting: jobs for slots.
    """

    tree: Tree
    hours: np.ndarray
    running: np.ndarray
    target: np.ndarray
    held: np.ndarray
    idle: np.ndarray
    waits_s: np.ndarray
    reasons: Mapping[tuple[int, int], Sequence[Any]]
    verdicts: Mapping[tuple[int, str], Verdict]
    seldom: frozenset[str]
    hints: pd.DataFrame
    waiting: Waiting

    @cached_property
    def widths(self) -> np.ndarray:
        """Work that has passed each link, (n_links, n_hours, n_leaves)."""
        behind = np.cumsum(self.held[::-1], axis=0)[::-1] - self.held
        return self.running + behind

    @cached_property
    def could_use(self) -> np.ndarray:
        """Cores of the target of a share that its tasks could have used, (n_hours, n_leaves)."""
        return np.minimum(self.target, self.widths[ARRIVED])

    @cached_property
    def above(self) -> tuple[str, ...]:
        """Leaf shares that have more than their targets."""
        many = self.running.mean(axis=0) > (1 + NEAR) * self.target.mean(axis=0)
        return tuple(self.tree.leaf_names[leaf] for leaf in np.flatnonzero(many))

    @cached_property
    def short(self) -> np.ndarray:
        """Hours in which a share got too little of that, (n_hours, n_leaves) bool."""
        return self.running < (1 - NEAR) * self.could_use


@once_per_run
def all_chains(run: Run) -> tuple[Why, ...]:
    """The chain of every node of the tree below the root."""
    if not {"backlog", "throttler", "hints", "workers_asked"} <= run.tables.keys():
        return ()
    flow = _flow(run)
    if not len(flow.hours):
        return ()
    tree, due = flow.tree, due_power(flow.tree, flow.widths[ARRIVED], flow.target.sum(axis=1))
    causes = {leaf: _causes(run, flow, leaf) for leaf in range(len(tree.leaves))}
    return tuple(_chain(flow, node, due[:, node], causes) for node in range(1, len(tree.names)))


def _chain(flow: Flow, node: int, due: np.ndarray, causes: Mapping[int, list[Cause]]) -> Why:
    """The chain of one node."""
    leaves = np.flatnonzero(flow.tree.below[node])

    def mean(of: np.ndarray) -> float:
        return float(of[..., leaves].sum(axis=-1).mean())
    found = _added(cause for leaf in leaves.tolist() for cause in causes[leaf])
    short = flow.short[:, leaves].any(axis=1)
    since_s = float(flow.hours[short][0]) * HOUR if short.any() else np.nan
    return Why(flow.tree.names[node], mean(flow.target), mean(flow.could_use), float(due.mean()), mean(flow.running),
               tuple(map(mean, flow.widths)), tuple(found),
               len(flow.hours), int(short.sum()), since_s)


def _added(causes: Iterable[Cause]) -> list[Cause]:
    """Causes, each once with the figures of its worst hour, the one that lost most first."""
    groups: dict[tuple[str, str], list[Cause]] = {}
    for cause in causes:
        groups.setdefault((cause.link, cause.rule), []).append(cause)
    added = [replace(max(group, key=lambda cause: cause.lost_core_h), hours=sum(cause.hours for cause in group),
                     lost_core_h=sum(cause.lost_core_h for cause in group)) for group in groups.values()]
    return sorted(added, key=lambda cause: -cause.lost_core_h)


def _causes(run: Run, flow: Flow, leaf: int) -> list[Cause]:
    """The causes of the hours in which a leaf share was short, or short of work."""
    share, found, at_slots = flow.tree.leaf_names[leaf], list[Cause](), 0.0
    lost = flow.could_use[:, leaf] - flow.running[:, leaf]
    hours = np.flatnonzero(flow.short[:, leaf])
    obstacles = slots_behind(run, flow.waiting, share, float(lost[hours].mean()), flow.above) if len(hours) else []
    for hour in hours.tolist():
        cause = _or_refused(run, flow, hour, leaf, _cause_of_hour(run, flow, hour, leaf, obstacles))
        if cause is None:
            at_slots += lost[hour]
        else:
            found.append(replace(cause, lost_core_h=float(lost[hour])))
    n_slots = len(hours) - len(found)
    for each in _or_closed(run, flow, leaf, obstacles, float(lost[hours].mean())) if n_slots else ():
        found.append(replace(_of_slots(run, each, share), lost_core_h=each.part * at_slots, hours=each.part * n_slots))
    lacking = flow.target[:, leaf] - flow.could_use[:, leaf]
    if (n_lacking := int(np.count_nonzero(lacking > NEAR * flow.target[:, leaf]))):
        found.append(Cause(LINKS[ARRIVED], TOO_LITTLE_WORK, streams_of(run, share),
                           float(flow.target[:, leaf].mean()), float(flow.could_use[:, leaf].mean()),
                           hours=n_lacking, lost_core_h=float(lacking.sum())))
    return _added(found)


def _or_refused(run: Run, flow: Flow, hour: int, leaf: int, cause: Cause | None) -> Cause | None:
    """The cause of an hour; if it is the slots, or a throttler that answers to jobs queued elsewhere, the rule that
    keeps jobs from queues which idle in it, where these are many of the missing cores and other idle ones are not."""
    share, many = flow.tree.leaf_names[leaf], HALF * (flow.could_use[hour, leaf] - flow.running[hour, leaf])
    if cause is None or cause.link == LINKS[THROTTLER] and cause.rule.startswith(OF_QUEUED):
        rule, cores = closed_in_hour(run, share, int(flow.hours[hour]))
        if cores >= many > flow.idle[hour] - cores:
            return Cause(LINKS[BROKERAGE], rule, settings_of(run, rule, share))
    return cause


def _or_closed(run: Run, flow: Flow, leaf: int, obstacles: list[Obstacle], lost: float) -> list[Obstacle]:
    """The obstacles before slots; if they name no setting, the rule that closes slots which shares above their targets
    hold, if these are many of the cores that a share has lost."""
    if any(each.settings or each.refused_by or each.is_input for each in obstacles):
        return obstacles
    rule, cores = closed_by(run, flow.tree.leaf_names[leaf], flow.above)
    if not obstacles or cores < MUCH * lost:
        return obstacles
    return [Obstacle(1.0, "shares above their targets hold slots that a rule closes", refused_by=rule)]


def _of_slots(run: Run, obstacle: Obstacle, share: str) -> Cause:
    """The cause behind jobs that wait for slots; a rule of job brokerage if it keeps them from idle cores."""
    if obstacle.refused_by:
        return Cause(LINKS[BROKERAGE], obstacle.refused_by, settings_of(run, obstacle.refused_by, share))
    if obstacle.is_input:
        return Cause(LINKS[TRANSFERS], obstacle.rule, links_of(run))
    return Cause(LINKS[SLOTS], obstacle.rule, obstacle.settings or obstacle.modes)


def _cause_of_hour(run: Run, flow: Flow, hour: int, leaf: int, obstacles: list[Obstacle]) -> Cause | None:
    """The first link that is narrower than what the share could use, with its rule; None: the slots.

    A verdict about queued jobs counts where jobs do not queue for long, or cores elsewhere are idle, or taken by shares
    that are nearer their targets, that more jobs would find: not where a setting keeps slots free at the queue itself,
    or enough jobs wait there, all slots are full, or a rule keeps jobs from the idle ones. At full queues the cause is
    input if enough jobs wait for it elsewhere, or a cap of running jobs if nothing else there has a setting: the share
    is short and yet above the cap.
    """
    narrow = flow.widths[1:, hour, leaf] < (1 - NEAR) * flow.could_use[hour, leaf]
    place, stopped = 1 + int(np.argmax(narrow)), _of_throttler(flow, hour, leaf)
    lost = flow.could_use[hour, leaf] - flow.running[hour, leaf]
    is_free = sum(each.part for each in obstacles if each.is_free) >= HALF and (
        any(each.is_free and each.settings for each in obstacles) or flow.held[SLOTS, hour, leaf] >= lost)
    at_slots = _of_input(run) if not is_free and _lacks_input(flow, hour, leaf, lost) else None
    answers = stopped is not None and stopped.rule.startswith(OF_QUEUED)
    is_idle = not is_free and (flow.idle[hour] >= MUCH * lost or at_slots is None and (
        answers or place in (THROTTLER, BROKERAGE)) and _taken(run, flow, leaf) >= MUCH * lost)
    many = flow.held[SLOTS, hour, leaf] >= HALF * lost
    kept = any(each.part >= HALF and each.refused_by and not _is_cap(each.refused_by) for each in obstacles)
    stands = flow.waits_s[hour, leaf] >= STANDS_S and (is_free or kept or many and not is_idle)
    if place in (THROTTLER, BROKERAGE):
        cause = stopped or _of_tasks(run, flow, hour, leaf, place)
        is_feedback = answers or cause.link == LINKS[BROKERAGE] and _is_cap(cause.rule)
        if flow.tree.leaf_names[leaf] in flow.seldom and (stopped is None or is_feedback):
            return Cause(LINKS[THROTTLER], "job generation runs once an hour at most", (PERIOD_OF_GENERATION,))
        return at_slots if stands and is_feedback else cause
    if place == TRANSFERS:
        return _of_input(run)
    if place == SLOTS:
        few = not answers and not is_free and flow.held[SLOTS, hour, leaf] < flow.could_use[hour, leaf]
        named = any(each.refused_by or each.is_input for each in obstacles)
        is_capped = not answers and not any(each.settings for each in obstacles)
        return stopped if stopped is not None and not named and (is_idle or few or is_capped) else at_slots
    return _of_tasks(run, flow, hour, leaf, place)


def _is_cap(label: str) -> bool:
    """True if the rule of a label answers to queued jobs."""
    return label.split(" (")[0] in OF_CAPS


def _of_input(run: Run) -> Cause:
    return Cause(LINKS[TRANSFERS], "jobs wait for their input at the site", links_of(run))


def _lacks_input(flow: Flow, hour: int, leaf: int, lost: float) -> bool:
    """True if as many cores as a share misses wait for input, for long, at sites where its jobs would come first."""
    waits = flow.waiting.input_s.get(flow.tree.leaf_names[leaf], 0.0)
    return bool(waits >= STANDS_S and flow.held[TRANSFERS, hour, leaf] >= lost)


def _of_throttler(flow: Flow, hour: int, leaf: int) -> Cause | None:
    """The verdict that stopped job generation in most of the cycles of an hour; None if most were not stopped."""
    verdict = flow.verdicts.get((int(flow.hours[hour]), flow.tree.leaf_names[leaf]))
    return None if verdict is None else Cause(LINKS[THROTTLER], *verdict)


def _of_tasks(run: Run, flow: Flow, hour: int, leaf: int, place: int) -> Cause:
    """The reason for which tasks hold most work in front of a link; of job brokerage, too, where jobs find no queue."""
    places = (THROTTLER, BROKERAGE) if place in (THROTTLER, BROKERAGE) else (place,)
    rows = [row for row in flow.reasons.get((flow.hours[hour], leaf), ()) if row.place in places]
    refused = [row for row in rows if row.errordialog]
    rows = refused if refused and place in (THROTTLER, BROKERAGE) else rows
    if not rows:
        return Cause(UNKNOWN, f"no record of what held work in front of {LINKS[place]}")
    row = max(rows, key=lambda row: row.cores)
    if place == CAPS:
        keys = KEYS_OF_CAPS.get(row.throttled_by, ())
        return Cause(LINKS[CAPS], row.throttled_by.replace("_", " "), tuple(f"gdpconfig.{key}" for key in keys))
    if place in (THROTTLER, BROKERAGE) and row.errordialog:
        return Cause(LINKS[BROKERAGE], row.errordialog, settings_of(run, row.errordialog, flow.tree.leaf_names[leaf]))
    rule = (_behind(flow, hour, leaf) or row.errordialog) if place == NUCLEI else ""
    if rule:
        words = rule if rule == row.errordialog else f"-job: no queue passes {rule}"
        return Cause(LINKS[NUCLEI], words, settings_of(run, rule, flow.tree.leaf_names[leaf]))
    if place == NUCLEI and flow.tree.leaf_names[leaf] in without_nucleus(run):
        return Cause(LINKS[NUCLEI], NO_NUCLEUS, ("grid.queues.*.type", "grid.sites.*.nucleus"))
    if place == THROTTLER:
        rule = _refuses_most(run, flow.tree.leaf_names[leaf])
        return Cause(LINKS[BROKERAGE], rule or "queues take fewer jobs than are ready",
                     settings_of(run, rule, flow.tree.leaf_names[leaf]))
    words = f"tasks are {row.status}" + (f": {row.errordialog}" if row.errordialog else "")
    return Cause(LINKS[place], {SCOUTS: "jobs behind scouts", INPUT: "input on tape or of a parent"}.get(place, words))


@once_per_run
def _refuses_most(run: Run, share: str) -> str:
    """Label of the rule that refuses most queues to the jobs of a share; empty if most of its candidates are in use."""
    rows = refusal_counts(run)
    rows = rows[(rows.share == share) & rows.kind.isin(ABOUT_QUEUES)]
    parts = with_labels(run, rows).groupby("rule").part.sum()
    refused = parts.drop(USED, errors="ignore")
    return str(refused.idxmax()) if len(refused) and parts.get(USED, 0.0) <= 100 * HALF else ""


def _behind(flow: Flow, hour: int, leaf: int) -> str:
    """Rule of job brokerage that refused the last queue for most tasks without a nucleus; empty if none is recorded."""
    rows = flow.hints[(flow.hints.hour == flow.hours[hour]) & (flow.hints.leaf == leaf)]
    return str(rows.rule[rows.decisions.idxmax()]) if len(rows) else ""


def _flow(run: Run) -> Flow:
    """The work of all leaf shares, hour by hour."""
    tree, window = share_tree(run), window_of(run)
    rows = run.table("shares", ["time_s", "share", "resource_type", "running", "running_cores", "activated", "assigned",
                                "queued"])
    rows = rows[window.covers(rows.time_s)]
    rows = rows.assign(hour=np.ceil(rows.time_s / HOUR).astype(int) - 1, leaf=_leaf(rows.share, tree))
    hours = np.unique(rows.hour)
    n, shape = len(hours), (len(hours), len(tree.leaves))
    samples = np.bincount(np.searchsorted(hours, np.ceil(np.unique(rows.time_s) / HOUR).astype(int) - 1))
    size = cores_of_job(rows, rows.leaf)

    def mean(values: np.ndarray) -> np.ndarray:
        spot = np.searchsorted(hours, rows.hour) * shape[1] + rows.leaf
        return np.bincount(spot, values, n * shape[1]).reshape(shape) / samples[:, None]
    held = np.zeros((len(LINKS), *shape))
    held[TRANSFERS] = mean(rows.assigned * size)
    held[SLOTS] = mean((rows.queued - rows.assigned) * size)
    reasons = _reasons(run, tree, hours)
    np.add.at(held, (reasons.place, np.searchsorted(hours, reasons.hour), reasons.leaf), reasons.cores)
    waiting = waiting_for_slots(run)
    by_hour = {key: tuple(rows) for key, rows in groupby(reasons.itertuples(), attrgetter("hour", "leaf"))}
    values = tree.value[tree.leaves] / 100 * core_capacity(run)
    return Flow(tree, hours, mean(rows.running_cores), np.broadcast_to(values, shape), held, idle_cores(run, hours),
                _waits(waiting, tree, hours, mean(rows.activated)), by_hour, verdicts(run),
                _seldom(run, tree, reasons), _hints(run, tree), waiting)


def _taken(run: Run, flow: Flow, leaf: int) -> float:
    """Cores that shares nearer their targets took where a leaf share could have had waiting jobs, and had none."""
    parts = flow.running.mean(axis=0) / np.maximum(flow.target.mean(axis=0), 1e-9)
    others = tuple(flow.tree.leaf_names[other] for other in np.flatnonzero(parts > parts[leaf]))
    return taken_elsewhere(run, flow.tree.leaf_names[leaf], others)


def _leaf(names: pd.Series, tree: Tree) -> np.ndarray:
    """Numbers of leaf shares by name, -1 = none."""
    number = {name: leaf for leaf, name in enumerate(tree.leaf_names)}
    return names.astype(object).map(number).fillna(-1).to_numpy(int)


def _reasons(run: Run, tree: Tree, hours: np.ndarray) -> pd.DataFrame:
    """Work of tasks without jobs by hour, leaf, place, status and reason, cores: means of begin and end of an hour."""
    rows = run.table("backlog")
    counted = np.unique(np.floor(rows.time_s / HOUR).astype(int))
    rows = rows.assign(**{name: rows[name].astype(object).where(rows[name].notna(), "")
                          for name in ("status", "errordialog", "throttled_by")}, leaf=_leaf(rows.share, tree))
    of_nuclei, of_queues = ({rule.label for rule in rules_of(run, kind.word)}
                            for kind in (DecisionKind.TASK_BROKERAGE, DecisionKind.JOB_BROKERAGE))
    is_new = (rows.time_s == 0) & (rows.status == "registered")             # no agent has looked at them yet
    place = np.where(is_new, THROTTLER, rows.status.map(PLACE_OF).fillna(IN_PROGRESS).to_numpy(int))
    place = np.where((place == BROKERAGE) & rows.errordialog.isin(of_nuclei - of_queues), NUCLEI, place)
    is_silent = (place == BROKERAGE) & (rows.errordialog == "")
    place = np.where(is_silent, np.where(rows.share.isin(without_nucleus(run)), NUCLEI, INPUT), place)   # else: staged
    parts = [rows.assign(cores=rows[name], place=where) for name, where in (
        ("ready_cores", place), ("input_cores", np.where(place == IN_PROGRESS, place, INPUT)),
        ("scouts_cores", np.where(place == IN_PROGRESS, place, SCOUTS)))]
    rows = pd.concat(parts)[["time_s", "leaf", "place", "status", "errordialog", "throttled_by", "cores"]]
    rows = rows[(rows.leaf >= 0) & (rows.cores > 0)]
    number = np.floor(rows.time_s / HOUR).astype(int)
    both = pd.concat([rows.assign(hour=number), rows.assign(hour=number - 1)])
    both = both[both.hour.isin(hours)]
    n = np.isin(both.hour, counted).astype(int) + np.isin(both.hour + 1, counted)
    return sums(both.assign(cores=both.cores / n), ["hour", "leaf", "place", "status", "errordialog", "throttled_by"],
                "cores")


def _seldom(run: Run, tree: Tree, reasons: pd.DataFrame) -> frozenset[str]:
    """Leaf shares for which job generation ran at most once an hour while input was ready."""
    hours = reasons[reasons.place.isin((THROTTLER, BROKERAGE))].groupby("leaf").hour.nunique()
    return served_seldom(run, {tree.leaf_names[leaf]: n for leaf, n in hours.items()})


def _hints(run: Run, tree: Tree) -> pd.DataFrame:
    """Rules of job brokerage that left no queue for a task, by hour and leaf."""
    rows = run.table("hints")
    return rows.assign(hour=np.floor(rows.time_s / HOUR).astype(int), leaf=_leaf(rows.share, tree),
                       rule=rows.rule.astype(object))


def _waits(waiting: Waiting, tree: Tree, hours: np.ndarray, activated: np.ndarray) -> np.ndarray:
    """Mean wait of activated jobs by hour and leaf, s: their mean number over the rate of starts."""
    starts = np.zeros(activated.shape)
    leaf, hour = _leaf(waiting.starts.share, tree), waiting.starts.hour.to_numpy(int)
    known = (leaf >= 0) & np.isin(hour, hours)
    np.add.at(starts, (np.searchsorted(hours, hour[known]), leaf[known]), waiting.starts.jobs[known])
    return np.where(activated > 0, activated * HOUR / np.maximum(starts, 1e-9), 0.0)
