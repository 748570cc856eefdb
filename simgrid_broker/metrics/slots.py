"""Obstacles between activated jobs and slots: where they wait, and what happens to workers and pilots there."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.refusals import (
    ABOUT_QUEUES,
    ONLINE,
    RULE,
    pools_of,
    refusal_counts,
    sums_of_refusals,
    total,
    with_labels,
)
from simgrid_broker.metrics.settings import options_of
from simgrid_broker.metrics.window import (
    Pass,
    Window,
    end_times,
    grouped,
    largest,
    made_of_jobs,
    once_per_run,
    part_of_jobs,
    summed,
    sums,
    texts,
    window_of,
)
from simgrid_broker.names import USED
from simgrid_broker.records import JOB_END_TIMES, Run
from simgrid_broker.units import HOUR

EVERY_TYPE = "every type"
HELD, STREAMED = "workers of ", "pull_ups"
"""Beginning of the rules about slots that workers of another type hold, and the workflow in which a worker has a type.
"""
AT_SLOTS = ("share", "queue", "resource_type")
"""Columns of jobs that say where they wait for which slots."""
MUCH = 0.2
"""Part of the requests, or of the workers wanted, from which what refuses them is the cause."""
FREE = 0.05
"""Part of the cores of a queue from which slots count as free."""
PASSED_OVER = {"more_memory": ("jobs ask for more memory than workers have", "maxrss"),
               "more_time": ("jobs may run longer than pilots have left", "maxtime"),
               "other_label": ("pilots do not ask for these jobs", "status"),
               "above_meanrss": ("jobs would raise the mean memory above its target", "meanrss")}
"""Why pilots pass jobs over, and the attribute of the queue behind it, by the column that counts the jobs."""
RATIO = "Ratio"
ENDS = ("", "Max", RATIO, "Min")
"""Ends of the names of Harvester's options behind one of its limits: most that may wait, and how many always may."""
OF_CAPS = ("-cap", "-cap_rt")
"""Tags of rules of job brokerage that answer to queued jobs."""
STANDS_S = HOUR
"""Mean wait from which jobs queue for slots, and not just for their next pilot, or for input that comes too slowly."""
MOSTLY = 0.95
"""Part of the decisions in which rules refuse idle queues, from which they keep jobs away."""
ENOUGH = 0.5
"""Part of the free slots from which as many waiting workers would fill them, so that no limit of Harvester does."""
MOST_QUEUES = 12
"""Queues and types with most waiting work that are looked at."""


Rows = dict[str, np.ndarray]
"""Rows of a table, by the names of their columns."""


class Waiting(NamedTuple):
    """Waiting jobs and starts.

    jobs: share, queue, resource_type, core_h that activated jobs waited in the window, taken_h core hours in it of
    those that started in it; starts: share, hour, jobs; input_s: mean wait of jobs for their input in the window, by
    share, s.
    """

    jobs: pd.DataFrame
    starts: pd.DataFrame
    input_s: pd.Series


@once_per_run
def waiting_for_slots(run: Run) -> Waiting:
    """Waits of the activated jobs of each share at each queue, and starts by hour."""
    part = max(part_of_jobs(run), 1e-9)
    wanted = (AT_SLOTS, ("core_h", "taken_h")), (("share", "hour"), ("jobs",)), (("share",), ("input_s", "jobs"))
    jobs, starts, inputs = (sums(pd.concat(tables), by, *figures) for tables, (by, figures) in zip(
        zip(*made_of_jobs(run, WAITS), strict=True), wanted, strict=True))
    jobs[["core_h", "taken_h"]] /= part
    starts["jobs"] /= part
    mean_s = inputs.input_s.to_numpy() / np.maximum(inputs.jobs.to_numpy(), part)
    return Waiting(jobs, starts, pd.Series(mean_s, pd.Index(inputs.share, dtype=object)))


