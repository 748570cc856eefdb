import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scenario import plain_values

from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.loading.origins import dotted, keys_of
from simgrid_broker.scenario.loading.set_values import NoSuchKey, from_command_line, located, spread


@pytest.mark.parametrize(("key", "way"), [
    pytest.param("duration", ("duration",), id="a value at the top"),
    pytest.param("grid.queues.CERN.maxrss", ("grid", "queues", "CERN", "maxrss"), id="a name"),
    pytest.param("grid.queues.NEW", ("grid", "queues", "NEW"), id="a new name"),
    pytest.param("grid.storages.A.B.free", ("grid", "storages", "A.B", "free"), id="a name with a dot"),
    pytest.param("grid.storages.A", ("grid", "storages", "A"), id="a name that begins another one"),
    pytest.param("shares.Production.children.MC simul.value", ("shares", 0, "children", 0, "value"),
                 id="elements by name"),
    pytest.param("incidents[0].at", ("incidents", 0, "at"), id="an element by position"),
    pytest.param("incidents.0.at", ("incidents", 0, "at"), id="a position without brackets"),
    pytest.param("gdpconfig.jobbroker.NQUEUELIMITSITE_A.b [0] c", ("gdpconfig", "jobbroker.NQUEUELIMITSITE_A.b [0] c"),
                 id="gdpconfig keys are taken verbatim"),
    pytest.param("grid.queues.CERN.params.limits.SCORE", ("grid", "queues", "CERN", "params", "limits", "SCORE"),
                 id="new names inside options"),
    pytest.param("workload.campaigns.mc.jobs_per_task.sigma", ("workload", "campaigns", 0, "jobs_per_task", "sigma"),
                 id="inside a default"),
])
def test_dotted_keys_are_found(key, way):
    values = plain_values()
    for name in ("A", "A.B"):
        values["grid"]["storages"][name] = values["grid"]["storages"]["CERN-PROD_DATADISK"]
    assert located(values, key) == way


def test_a_star_means_all_names_and_braces_some():
    values = plain_values()
    first = next(iter(values["grid"]["queues"]))
    values["grid"]["queues"] |= {name: values["grid"]["queues"][first] for name in ("A", "B")}
    every = [f"grid.queues.{name}.maxtime" for name in values["grid"]["queues"]]
    assert spread(values, "grid.queues.*.maxtime") == every
    assert spread(values, "grid.queues.{A,B}.maxtime") == ["grid.queues.A.maxtime", "grid.queues.B.maxtime"]
    assert spread(values, "gdpconfig.NRUNNINGCAP_A_SCORE.*") == ["gdpconfig.NRUNNINGCAP_A_SCORE.*"]
    assert spread(values, "incidents.*.at") == ["incidents.0.at"]                # nothing in the list has a name
    for key in ("workload.users", "seed"):
        with pytest.raises(NoSuchKey, match=f"{key} has no entries"):
            spread(values, f"{key}.*.name")
    scenario = Scenario.from_dict(values).with_values({"grid.queues.{A,B}.maxtime": "3h"})
    assert [queue.maxtime == 3 * 3600 for queue in scenario.grid.queues.values()] == [
        name in "AB" for name in values["grid"]["queues"]]


@pytest.mark.parametrize(("key", "says", "near"), [
    pytest.param("duraton", "unknown key 'duraton'", ("duration",), id="no such key"),
    pytest.param("grid.queues.CER.maxrss", "unknown name 'CER'", ("CERN",), id="no such name"),
    pytest.param("incidents[1].at", "the list has 1 element(s), none called '1'", (), id="no such position"),
    pytest.param("workload.users.x.name", "the list has 0 element(s)", (), id="an empty list"),
    pytest.param("seed.x", "there is nothing to set inside", (), id="inside a number"),
])
def test_dotted_keys_that_lead_nowhere(key, says, near):
    with pytest.raises(NoSuchKey) as caught:
        located(plain_values(), key)
    assert says in str(caught.value) and caught.value.nearest == near


@pytest.mark.parametrize(("key", "value", "read"), [
    pytest.param("workload.campaigns.mc.hs06sec_per_event.sigma", 1, lambda s: s.workload.campaigns[0].hs06sec_per_event
                 .median == 1000, id="the short form of a spread keeps its median"),
    pytest.param("workload.campaigns.mc.memory_per_core.sigma", 1, lambda s: s.workload.campaigns[0].memory_per_core
                 .median == 1000, id="a default spread keeps its median"),
    pytest.param("resource_types.SCORE.maxcore", 2, lambda s: len(s.resource_types) == 4, id="other types remain"),
    pytest.param("agents.sampler", "1 min", lambda s: s.agents == type(s.agents)(sampler=60), id="other agents remain"),
    pytest.param("grid.queues.BNL_PROD", None, lambda s: list(s.grid.queues) == ["CERN"], id="None removes"),
    pytest.param("incidents", [], lambda s: s.incidents == (), id="a whole list"),
])
def test_setting_one_value_leaves_the_others(key, value, read):
    assert read(Scenario.from_dict(plain_values()).with_values({key: value}))


@given(st.text(min_size=1).filter(lambda key: "=" not in key and key == key.strip()), st.integers())
def test_any_gdpconfig_key_can_stand_on_the_command_line(key, value):
    assignment = from_command_line(f"gdpconfig.{key}={value}")
    assert located({}, assignment.key) == ("gdpconfig", key) and assignment.value == value


@given(st.text())
def test_any_text_on_the_command_line_is_read_or_refused(text):
    try:
        located(plain_values(), from_command_line(text).key)
    except ValueError as error:
        assert str(error)


@given(st.sets(st.text("aB1-_ ", min_size=1), max_size=5))
def test_written_keys_find_back_to_their_values(names):
    values = {"grid": {"sites": {name: {"cores": 1} for name in names}}, "incidents": [{"at": 1}, {"at": 2}]}
    for key in keys_of(values):
        assert located(values, dotted(key)) == key
