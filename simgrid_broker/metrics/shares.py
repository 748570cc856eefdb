"""Delivered and target power of each share, at every level of the tree.

Power is HS06 of sent and running jobs, and a target is the share's fraction of all power in use, as in PanDA's dispatch
(lifecycle reference, section 1.3). Work is waiting while the share has activated jobs. A share is judged by what it was
due where its tasks had more work than ran, in jobs or not yet, whatever kept it: its target, with what shares without
enough work leave to others. Unused power goes to the siblings of a share first, and then upwards (Global Shares paper,
section 2.1).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import Window, once_per_run, texts_of, tidy, window_of
from simgrid_broker.records import Run

ROUNDING = 1e-9
"""Power, % points, that is not told from 0."""
NEAR = 0.1
"""Relative deviation up to which a share counts as near what it is due."""

COUNTED = ("hs06", "running_cores", "running", "activated", "queued")
"""Columns of the series that are summed over resource types and leaves."""
LAST = 1e-9
"""Weight of a share without a target among its siblings: it is served when all others have what they can use."""


@dataclass(frozen=True)
class Tree:
    """Nodes of the share tree; node 0 is the root, parents precede their children.

    names, parent, value (% of the whole), level (root 0): (n_nodes,); leaves: (n_leaves,) node of each leaf share;
    below: (n_nodes, n_leaves) whether the leaf is the node or below it.
    """

    names: tuple[str, ...]
    parent: np.ndarray
    value: np.ndarray
    level: np.ndarray
    leaves: np.ndarray
    below: np.ndarray

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """Names of the leaves in their order."""
        return tuple(self.names[node] for node in self.leaves)

    def top_of(self, node: int) -> int:
        """The node of the first level that is `node` or above it."""
        while self.level[node] > 1:
            node = self.parent[node]
        return int(node)


def share_tree(run: Run) -> Tree:
    """The tree in the manifest of `run`."""
    given = run.manifest["share_tree"]
    parent, leaves = np.asarray(given["parent"], int), np.asarray(given["leaves"], int)
    level = np.zeros(len(parent), int)
    below = np.zeros((len(parent), len(leaves)), bool)
    below[leaves, np.arange(len(leaves))] = True
    for node in range(1, len(parent)):
        level[node] = level[parent[node]] + 1
    for node in range(len(parent) - 1, 0, -1):
        below[parent[node]] |= below[node]
    return Tree(tuple(given["names"]), parent, np.asarray(given["value"], float), level, leaves, below)


@dataclass(frozen=True)
class ShareSamples:
    """Time series of shares as arrays: times (n_times,), s; the others (n_times, n_nodes), in the order of the tree.

    due_hs06: power that a share was due; able: whether its tasks had work that did not run.
    """

    tree: Tree
    times: np.ndarray
    target_hs06: np.ndarray
    hs06: np.ndarray
    running_cores: np.ndarray
    running: np.ndarray
    activated: np.ndarray
    queued: np.ndarray
    due_hs06: np.ndarray
    able: np.ndarray

    def within(self, window: Window) -> "ShareSamples":
        """The samples inside the window."""
        return self.only(window.holds(self.times))

    def only(self, which: np.ndarray) -> "ShareSamples":
        """The samples selected by the mask `which`, (n_times,)."""
        arrays = {name: getattr(self, name)[which] for name in ("times", "target_hs06", "due_hs06", "able", *COUNTED)}
        return ShareSamples(self.tree, **arrays)

    def percent(self, which: str) -> np.ndarray:
        """Column `which` (hs06, target_hs06 or due_hs06) as % of the root; NaN where the root is 0."""
        values = getattr(self, which)
        whole = (self.hs06 if which == "due_hs06" else values)[:, :1]
        return 100 * np.divide(values, whole, out=np.full(values.shape, np.nan), where=whole > 0)


@once_per_run
def share_samples(run: Run) -> ShareSamples:
    """The series of all nodes: leaves summed over resource types, inner nodes over the leaves below them."""
    tree = share_tree(run)
    rows = run.table("shares", ["time_s", "share", "resource_type", "target_hs06", *COUNTED])
    times, moment = np.unique(rows.time_s.to_numpy(), return_inverse=True)
    leaf = rows.share.cat.rename_categories(str).astype(object).map({n: k for k, n in enumerate(tree.leaf_names)})
    shape = len(times), len(tree.leaves)
    spot = moment * shape[1] + leaf.to_numpy(int)
    arrays: dict[str, np.ndarray] = {
        name: np.bincount(spot, rows[name], shape[0] * shape[1]).reshape(shape) for name in COUNTED}
    target = np.zeros(shape)
    target.ravel()[spot] = rows.target_hs06                 # every resource type of a leaf repeats its target
    arrays["target_hs06"] = target
    summed = {name: array @ tree.below.T for name, array in arrays.items()}
    waiting = np.bincount(spot, rows.queued * cores_of_job(rows, leaf), shape[0] * shape[1]).reshape(shape)
    usable = usable_power(arrays["hs06"], arrays["running_cores"], waiting + _cores_without_jobs(run, tree, times))
    able = (usable > arrays["hs06"] * (1 + ROUNDING)) @ tree.below.T.astype(int) > 0
    return ShareSamples(tree, times, **summed, due_hs06=due_power(tree, usable, summed["hs06"][:, 0]), able=able)


def cores_of_job(rows: pd.DataFrame, leaf: pd.Series) -> np.ndarray:
    """Cores of a job of each row's leaf share and resource type, else of its type, (n,)."""
    kinds = rows.resource_type.array
    is_large = np.array([str(name).startswith("MCORE") for name in kinds.categories] + [False])
    sizes, n_kinds = np.where(is_large[kinds.codes], 8.0, 1.0), len(is_large)
    for group in (kinds.codes, np.asarray(leaf, int) * n_kinds + kinds.codes):
        place = np.unique(group, return_inverse=True)[1]
        running, cores = (np.bincount(place, rows[name])[place] for name in ("running", "running_cores"))
        sizes = np.where((running > 0) & (kinds.codes >= 0), cores / np.maximum(running, 1), sizes)
    return sizes


