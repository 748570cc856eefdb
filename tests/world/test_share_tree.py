"""The share tree as arrays: order, normalisation, leaves."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from simgrid_broker.scenario.shares import Share
from simgrid_broker.world.shares import leaf_shares, share_tree, with_value

pytestmark = pytest.mark.rule("share_tree")

SCENARIOS = Path(__file__).parents[2] / "scenarios"

JULY_2018 = {
    "Analysis": 20, "Express": 3, "Data Derivations": 7.4, "MC Derivations": 7.4, "Event Index": 0.74,
    "HLT Reprocessing": 2.2, "MC16 evgen": 10.1, "MC Other evgen": 2.5, "MC 16": 3.6, "MC Other": 0.9,
    "MC 16 simul": 21.4, "MC Other simul": 5.3, "Overlay": 1.5, "Reprocessing default": 5.9, "Heavy Ion": 1.5,
    "Upgrade": 2.2, "Validation": 2.2, "Test": 2,
}
"""Printed percentages; source: ATLAS Global Shares implementation in PanDA, tree of July 2018."""


def shares(*said):
    """Shares from (name, value) or (name, value, children)."""
    return tuple(Share(name=name, value=value, children=shares(*below[0]) if below else ())
                 for name, value, *below in said)


NESTED = shares(("A", 1), ("B", 3, [("C", 50), ("D", 150, [("E", 1), ("F", 1)])]))


def test_parents_stand_before_their_children_and_the_root_comes_first():
    tree = share_tree(NESTED)
    assert tree.names == ("root", "A", "B", "C", "D", "E", "F")
    assert tree.parent.tolist() == [-1, 0, 0, 2, 2, 4, 4]


def test_leaves_are_numbered_depth_first():
    tree = share_tree(NESTED)
    assert [tree.names[node] for node in tree.leaves] == ["A", "C", "E", "F"]
    assert [leaf.name for leaf in leaf_shares(NESTED)] == ["A", "C", "E", "F"]


def test_values_are_parts_of_the_parents_and_leaves_sum_to_100():
    tree = share_tree(NESTED)
    assert dict(zip(tree.names, tree.value, strict=True)) == pytest.approx(
        {"root": 100, "A": 25, "B": 75, "C": 18.75, "D": 56.25, "E": 28.125, "F": 28.125})
    assert tree.value[tree.leaves].sum() == pytest.approx(100)


@pytest.mark.parametrize(("said", "values"), [
    pytest.param([("A", 5)], [100], id="a single share has everything"),
    pytest.param([("A", 0), ("B", 2)], [0, 100], id="a share of value 0 has nothing"),
    pytest.param([("A", 0), ("B", 0)], [0, 0], id="all values are zero"),
    pytest.param([("A", 1e9), ("B", 3e9)], [25, 75], id="the scale does not matter"),
])
def test_normalisation_at_the_edges(said, values):
    tree = share_tree(shares(*said))
    assert tree.value[tree.leaves].tolist() == values


def test_the_tree_of_july_2018_gives_the_published_percentages():
    written = yaml.safe_load((SCENARIOS / "shares_2018.yaml").read_text())["shares"]
    tree = share_tree(tuple(Share.model_validate(share) for share in written))
    found = {tree.names[node]: tree.value[node] for node in tree.leaves}
    assert list(found) == list(JULY_2018)
    for name, printed in JULY_2018.items():
        digit = 0.01 if name == "Event Index" else 0.1 if printed != int(printed) else 1
        assert abs(found[name] - printed) <= 0.51 * digit, name


def test_another_value_changes_the_parts_of_the_siblings_only():
    before, after = share_tree(NESTED), share_tree(with_value(NESTED, "C", 150))
    changed = np.flatnonzero(before.value != after.value)
    assert [before.names[node] for node in changed] == ["C", "D", "E", "F"]
    assert after.value[3] == pytest.approx(37.5)


def test_another_value_leaves_the_shares_as_they_were():
    assert with_value(NESTED, "E", 1) == NESTED
    assert NESTED[1].children[1].children[0].value == 1
