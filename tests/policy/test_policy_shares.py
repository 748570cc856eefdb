import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_builders import cfg, share_tree

from simgrid_broker.errors import PluginError
from simgrid_broker.policy.shares.dispatch import (
    GLOBAL_SHARES,
    PRIORITY,
    DispatchOrder,
    share_order,
    share_ranks,
    sloppy_fraction,
    targets,
    urgent_first,
    usage,
)

pytestmark = pytest.mark.rule("share_order", "usage", "targets", "share_ranks", "sloppy_fraction",
                              "urgent_first")

PAPER = Path(__file__).parents[2].parent / "shared" / "data" / "shares" / "global_shares_2018-07_rows_derived.json"

TREE = share_tree(("Analysis", None, 20), ("Production", None, 80), ("Evgen", "Production", 1),
                  ("Simul", "Production", 3), ("Test", None, 0))
LEAVES = [TREE.names[node] for node in TREE.leaves]


def order(**hs06):
    return [LEAVES[k] for k in share_order(TREE, np.array([hs06.get(name, 0.0) for name in LEAVES]))]


@pytest.mark.parametrize(("hs06", "expected"), [
    pytest.param({}, ["Analysis", "Evgen", "Simul", "Test"], id="nothing runs: the order of the table"),
    pytest.param({"Analysis": 20, "Evgen": 20, "Simul": 60}, ["Analysis", "Evgen", "Simul", "Test"],
                 id="all on target: the order of the table"),
    pytest.param({"Analysis": 21, "Evgen": 19.75, "Simul": 59.25}, ["Evgen", "Simul", "Analysis", "Test"],
                 id="the branch below its target comes first"),
    pytest.param({"Analysis": 10, "Evgen": 30, "Simul": 60}, ["Analysis", "Simul", "Evgen", "Test"],
                 id="siblings are sorted among themselves"),
    pytest.param({"Analysis": 30, "Evgen": 70}, ["Simul", "Evgen", "Analysis", "Test"],
                 id="siblings stay together: Evgen, far above its target, stands before Analysis"),
    pytest.param({"Analysis": 0.5, "Evgen": 0.1, "Simul": 0.4}, ["Evgen", "Simul", "Analysis", "Test"],
                 id="targets of less than one HS06 are targets"),
    pytest.param({"Analysis": 100, "Test": 0}, ["Evgen", "Simul", "Analysis", "Test"],
                 id="without a target a share is last even if it uses nothing"),
])
def test_order(hs06, expected):
    assert order(**hs06) == expected


def test_side_by_side_every_share_is_compared_with_every_other():
    flat = share_tree(("Analysis", None, 20), ("Evgen", None, 20), ("Simul", None, 60))
    hs06 = {"Analysis": 20.1, "Evgen": 30, "Simul": 49.9}
    assert order(**hs06) == ["Simul", "Evgen", "Analysis", "Test"]          # in the tree
    assert share_order(flat, np.array(list(hs06.values()))).tolist() == [2, 0, 1]


def test_usage_and_targets_add_up():
    hs06 = np.array([10.0, 30.0, 60.0, 0.0])
    by_name = dict(zip(TREE.names, usage(TREE, hs06), strict=True))
    assert by_name == {"root": 100, "Analysis": 10, "Production": 90, "Evgen": 30, "Simul": 60, "Test": 0}
    wanted = dict(zip(TREE.names, targets(TREE, hs06), strict=True))
    assert wanted == {"root": 100, "Analysis": 20, "Production": 80, "Evgen": 20, "Simul": 60, "Test": 0}


