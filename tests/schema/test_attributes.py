"""One row says how an attribute is written, stored and seen; sentinels and units are resolved on the way."""

from math import inf, isnan, nan

import pytest
from pydantic import ValidationError

from simgrid_broker.schema import Table
from simgrid_broker.schema.attribute import attribute, columns_of, derived
from simgrid_broker.schema.part import Megabytes, Minutes, Part

COLOURS = {"red": 1, "blue": 2}


class Lamp(Part):
    """A noun with an attribute of each kind."""

    room: str = attribute(..., "Room where it stands", dtype="i2", codes="rooms")
    weight: Megabytes = attribute(0, "Weight", ge=0, unit="MB", zero=inf, seen="f8")
    glow: Minutes = attribute(60, "How long it glows", ge=0, unit="s", scale=60)
    power: float = attribute(0, "Power", zero=nan, zero_means="that of its room", scale=lambda lamp: lamp.bulbs)
    bulbs: int = attribute(1, "Bulbs", dtype="i2")
    colour: str = attribute("red", "Colour", code=COLOURS.__getitem__, dtype="i2", source="the shop")
    lit = derived(lambda lamp: lamp.colour == "red", "1 if it is lit")


LAMPS = Table("lamps", "one lamp", columns_of(Lamp))


def column(name):
    """One column of the table."""
    return next(each for each in LAMPS.columns if each.name == name)


def row(**said):
    """The stored values of one lamp."""
    return LAMPS.filled([Lamp(**{"room": "HALL"} | said)], {"rooms": {"CELLAR": 0, "HALL": 1}})[0]


@pytest.mark.parametrize(("said", "column", "stored"), [
    pytest.param({}, "weight_mb", inf, id="0 becomes what it means"),
    pytest.param(dict(weight="2 GB"), "weight_mb", 2000, id="a unit is read"),
    pytest.param(dict(glow=2), "glow_s", 120, id="a value is scaled to the unit of its column"),
    pytest.param(dict(power=3, bulbs=4), "power", 12, id="a factor may depend on the noun"),
    pytest.param({}, "room", 1, id="a name becomes its number"),
    pytest.param(dict(room="ATTIC"), "room", -1, id="an unknown name becomes -1"),
    pytest.param(dict(colour="blue"), "colour", 2, id="a word becomes its code"),
    pytest.param({}, "lit", 1, id="a derived column"),
])
def test_a_written_value_becomes_a_stored_one(said, column, stored):
    assert row(**said)[column] == stored


def test_an_unknown_value_is_not_zero():
    assert isnan(row()["power"])


def test_a_derived_column_is_a_property_of_the_noun():
    assert Lamp(room="HALL").lit and not Lamp(room="HALL", colour="blue").lit


def test_what_zero_means_is_described_once():
    assert Lamp.model_fields["weight"].description == "Weight; 0 = unlimited"
    assert column("weight_mb").zero_means == "unlimited"
    assert column("power").zero_means == "that of its room"


def test_sources_are_fields_of_cric_unless_another_is_named():
    assert [column(name).source for name in ("weight_mb", "colour")] == ["CRIC weight", "the shop"]


def test_only_columns_with_a_view_type_are_seen():
    assert [column.name for column in LAMPS.seen] == ["weight_mb"]


def test_an_attribute_is_checked_like_any_other_key():
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Lamp(room="HALL", weight=-1)


class Errand(Part):
    """A noun whose stored values are written again, as those of a task in a snapshot."""

    haste: bool = attribute(False, "Whether it is urgent", dtype="i2")
    most: int = attribute(0, "Most steps", dtype="f4", zero=inf)
    steps: int | None = attribute(None, "Steps", dtype="f8", none=inf)
    goal: str | None = attribute(None, "Where it leads", dtype="i2", codes="rooms", none=-1)
    stops: tuple[str, ...] = attribute((), "Rooms on the way", dtype="i2", codes="ways", code=",".join)


@pytest.mark.parametrize(("column", "stored", "written"), [
    pytest.param("haste", 1, True, id="a flag"),
    pytest.param("most", inf, 0, id="what 0 means"),
    pytest.param("most", 8.0, 8, id="a whole number"),
    pytest.param("steps", inf, None, id="a missing number"),
    pytest.param("goal", -1, None, id="a missing name"),
    pytest.param("goal", 1, "HALL", id="a name"),
    pytest.param("stops", 1, ["CELLAR", "HALL"], id="several names"),
    pytest.param("stops", 0, [], id="no names"),
])
def test_a_stored_value_becomes_the_written_one(column, stored, written):
    back = {each.name: each.back for each in columns_of(Errand)}[column]
    assert back(stored, {"rooms": ("CELLAR", "HALL"), "ways": ("", "CELLAR,HALL")}) == written


def test_whole_numbers_end_where_their_column_does():
    class Rack(Part):
        lamps: int = attribute(0, "Lamps in it", ge=0, dtype="i2")
        rows: int = attribute(1, "Rows of them", ge=1, le=9, dtype="i2")
    assert Rack(lamps=10**4).lamps == 10**4
    for said, most in ((dict(lamps=10**4 + 1), 10**4), (dict(rows=10), 9)):
        with pytest.raises(ValidationError, match=f"less than or equal to {most}"):
            Rack(**said)