def _cores_without_jobs(run: Run, tree: Tree, times: np.ndarray) -> np.ndarray:
    """Cores of the work of tasks that is in no job yet, (n_times, n_leaves), between the hours at which it is counted;
    0 in runs that did not count it."""
    if "backlog" not in run.tables:
        return np.zeros((len(times), len(tree.leaves)))
    rows = run.table("backlog")
    cores = rows[[name for name in rows if name.endswith("_cores")]].to_numpy().sum(axis=1)
    counted, moment = np.unique(rows.time_s.to_numpy(), return_inverse=True)
    found, share = np.zeros((len(times), len(tree.leaves))), texts_of(rows.share.array)
    for leaf, name in enumerate(tree.leaf_names if len(counted) else ()):
        mine = share == name
        found[:, leaf] = np.interp(times, counted, np.bincount(moment[mine], cores[mine], len(counted)))
    return found


@once_per_run
def running_samples(run: Run) -> ShareSamples:
    """The samples in the window in which jobs were running."""
    samples = share_samples(run).within(window_of(run))
    return samples.only(samples.hs06[:, 0] > 0)


def share_series(run: Run) -> pd.DataFrame:
    """Delivered power, target power and activated jobs of every node over time.

    Dimensions time_s, node, share, level; metrics hs06, target_hs06 (HS06), delivered, target (%), activated (jobs).
    """
    samples = share_samples(run)
    n_times, n_nodes = samples.hs06.shape
    tree = samples.tree
    figures = {"hs06": samples.hs06, "target_hs06": samples.target_hs06, "delivered": samples.percent("hs06"),
               "target": samples.percent("target_hs06"), "activated": samples.activated}
    table = pd.DataFrame({
        "time_s": np.repeat(samples.times, n_nodes), "node": np.tile(np.arange(n_nodes), n_times),
        "share": np.tile(np.array(tree.names, object), n_times), "level": np.tile(tree.level, n_times),
        **{name: array.ravel() for name, array in figures.items()}})
    units = {"hs06": "HS06", "target_hs06": "HS06", "delivered": "%", "target": "%", "activated": "jobs"}
    return tidy(table, ["time_s", "node", "share", "level"], units, Window(0.0, run.end_s))


@once_per_run
def share_compliance(run: Run) -> pd.DataFrame:
    """Compliance of every node of the tree in the window.

    Dimensions node, share, level. Metrics: delivered, target and due, % of all power; due: the target with what shares
    without enough work left to this one; judged: % of samples in which its tasks had work that did not run; over these,
    deviation: mean absolute deviation of delivered from due, percentage points, and near: % of samples within 10 % of
    due; above_due: mean of what was delivered above due, percentage points; waiting: % of samples with work waiting;
    samples: number.
    """
    window, samples = window_of(run), running_samples(run)
    tree, waiting = samples.tree, samples.activated > 0
    delivered, target, due = (samples.percent(name) for name in ("hs06", "target_hs06", "due_hs06"))
    near = np.abs(delivered - due) <= NEAR * due
    table = pd.DataFrame({
        "node": np.arange(len(tree.names)), "share": tree.names, "level": tree.level, "delivered": _part(samples.hs06),
        "target": _part(samples.target_hs06), "due": _part(samples.due_hs06, samples.hs06),
        "deviation": _mean_where(np.abs(delivered - due), samples.able), "near": _percent(near, samples.able),
        "above_due": _mean(np.where(delivered > due + ROUNDING, delivered - due, 0)),
        "judged": _percent(samples.able, np.ones_like(waiting)), "waiting": _percent(waiting, np.ones_like(waiting)),
        "samples": len(delivered)})
    units = {"delivered": "%", "target": "%", "due": "%", "deviation": "% points", "near": "%",
             "above_due": "% points", "judged": "%", "waiting": "%", "samples": "samples"}
    return tidy(table, ["node", "share", "level"], units, window)