def test_what_the_last_leaf_uses_adds_up_as_well():
    assert usage(TREE, np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [15, 1, 6, 2, 4, 8]


def test_a_tree_of_one_leaf():
    assert share_order(share_tree(("Only", None, 1)), np.array([5.0])).tolist() == [0]


def test_the_tree_of_the_paper():
    if not PAPER.exists():
        pytest.skip("the folder of real input files is absent")
    rows = json.loads(PAPER.read_text())["rows"]
    rows.sort(key=lambda row: row["parent"] is not None and 1 + (row["parent"] != "Production"))
    tree = share_tree(*((row["name"], row["parent"], row["value"]) for row in rows))
    hs06 = tree.value[tree.leaves] * 5000
    assert hs06.sum() == pytest.approx(500_000)
    hs06[3] *= 0.9
    assert sorted(share_order(tree, hs06)) == list(range(len(tree.leaves)))
    starved = tree.names[tree.leaves[3]]
    assert tree.names[tree.leaves[share_order(tree, hs06)[0]]] == starved


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), min_size=1, max_size=25), st.integers(0, 10**6))
def test_every_leaf_appears_once_and_siblings_are_sorted(rows, seed):
    names = [f"s{k}" for k in range(len(rows))]
    tree = share_tree(*((names[k], names[above - 1] if 0 < above <= k else None, weight)
                        for k, (above, weight) in enumerate(rows)))
    hs06 = np.random.default_rng(seed).uniform(0, 100, len(tree.leaves))
    ordered = share_order(tree, hs06)
    assert sorted(ordered) == list(range(len(tree.leaves)))
    used, wanted = usage(tree, hs06), targets(tree, hs06)
    place = {tree.leaves[leaf]: rank for rank, leaf in enumerate(ordered)}
    flat = [node for node in tree.leaves if tree.parent[node] == 0 and wanted[node] > 0]
    for first, second in zip(flat, flat[1:], strict=False):
        if used[first] / wanted[first] <= used[second] / wanted[second]:
            assert place[first] < place[second]


@pytest.mark.parametrize("rank", [{"walltime_s": 1}, {"priority": 0.5}], ids=["truth", "no whole number"])
def test_a_dispatch_order_ranks_by_visible_columns_with_whole_weights(rank):
    with pytest.raises(PluginError, match="is not a whole weight of one of priority, attempt, corecount"):
        DispatchOrder("mine", rank=rank)


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [0, 1, 3]], ids=["twice", "one is missing", "no such leaf"])
def test_a_dispatch_order_names_each_leaf_once(order):
    tree = share_tree(*((name, None, 1) for name in "ABC"))
    with pytest.raises(PluginError, match="must give each of 3 leaves once"):
        DispatchOrder("mine", share_order=lambda *_: order).shares(tree, np.ones(3))


@pytest.mark.parametrize(("edition", "last", "rank"), [
    pytest.param("deployed", "Test", 0, id="Test has the rank of the first"),
    pytest.param("documented", "Test", 2, id="the documents know no exception"),
    pytest.param("deployed", "test", 2, id="another name"),
])
def test_rank_of_shares_in_dispatch(edition, last, rank):
    tree = share_tree(*((name, None, 1) for name in (last, "Simul", "Analysis")))
    assert share_ranks(tree, np.array([2, 1, 0]), edition).tolist() == [rank, 1, 0]


@pytest.mark.parametrize(("ratio", "edition", "expected"), [
    pytest.param(10, "documented", 0.0, id="the paper knows no exception"),
    pytest.param(10, "deployed", 0.11, id="0 to 10 are eleven numbers"),
    pytest.param(None, "deployed", 0.11, id="not set"),
    pytest.param(0, "deployed", 0.11, id="0 is not set"),
    pytest.param(-1, "deployed", 0.0, id="never"),
    pytest.param(100, "deployed", 1.0, id="always"),
])
def test_sloppy_dispatch(ratio, edition, expected):
    assert sloppy_fraction(cfg(jobdispatch={"SLOPPY_DISPATCH_RATIO": ratio}), edition) == expected


@pytest.mark.parametrize(("order", "edition", "expected"), [
    pytest.param(GLOBAL_SHARES, "documented", True, id="documented: urgent work ignores fairshare"),
    pytest.param(GLOBAL_SHARES, "deployed", False, id="the code does not know it"),
    pytest.param(PRIORITY, "documented", False, id="an order without shares has none to ignore"),
])
def test_whether_urgent_jobs_go_before_all_shares(order, edition, expected):
    assert urgent_first(order, edition) is expected
