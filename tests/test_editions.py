"""Editions: their names and releases, and the records of a family of rules."""

from pathlib import Path
from typing import get_args

import pytest

from simgrid_broker import editions
from simgrid_broker.editions import ByEdition, Edition, edition_of, name_in_use
from simgrid_broker.scenario import load_scenario, load_snapshot

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@pytest.fixture
def next_release(monkeypatch):
    """A world in which the production code has had another release."""
    monkeypatch.setattr(editions, "RELEASES", ("1.0.3", "1.0.4"))


def test_the_newest_release_is_meant_by_the_name_of_its_family():
    assert edition_of("deployed") == edition_of("deployed-1.0.3") == Edition("deployed", "1.0.3")
    assert edition_of("documented") == Edition("documented")
    assert [name_in_use(name) for name in ("documented", "deployed", "deployed-1.0.3")] == [
        "documented", "deployed", "deployed"]


def test_every_edition_can_be_asked_for_by_each_of_its_names():
    assert {*get_args(editions.Name)} == {name for edition in editions.editions() for name in edition.names}


def test_an_unknown_edition_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="'deployed-1.0.4'.*did you mean 'deployed-1.0.3'"):
        edition_of("deployed-1.0.4")


def test_another_release_costs_a_record(next_release):
    changed, same = ByEdition("page", "old", {"1.0.4": "new"}), ByEdition("page", "old")
    assert [changed[name] for name in ("documented", "deployed-1.0.3", "deployed-1.0.4", "deployed")] == [
        "page", "old", "new", "new"]
    assert same["deployed-1.0.3"] == same["deployed-1.0.4"] == same["deployed"] == "old"
    assert list(changed) == ["documented", "deployed-1.0.3", "deployed"]
    assert list(same) == ["documented", "deployed"] and name_in_use("deployed-1.0.3") == "deployed-1.0.3"


def test_a_scenario_and_a_snapshot_may_name_a_release():
    for given in (load_scenario(SCENARIOS / "minimal.yaml"), load_snapshot(SCENARIOS / "snapshot.yaml")):
        assert given.with_values({"edition": "deployed-1.0.3"}).edition == "deployed"