def _waits_of(rows: pd.DataFrame, window: Window) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The tables of `Waiting` for a batch of job rows, the last one as input_s and jobs with input by share."""
    assigned, activated, running = (rows[name].to_numpy() for name in ("assigned_s", "activated_s", "running_s"))
    over = np.fmin(end_times(rows), np.inf)
    begun, there = (np.fmin(moment, over) for moment in (running, activated))
    keys = {name: (rows[name].array.codes, rows[name].array.categories.astype(object)) for name in AT_SLOTS}
    size, share = rows.corecount.to_numpy() / HOUR, {"share": keys["share"]}
    seen = (np.fmin(assigned, activated) <= window.end_s) & (begun >= window.start_s) & np.all(
        [codes >= 0 for codes, _ in keys.values()], axis=0)
    hours = pd.RangeIndex(int(window.end_s // HOUR) + 1)
    hour = np.where(running <= window.end_s, running // HOUR, -1).astype(np.int64)
    taken = np.where(running >= window.start_s, running, np.nan)
    return (_added(keys, seen, {"core_h": _within(window, activated, begun) * size,
                                "taken_h": _within(window, taken, over) * size}),
            _added(share | {"hour": (hour, hours)}, seen & (hour >= 0), {"jobs": np.ones(len(rows))}),
            _added(share, seen, {"input_s": _within(window, assigned, there), "jobs": 1.0 - np.isnan(assigned)}))


WAITS = Pass((*AT_SLOTS, "corecount", "assigned_s", "activated_s", "running_s", *JOB_END_TIMES), _waits_of)
"""The pass of `waiting_for_slots`."""


def _added(keys: Mapping[str, tuple[np.ndarray, pd.Index]], where: np.ndarray,
           values: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Sums of values over the rows `where`, by keys: the code of each row, and what the codes mean, by name."""
    shape = tuple(max(len(words), 1) for _, words in keys.values())
    spot = np.ravel_multi_index(tuple(codes[where] for codes, _ in keys.values()), shape)
    used = np.flatnonzero(np.bincount(spot))
    places = zip(keys.items(), np.unravel_index(used, shape), strict=True)
    return pd.DataFrame({name: words[place] for (name, (_, words)), place in places} | {
        name: np.bincount(spot, value[where])[used] for name, value in values.items()})


