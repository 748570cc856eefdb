"""Editions: their names and releases, and the records of a family of rules."""

from pathlib import Path
from typing import get_args

import pytest

from simgrid_broker import editions
from simgrid_broker.editions import ByEdition, Edition, edition_of, family_of, record_of
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import load_scenario, load_snapshot

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@pytest.fixture
def next_release(monkeypatch):
    """A world in which the production code has had another release."""
    monkeypatch.setattr(editions, "RELEASES", ("1", "2", "3"))


def test_the_newest_release_is_meant_by_the_name_of_its_family():
    assert edition_of("deployed") == edition_of("deployed-1.0.4") == Edition("deployed", "1.0.4")
    assert edition_of("deployed-1.0.3") == Edition("deployed", "1.0.3")
    assert [edition_of(name).name for name in ("documented", "deployed")] == ["documented", "deployed-1.0.4"]
    assert [family_of(name) for name in ("documented", "deployed", "deployed-1.0.3")] == [
        "documented", "deployed", "deployed"]


def test_every_edition_can_be_asked_for_by_each_of_its_names():
    assert {*get_args(editions.Name)} == {name for edition in editions.editions() for name in edition.names}


def test_an_unknown_edition_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="'deployed-1.0.5'.*did you mean 'deployed-1.0.4' or 'deployed-1.0.3'"):
        edition_of("deployed-1.0.5")
    with pytest.raises(ScenarioError, match="deployed-1.0.5.*'deployed-1.0.3' or 'deployed-1.0.4'"):
        load_scenario(SCENARIOS / "minimal.yaml").with_values({"edition": "deployed-1.0.5"})


def test_another_release_costs_a_record(next_release):
    changed, same = ByEdition("page", "old", {"2": "new"}), ByEdition("page", "old")
    assert [changed[name] for name in ("documented", "deployed-1", "deployed-2", "deployed-3", "deployed")] == [
        "page", "old", "new", "new", "new"]
    assert same["deployed-1"] == same["deployed-3"] == same["deployed"] == "old"
    assert list(changed) == ["documented", "deployed-1", "deployed"] and list(same) == ["documented", "deployed"]
    assert [record_of({"deployed": 1, "deployed-2": 2}, name) for name in ("deployed-1", "deployed-2")] == [1, 2]


def test_a_scenario_and_a_snapshot_may_name_a_release():
    for given in (load_scenario(SCENARIOS / "minimal.yaml"), load_snapshot(SCENARIOS / "snapshot.yaml")):
        assert given.with_values({"edition": "deployed-1.0.3"}).edition == "deployed-1.0.3"
