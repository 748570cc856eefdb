"""The scenario of full chains: who goes to the bare nucleus, and children after their parents."""

from pathlib import Path

import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.names import EDITIONS
from simgrid_broker.scenario import load_scenario

SCENARIO = Path(__file__).parents[2] / "scenarios" / "full_chain.yaml"
BARE = "BURST"


@pytest.fixture(scope="module", params=EDITIONS)
def tasks(request, tmp_path_factory):
    """The tasks of a run of each edition that have a nucleus."""
    plan = load_scenario(SCENARIO).with_values({"edition": request.param, "duration": "24h"})
    found = simulate(plan, folder=tmp_path_factory.mktemp(request.param) / "run", validate=True).table("tasks")
    return found[found["nucleus"].notna()].set_index("jeditaskid")


def test_full_chains_have_the_bare_nucleus_and_nobody_else_has(tasks):
    assert set(tasks["fullchain"]) == {"none", "only", "require", "capable"}
    in_chain = tasks["fullchain"] != "none"
    assert (tasks["nucleus"][in_chain] == BARE).all()
    assert set(tasks["nucleus"][~in_chain]) == {"NORTH", "SOUTH"}


def test_children_begin_after_their_parents(tasks):
    children = tasks[tasks["parent"] > 0]
    parents = tasks.loc[children["parent"]]
    assert len(children) > 20 and set(parents["fullchain"]) == {"none", "only", "require"}
    over = parents["done_s"].fillna(parents["finished_s"])
    assert (children["ready_s"].to_numpy() > over.to_numpy()).all()
    assert (children["arrival_s"].to_numpy() == parents["arrival_s"].to_numpy()).all()
