"""Edits of a scenario as text: nothing but the value changes, and what is undone is as it was."""

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from simgrid_broker.desk.scenario_text import ScenarioText
from simgrid_broker.scenario.loading.documents import Source
from simgrid_broker.scenario.loading.origins import dotted, items_of, value_at

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SHIPPED = sorted(path for path in SCENARIOS.glob("*.yaml") if "snapshot" not in path.name)


def text_of(text, path=SCENARIOS / "edited.yaml"):
    return ScenarioText(Source(path, text))


COMMENTED = """\
# A comment at the head
name: "quoted"         # kept
duration: 2 days
shares:
  # above the first
  - {name: A, value: 60, prodsourcelabel: 'user|panda'}      # of A
  - name: B
    value: 1_000       # of B
    children:
    - {name: C, value: 1}
gdpconfig:
  NW_ACTIVE: true

# the grid
grid: {queues: {Q.1: {maxtime: 48h,
                      status: online}}, sites: {}}
"""

EDITS = {
    ("set", "name", "other"): [('"quoted"', "other")],
    ("set", "name", "'yes: no'"): [('"quoted"', "'yes: no'")],
    ("set", "shares.A.value", "50"): [("60", "50")],
    ("set", "shares.B.value", "2_000"): [("1_000", "2_000")],
    ("set", "shares[1].children.C.value", "2 # two"): [("C, value: 1", "C, value: 2")],
    ("set", "shares.A.throttled", "false"): [("'user|panda'", "'user|panda', throttled: false")],
    ("set", "shares.B.throttled", "false"): [
        ("    - {name: C, value: 1}", "    - {name: C, value: 1}\n    throttled: false")],
    ("set", "gdpconfig.jobbroker.NW_ACTIVE", "false"): [("  NW_ACTIVE: true", "  jobbroker.NW_ACTIVE: false")],
    ("set", "gdpconfig.NQUEUELIMIT_MC simul", "7"): [
        ("  NW_ACTIVE: true", "  NW_ACTIVE: true\n  NQUEUELIMIT_MC simul: 7")],
    ("set", "grid.queues.Q.1.maxtime", "24h"): [("48h", "24h")],
    ("set", "grid.queues.*.maxrss", "2 GB"): [("status: online", "status: online, maxrss: 2 GB")],
    ("set", "grid.fts.retries", "7"): [("sites: {}}", "sites: {}, fts: {retries: 7}}")],
    ("set", "record.jobs", "10%"): [("sites: {}}\n", "sites: {}}\nrecord:\n  jobs: 10%\n")],
    ("set", "description", "[a, b]"): [("sites: {}}\n", "sites: {}}\ndescription: [a, b]\n")],
    ("set", "incidents", "[{at: 1h, what: gdpconfig}]"): [
        ("sites: {}}\n", "sites: {}}\nincidents: [{at: 1h, what: gdpconfig}]\n")],
    ("added", "incidents", "{at: 1h, what: site_outage}"): [
        ("sites: {}}\n", "sites: {}}\nincidents:\n  - {at: 1h, what: site_outage}\n")],
    ("added", "shares", "{name: D, value: 2}"): [
        ("    - {name: C, value: 1}", "    - {name: C, value: 1}\n  - {name: D, value: 2}")],
    ("added", "shares.B.children", "{name: D, value: 2}"): [
        ("    - {name: C, value: 1}", "    - {name: C, value: 1}\n    - {name: D, value: 2}")],
    ("added", "shares.A.children", "{name: D, value: 2}"): [
        ("'user|panda'", "'user|panda', children: [{name: D, value: 2}]")],
    ("removed", "shares.A", None): [
        ("  - {name: A, value: 60, prodsourcelabel: 'user|panda'}      # of A\n", "")],
    ("removed", "shares.A.prodsourcelabel", None): [(", prodsourcelabel: 'user|panda'", "")],
    ("removed", "shares.B.name", None): [("name: B\n    value", "value")],
    ("removed", "gdpconfig.NW_ACTIVE", None): [("gdpconfig:\n  NW_ACTIVE: true\n", "")],
    ("removed", "grid.queues.Q.1.maxtime", None): [("maxtime: 48h,\n                      ", "")],
    ("removed", "grid.queues.Q.1", None): [
        ("queues: {Q.1: {maxtime: 48h,\n                      status: online}}, ", "")],
}


def test_an_edit_changes_its_value_alone():
    for (verb, key, written), changes in EDITS.items():
        expected = COMMENTED
        for old, new in changes:
            assert expected.count(old) == 1
            expected = expected.replace(old, new)
        edited = getattr(text_of(COMMENTED), verb)(*(one for one in (key, written) if one is not None))
        assert edited.text == expected, (verb, key)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_is_added_and_removed_again_leaves_the_text_as_it_was(path):
    text = text_of(path.read_text(), path)
    for key, written in (("gdpconfig.NQUEUELIMIT_Any share", "17"), ("agents.adder", "90s"), ("record.jobs", "7%"),
                         ("grid.fts.retries", "4")):
        if value_at(text.own, tuple(key.split("."))) is None and (not key.startswith("grid") or "grid" in text.own):
            assert text.set(key, written).removed(key).text == text.text, key
    number = len(text.draft.values.get("incidents", ()))
    if "incidents" in text.own or not number:
        more = text.added("incidents", "{at: 1h, what: gdpconfig, key: NW_ACTIVE, value: true}")
        assert more.removed(f"incidents[{number}]").text == text.text.replace("\nincidents: []\n", "\n") or (
            "incidents" not in text.own)


def comments(text):
    return [line[line.index("#"):] for line in text.splitlines() if "#" in line]


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(st.data())
def test_an_edit_and_its_undo_give_the_same_text_and_comments_stay(data):
    """Of any single value of any scenario of the package, in whatever style it is written."""
    path = data.draw(st.sampled_from(SHIPPED))
    text = text_of(path.read_text(), path)
    leaves = [key for key, value in items_of(text.own) if not isinstance(value, dict | list) and value is not None
              and key[0] != "extends" and key[-1] != "name" and text.written(key) is not None]
    key = data.draw(st.sampled_from(leaves))
    value = data.draw(st.sampled_from(["17", "0.25", "3 days", "'a: b, c'", "false", "~x", "{a: [1, 2]}"]))
    old = text.written(key)
    name = dotted(key)
    edited = text.set(name, value)
    assert comments(edited.text) == comments(text.text)
    if value != "{a: [1, 2]}":
        assert edited.set(name, old).text == text.text