def _within(window: Window, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Time from begin to end that lies in the window, s, (n,); 0 without a begin."""
    return np.fmax(np.minimum(ends, window.end_s) - np.maximum(begins, window.start_s), 0.0)


class Obstacle(NamedTuple):
    """An obstacle that keeps a part of the waiting jobs of a share from slots.

    rule: in words; settings: attributes of queues behind it; refused_by: label of the rule of job brokerage that keeps
    them from idle queues; is_free: slots are free where they wait; is_input: jobs wait for their input at queues that
    are idle; modes: settings that change whose workers hold the slots, where those of another type do.
    """

    part: float
    rule: str
    settings: tuple[str, ...] = ()
    refused_by: str = ""
    is_free: bool = False
    is_input: bool = False
    modes: tuple[str, ...] = ()


def slots_behind(run: Run, waiting: Waiting, share: str, missing: float, above: Collection[str] = ()) -> list[Obstacle]:
    """Obstacles between the activated jobs of a share and slots, largest part first; the parts add up to 1.

    missing: cores that the share lacks on average; above: shares above their targets. Free cores where its jobs wait
    count first, as they would be enough or not, whatever waits elsewhere. Where its queues are full, idle cores at
    other queues come next: jobs there would start.
    """
    rows = waiting.jobs[waiting.jobs.share == share].nlargest(MOST_QUEUES, "core_h")
    rows = rows[rows.core_h > 0]
    if not len(rows):
        return [Obstacle(1.0, "no job was activated")]
    at = [obstacle_at(run, row.queue, row.resource_type) for row in rows.itertuples()]
    parts = _parts(run, rows, np.array([is_free for *_, is_free in at]), missing)
    idle = _idle_elsewhere(run, set(rows.queue[rows.core_h > FREE * rows.core_h.sum()]))
    full = sum(part for part, (*_, is_free) in zip(parts, at, strict=True) if not is_free)
    away = full * min(idle.sum() / max(missing, 1.0), 1.0) if idle.sum() > MUCH * missing else 0.0
    kind = str(rows.resource_type.iloc[0])
    found = [_keeps_from(run, waiting, share, idle, kind)._replace(part=away)] if away else []
    modes = _modes(run, {row.queue: rule for row, (rule, *_) in zip(rows.itertuples(), at, strict=True)},
                   waiting.jobs, above)
    for rule, is_free in dict.fromkeys((rule, is_free) for rule, _, is_free in at):
        mine = sorted(((part, settings) for part, (other, settings, _) in zip(parts, at, strict=True)
                       if other == rule), reverse=True)
        size = sum(part for part, _ in mine) * (1.0 if is_free or not away else 1 - away / full)
        found.append(Obstacle(size, rule, tuple(dict.fromkeys(name for _, names in mine for name in names)),
                              is_free=is_free, modes=modes if rule.startswith(HELD) else ()))
    return sorted((each for each in found if each.part), reverse=True)


def _modes(run: Run, rules: Mapping[str, str], jobs: pd.DataFrame, above: Collection[str]) -> tuple[str, ...]:
    """Settings that change whose workers hold the slots of queues where those of another type do.

    The cap of running jobs of a share above its target that alone has jobs of that type there; else freed slots would
    go to others of the type, and what helps is pilots that are bound to no type. rules: what keeps jobs from slots, by
    queue; jobs: of `Waiting`.
    """
    held, queues = [name for name, rule in rules.items() if rule.startswith(HELD)], run.manifest["scenario"]["grid"]
    kinds = {rules[name].removeprefix(HELD).split()[0] for name in held}
    taken = jobs[jobs.queue.isin(held) & jobs.resource_type.isin(kinds)].groupby("share").taken_h.sum()
    is_sole = len(taken) and taken.max() > MOSTLY * taken.sum() and taken.idxmax() in above
    return (*((f"gdpconfig.NRUNNINGCAP_{taken.idxmax()}",) if is_sole else ()),
            *(f"grid.queues.{name}.workflow" for name in held
              if queues["queues"][name].get("workflow") == STREAMED))


def _parts(run: Run, rows: pd.DataFrame, is_free: np.ndarray, missing: float) -> np.ndarray:
    """Parts of the missing cores by place: of places with free cores as many as jobs wait for there, or as they wait.

    rows: jobs that wait at each place; is_free: whether it has free cores.
    """
    free = rows.queue.map(_means_of_queues(run).free_cores).fillna(0.0)
    wanted = np.minimum(free, rows.core_h * HOUR / max(window_of(run).length_s, 1.0)) * is_free / max(missing, 1.0)
    waiting = (rows.core_h / rows.core_h.sum()).to_numpy()
    at_free = waiting[is_free].sum()
    whole = max(at_free, min(wanted.sum(), 1.0))
    return np.where(is_free, waiting * whole / max(at_free, 1e-9), waiting * (1 - whole) / max(1 - at_free, 1e-9))


def idle_cores(run: Run, hours: np.ndarray) -> np.ndarray:
    """Free cores of all queues by hour, means over the samples; a pool that queues share counts once."""
    rows = _tables(run).queues
    keys, sample = grouped(rows.assign(pool=rows.queue.map(pools_of(run))), ["time_s", "pool"])
    free = largest(rows.free_cores.to_numpy(), sample, len(keys["pool"]))
    times, sample = np.unique(keys["time_s"], return_inverse=True)
    free, hour = np.bincount(sample, free), np.ceil(times / HOUR) - 1
    return np.array([free[hour == each].mean() if (hour == each).any() else 0.0 for each in hours])


def _idle_elsewhere(run: Run, used: set[str]) -> pd.Series:
    """Free cores of queues with many of them, by name, whose batch systems none of the `used` queues has."""
    means, pools = _means_of_queues(run), pools_of(run)
    means = means[~means.index.map(pools).isin({pools[name] for name in used})]
    return means.free_cores[means.free_cores > FREE * means.sum(axis=1)]


@once_per_run
def _means_of_queues(run: Run) -> pd.DataFrame:
    """Means over the samples of free_cores and running_cores of each queue."""
    figures = ["free_cores", "running_cores"]
    table = sums(_tables(run).queues.assign(samples=1), ["queue"], "samples", *figures).set_index("queue")
    return table[figures].div(table.samples, axis=0)


@once_per_run
def taken_elsewhere(run: Run, share: str, others: tuple[str, ...]) -> float:
    """Cores that jobs of `others` took in the window, of the types of the waiting jobs of a share, where none of these
    waits although job brokerage would have let them.

    A rule of job brokerage other than a cap closes a queue if it refused it to the share in most decisions.
    """
    jobs = waiting_for_slots(run).jobs
    rows = jobs[jobs.share == share]
    at, refused = rows.groupby("queue").core_h.sum(), _refusals_to(run, share)
    refused = refused[~refused.tag.isin((USED, *OF_CAPS))]
    closed = refused.groupby("candidate").part.sum()
    taken = jobs[jobs.share.isin(others) & jobs.resource_type.isin(rows.resource_type)
                 & ~jobs.queue.isin(at.index[at > FREE * at.sum()])
                 & ~jobs.queue.isin(closed.index[closed > 100 * ENOUGH])]
    return float(taken.taken_h.sum() * HOUR / max(window_of(run).length_s, 1.0))


def closed_by(run: Run, share: str, others: Collection[str]) -> tuple[str, float]:
    """The rule of job brokerage other than a cap that closes to a share queues where `others` took most cores, of the
    types of its waiting jobs, and these cores; a rule closes a queue if it refused it in most decisions."""
    jobs, refused = waiting_for_slots(run).jobs, _refusals_to(run, share)
    kinds = jobs.resource_type[jobs.share == share]
    refused = with_labels(run, refused[~refused.tag.isin((USED, *OF_CAPS)) & (refused.part > 100 * ENOUGH)])
    rules = dict(zip(refused.candidate, refused.rule, strict=True))
    taken = jobs[jobs.share.isin(others) & jobs.resource_type.isin(kinds)]
    cores = taken.groupby(taken.queue.map(rules)).taken_h.sum() * HOUR / max(window_of(run).length_s, 1.0)
    return (str(cores.idxmax()), float(cores.max())) if len(cores) else ("", 0.0)


def closed_in_hour(run: Run, share: str, hour: int) -> tuple[str, float]:
    """The rule of job brokerage that keeps a share from most idle cores in an hour, and these cores.

    It refused their queue in most decisions of the hour, and does not answer to queued jobs.
    """
    return _closed_in_hours(run).get((share, hour), ("", 0.0))


@once_per_run
def _closed_in_hours(run: Run) -> dict[tuple[str, int], tuple[str, float]]:
    """The answers of `closed_in_hour` by share and hour: cores that idle, without jobs that wait for them, where a rule
    other than a cap refused a queue to a share in most decisions of an hour."""
    idle = _idle_in_hours(run)

    queues, queue = np.unique(idle.index.get_level_values("queue"), return_inverse=True)
    idles = np.zeros((len(queues) + 1, int(run.end_s // HOUR) + 2), bool)               # the last one: of other queues
    idles[queue, idle.index.get_level_values("hour")] = True

    def chosen(rows: pd.DataFrame) -> pd.DataFrame:
        hour = np.ceil(rows.time_s.to_numpy() / HOUR).astype(int) - 1                   # counts precede time_s
        place = np.append(pd.Index(queues).get_indexer(rows.candidate.cat.categories), -1)[rows.candidate.cat.codes]
        at_idle = idles[place, hour] & rows.kind.isin(ABOUT_QUEUES).to_numpy()
        return rows[at_idle].assign(hour=hour[at_idle])
    by = ["kind", "share", "candidate", "hour"]
    rows = sums_of_refusals(run, [*by, *RULE], {"kind", "share", "candidate", "time_s", *RULE}, chosen, "queue_count")
    rows = rows[rows.queue_count.to_numpy() > ENOUGH * total(rows, by, "queue_count")]
    rows = with_labels(run, rows[~rows.tag.isin((USED, *OF_CAPS))])
    rows = rows.assign(cores=idle.reindex(pd.MultiIndex.from_frame(rows[["candidate", "hour"]])).to_numpy())
    cores = sums(rows, ["share", "hour", "rule"], "cores").sort_values("cores", ascending=False, kind="stable")
    most = cores.drop_duplicates(["share", "hour"])
    return {(share, hour): (rule, size) for share, hour, rule, size in zip(
        most.share, most.hour, most.rule, most.cores, strict=True)}


def _idle_in_hours(run: Run) -> pd.Series:
    """Free cores less those of activated jobs by queue and hour, where many of a queue are free; means of samples."""
    rows = _tables(run).queues
    rows = rows.assign(hour=np.ceil(rows.time_s / HOUR).astype(int) - 1)
    figures = ("free_cores", "running_cores", "running", "activated")
    means = sums(rows.assign(samples=1), ["queue", "hour"], "samples", *figures)
    free, cores, running, activated = (means[name].to_numpy() / means.samples.to_numpy() for name in figures)
    keys, queue = grouped(means, ["queue"])
    size, jobs = (summed(each, queue, len(keys["queue"]))[queue] for each in (cores, running))
    idle = free - activated * np.maximum(size / np.maximum(jobs, 1), 1)
    found = pd.Series(idle, pd.MultiIndex.from_frame(means[["queue", "hour"]]))
    return found[idle > FREE * (free + cores)]


def _refusals_to(run: Run, share: str) -> pd.DataFrame:
    """Refusals of queues to a share, by candidate and rule."""
    every = _refusals_by_share(run)
    return every.get(share, every[""])


@once_per_run
def _refusals_by_share(run: Run) -> dict[str, pd.DataFrame]:
    """Refusals of queues to each share, and none under an empty name."""
    rows = refusal_counts(run, by=("share", "candidate")).loc[lambda rows: rows.kind.isin(ABOUT_QUEUES)]
    return {"": rows[:0], **dict(iter(rows.groupby("share")))}


def _keeps_from(run: Run, waiting: Waiting, share: str, idle: pd.Series, kind: str) -> Obstacle:
    """The obstacle between the jobs of a share and idle queues: a rule of job brokerage, or input on its way there, or
    what keeps workers of a resource type from their slots."""
    rows = _refusals_to(run, share)
    rows = rows[rows.candidate.isin(idle.index)]
    rows = with_labels(run, rows.assign(cores=rows.part * rows.candidate.map(idle).astype(float)))
    cores = sums(rows, ["rule"], "cores").set_index("rule").cores
    refused = cores[cores.index != USED]
    chosen = Obstacle(0, "job brokerage chose other queues than idle ones")
    if not len(refused) or refused.sum() <= MOSTLY * cores.sum():
        at = [obstacle_at(run, str(queue), kind) for queue in idle.sort_values(ascending=False).index]
        settings = tuple(name for rule, names, _ in at if rule == at[0][0] for name in names)
        if settings:
            return Obstacle(0, at[0][0], settings, is_free=at[0][2])
    if not len(refused):
        return chosen
    rule = str(refused.idxmax())
    if rule.split(" (")[0] in OF_CAPS and waiting.input_s.get(share, 0.0) >= STANDS_S:
        return Obstacle(0, "jobs wait for their input at idle queues", is_input=True)
    return chosen._replace(rule=f"{chosen.rule}, which {rule} refuses most",
                           refused_by=rule if refused.sum() > MOSTLY * cores.sum() else "")


@once_per_run
def obstacle_at(run: Run, queue: str, kind: str) -> tuple[str, tuple[str, ...], bool]:
    """The obstacle between jobs of a type and slots of a queue, settings behind it, and whether slots are free."""
    at = _tables(run)
    samples, here, asked = (rows.get(queue, rows[""]) for rows in at.by_queue)
    status, n_samples = samples["status"], max(len(samples["status"]), 1)
    if len(status) and 2 * np.count_nonzero(status == ONLINE) < n_samples:
        seen, counts = np.unique(status, return_counts=True)
        return f"the queue is {seen[counts.argmax()]}", (f"grid.queues.{queue}.status",), True
    mine = _of_kind(here, kind)
    if mine["none_suits"].sum() > MUCH * max(mine["started"].sum(), 1):
        column = max(PASSED_OVER, key=lambda name: mine[name].sum())
        words, attribute = PASSED_OVER[column]
        return words, (f"grid.queues.{queue}.{attribute}",), True
    free = samples["free_cores"].sum() / n_samples
    cores, asked = samples["running_cores"].sum() / n_samples + free, _of_kind(asked, kind)
    slots = free / (8 if kind.startswith("MCORE") else 1)
    if free > FREE * cores and slots >= 1:
        return *_of_free_slots(run, queue, kind, mine, asked, slots), True
    return *_of_full_queue(run, queue, kind, here, asked), False


def _of_kind(rows: Rows, kind: str) -> Rows:
    """The rows about a resource type, or about all."""
    chosen = (rows["resource_type"] == kind) | (rows["resource_type"] == EVERY_TYPE)
    return {name: column[chosen] for name, column in rows.items()}


def _mean_of_samples(rows: Rows, name: str) -> float:
    """Sum of a column at each time, mean over the times; 0 without any."""
    return rows[name].sum() / max(len(np.unique(rows["time_s"])), 1)


def _sums_by(names: np.ndarray, values: np.ndarray) -> dict[str, float]:
    """Sums of values by name, in the order of the names."""
    words, place = np.unique(names, return_inverse=True)
    return dict(zip(words.tolist(), np.bincount(place, values, len(words)).tolist(), strict=True))


def _of_free_slots(run: Run, queue: str, kind: str, mine: Rows, asked: Rows,
                   slots: float) -> tuple[str, tuple[str, ...]]:
    """Why workers of a type do not take the free slots of a queue, of which there are `slots` on average.

    A limit of Harvester is not the cause where a batch system lets workers wait for an hour or more: so would others.
    """
    if not asked["wanted"].sum():
        return f"no workers of {kind} are asked for", ()
    waiting = _mean_of_samples(mine, "waiting")
    limit, own = _cut_by(asked), run.manifest["scenario"]["grid"]["queues"][queue].get("batch_latency")
    if limit and waiting < ENOUGH * slots and not (waiting > 0 and (own or 0) >= STANDS_S):
        return f"workers are cut by {limit}", _options(run, queue, limit)
    if waiting > 0:
        return ("workers wait in the batch system although cores are free",
                () if own is None else (f"grid.queues.{queue}.batch_latency",))
    return "cores are free and no worker came", ()


def _of_full_queue(run: Run, queue: str, kind: str, here: Rows,
                   asked: Rows) -> tuple[str, tuple[str, ...]]:
    """Whose jobs hold the slots of a queue without free ones, and what keeps workers of the type from replacing them.

    A limit of Harvester has no settings where workers wait for an hour or more: with more of them they wait longer.
    """
    used, wasted = _sums_by(here["resource_type"], here["used_core_h"]), here["wasted_core_h"].sum()
    whole = sum(used.values())
    if wasted > MUCH * (whole + wasted):
        return "pilots run jobs of fewer cores than they hold", (f"grid.queues.{queue}.workflow",)
    others = {other: hours for other, hours in used.items() if other not in (kind, EVERY_TYPE)}
    if sum(others.values()) <= whole / 2:
        return f"all slots for {kind} hold jobs", ()
    held = f"{HELD}{max(others, key=others.__getitem__)} hold the slots"
    if not asked["wanted"].sum():
        return f"{held}, and none of {kind} are asked for", ()
    mine = _of_kind(here, kind)
    period_s = window_of(run).length_s / max(len(np.unique(here["time_s"])), 1)
    wait_s = period_s * mine["waiting"].sum() / max(mine["started"].sum(), 1)
    if limit := _cut_by(asked):
        return (f"{held}, and those of {kind} are cut by {limit}",
                _options(run, queue, limit) if wait_s < STANDS_S else ())
    return f"{held}, not {kind}", ()


def _cut_by(asked: Rows) -> str:
    """The limit of Harvester that left most of the workers that were wanted; empty if it left few."""
    lost = _sums_by(asked["cut_by"], asked["wanted"] - asked["submitted"])
    limit = max((name for name in lost if name), key=lost.__getitem__, default="")
    return limit if limit and lost[limit] > MUCH * asked["wanted"].sum() else ""


def _options(run: Run, queue: str, limit: str) -> tuple[str, ...]:
    """The option of a queue, or of its template, behind a limit of Harvester that binds: the least of those that say
    how many may wait at most, or the largest of those that say how many may always."""
    options = options_of(run.manifest["scenario"]["grid"]["queues"][queue], *(f"{limit}{end}" for end in ENDS))
    rows = _tables(run).by_queue[1].get(queue)
    running = 0.0 if rows is None else _mean_of_samples(rows, "running")
    lets = {name: number * running / 100 if end == RATIO else number for end in ENDS
            if (number := options[name := f"{limit}{end}"]) == number}
    always = [name for name in lets if name.endswith(ENDS[-2:])]
    most = [name for name in lets if name not in always]
    binding = [pick(names, key=lets.__getitem__) for pick, names in ((min, most), (max, always)) if names]
    return (f"grid.queues.{queue}.params.{min(binding, key=lets.__getitem__)}",) if binding else ()


class _At(NamedTuple):
    """Tables of the window with names as text: samples of queues, and by_queue those of queues and workers and the
    workers asked for, each by queue, with no rows under an empty name."""

    queues: pd.DataFrame
    by_queue: tuple[dict[str, Rows], ...]


@once_per_run
def _tables(run: Run) -> _At:
    """Samples of queues and workers, and workers asked for, in the window."""
    window, found = window_of(run), []
    for name in ("queues", "workers", "workers_asked"):
        rows = run.table(name)
        rows = rows[(rows.time_s + HOUR > window.start_s) if name == "workers_asked" else window.covers(rows.time_s)]
        rows = texts(rows)
        rows = rows.assign(**{name: rows[name].fillna("") for name, column in rows.items() if column.dtype == object})
        if "resource_type" in rows:
            kinds = rows.resource_type.to_numpy()
            rows["resource_type"] = pd.Series(np.where(kinds == "", EVERY_TYPE, kinds), rows.index, object)
        found.append(rows)
    return _At(found[0], tuple(map(_apart, found)))


def _apart(rows: pd.DataFrame) -> dict[str, Rows]:
    """The rows of each queue, and none under an empty name."""
    keys, queue = grouped(rows, ["queue"])
    order = np.argsort(queue, kind="stable")
    ends = [0, *np.cumsum(np.bincount(queue, minlength=len(keys["queue"]))).tolist()]
    columns = {name: column.to_numpy()[order] for name, column in rows.items()}
    places = zip([*keys["queue"], ""], [*ends[:-1], 0], [*ends[1:], 0], strict=True)
    return {name: {column: values[first:last] for column, values in columns.items()} for name, first, last in places}