def share_deviation(run: Run) -> pd.DataFrame:
    """Deviation of the leaf shares from what they were due, without dimensions.

    Metrics: share_deviation: mean over leaves of their mean absolute deviation where their tasks had work that did not
    run, percentage points; share_misplaced: power above due, the mean over the samples of half the sum of absolute
    deviations, % of all power.
    """
    window, samples = window_of(run), running_samples(run)
    gap = np.abs(samples.percent("hs06") - samples.percent("due_hs06"))[:, samples.tree.leaves]
    deviation = _mean_where(gap, samples.able[:, samples.tree.leaves])
    judged = deviation[~np.isnan(deviation)]
    table = pd.DataFrame({"share_deviation": [judged.mean() if len(judged) else np.nan],
                          "share_misplaced": [_mean(gap.sum(axis=1)) / 2]})
    return tidy(table, [], {"share_deviation": "% points", "share_misplaced": "%"}, window)


def _mean(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=0) if len(values) else np.full(values.shape[1:], np.nan)


def _mean_where(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Mean of `values` over the samples `among`, by column; NaN without samples."""
    n = among.sum(axis=0)
    return np.divide(np.where(among, values, 0).sum(axis=0), n, out=np.full(n.shape, np.nan), where=n > 0)


def _part(power: np.ndarray, of: np.ndarray | None = None) -> np.ndarray:
    """Power of each node, % of all power `of` over time, (n_nodes,) from (n_times, n_nodes); NaN if no job ran."""
    total, whole = power.sum(axis=0), (power if of is None else of)[:, 0].sum()
    return 100 * total / whole if whole > 0 else np.full(total.shape, np.nan)


def _percent(true: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Percentage of the samples `among` in which `true` holds, by node; NaN without samples."""
    n = among.sum(axis=0)
    return 100 * np.divide((true & among).sum(axis=0), n, out=np.full(n.shape, np.nan), where=n > 0)


def due_power(tree: Tree, usable: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Power that each node is due, HS06, (n_times, n_nodes).

    usable: what each leaf could use, HS06, (n_times, n_leaves); whole: power to be shared out, (n_times,).
    """
    wanted = usable @ tree.below.T
    due = np.zeros(wanted.shape)
    due[:, 0] = np.minimum(whole, wanted[:, 0])
    for node in range(len(tree.names)):                                 # parents precede their children
        children = np.flatnonzero(tree.parent == node)
        if len(children):
            due[:, children] = shared_out(due[:, node], wanted[:, children], tree.value[children])
    return due


def shared_out(whole: np.ndarray, wanted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Parts of `whole`, (n_times,), of siblings with these values, (n,), none more than `wanted`, (n_times, n)."""
    weights = np.broadcast_to(np.maximum(values, LAST), wanted.shape)
    satisfied = wanted <= 0
    for _ in values:
        left = whole - np.where(satisfied, wanted, 0).sum(axis=1)
        open_weights = np.where(satisfied, 0, weights)
        total = open_weights.sum(axis=1)
        parts = np.divide(open_weights * left[:, None], total[:, None], out=np.zeros(wanted.shape),
                          where=total[:, None] > 0)
        enough = ~satisfied & (parts >= wanted)
        if not enough.any():
            break
        satisfied = satisfied | enough
    return np.where(satisfied, wanted, parts)


def usable_power(hs06: np.ndarray, running_cores: np.ndarray, waiting_cores: np.ndarray) -> np.ndarray:
    """Power that the tasks of each leaf could use, HS06, (n_times, n_leaves), as the arguments.

    That is what it uses and what its waiting work would, each core as much as one of its running jobs, else of all.
    """
    of_all = hs06.sum(axis=1, keepdims=True) / np.maximum(running_cores.sum(axis=1, keepdims=True), 1)
    each = np.where(running_cores > 0, hs06 / np.maximum(running_cores, 1), of_all)
    return hs06 + waiting_cores * each


@once_per_run
def share_cores(run: Run) -> pd.DataFrame:
    """Cores of running jobs of every node below the root, means over the samples in the window; dimensions node, share.

    Unlike what was delivered it does not depend on how many cores the other shares use.
    """
    window, samples = window_of(run), share_samples(run)
    table = pd.DataFrame({"node": np.arange(len(samples.tree.names)), "share": samples.tree.names,
                          "cores": _mean(samples.within(window).running_cores)})
    return tidy(table[1:], ["node", "share"], {"cores": "cores"}, window)
