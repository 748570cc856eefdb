import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scenario import plain_values

from simgrid_broker.errors import ScenarioError
from simgrid_broker.gdpconfig import COMPONENTS, REGISTRY, jobbroker, jobgen, queue_filler, rebroker, watcher
from simgrid_broker.names import EDITIONS
from simgrid_broker.scenario import Scenario, find, in_force, load_scenario, origins_in_force
from simgrid_broker.scenario.gdpconfig import DEFAULTS, laid_over, settings, typed
from simgrid_broker.views import Gdpconfig

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
DEFAULTS_FILE = Path(__file__).parents[2].parent / "shared" / "data" / "gdpconfig" / "gdpconfig_defaults.json"

OTHER_DEFAULTS = {
    "WORK_SHORTAGE", "IGNORE_MEANRSS", "JOB_SUBMISSION", "SCOUT_CHANGE_SR_<label>",  # None there means false or true
    "CAP_RUNNING_USER_JOBS", "CAP_RUNNING_GROUP_JOBS", "CAP_RUNNING_USER_CORES", "CAP_RUNNING_GROUP_CORES",  # unset
    "JUMBO_MIN_EVENTS_ENABLE", "JUMBO_MAX_EVENTS",      # follow from other keys
    "DISK_THRESHOLD_<gshare>", "ANALY_TIMEOUT_<workingGroup>",  # the general key has the default
    "GROUPBYATTR_<queue>",                              # without it there is no fair mode
    "NTASKS_<queue>", "NFILES_<queue>", "TYPNFILES_<label>_<queueOrNone>_<type>",    # from JEDI's configuration
}
"""Keys whose default is told differently: theirs is a default of one reader, ours of the key."""


def scenario(**gdpconfig):
    return Scenario.from_dict(plain_values() | {"gdpconfig": gdpconfig})


def test_every_number_has_a_range():
    for entry in REGISTRY:
        if entry.type in ("int", "float"):
            assert np.isfinite([entry.at_least, entry.at_most]).all(), entry.name
            assert entry.unit not in ("fraction", "%", "percentile") or entry.at_most <= 1000, entry.name


def test_every_entry_is_complete_and_unique():
    names = [entry.name for entry in REGISTRY]
    assert len(set(names)) == len(names)
    for entry in REGISTRY:
        assert entry.app in ("jedi", "pandaserver") and entry.meaning and entry.source
        assert entry.type in ("bool", "int", "float", "str", "json")
        assert typed(entry, entry.default) == entry.default
        assert entry.editions and set(entry.editions) <= set(EDITIONS) and entry.at_least < entry.at_most
        assert set(entry.zero_is_unset) <= set(EDITIONS), entry.name
        assert not entry.zero_is_unset or entry.default != 0, entry.name


@pytest.mark.parametrize(("key", "members", "names"), [
    pytest.param(jobbroker.NW_ACTIVE, {}, ["NW_ACTIVE"], id="a plain key"),
    pytest.param(jobbroker.NQUEUELIMITSITE, {"gshare": "MC 16"}, ["NQUEUELIMITSITE_MC 16", "NQUEUELIMITSITE"],
                 id="a family"),
    pytest.param(jobbroker.MIN_WEIGHT, {"label": "managed", "gshare": "A_B"},
                 ["MIN_WEIGHT_managed_A_B", "MIN_WEIGHT_managed", "MIN_WEIGHT"], id="an optional part"),
    pytest.param(jobbroker.MIN_WEIGHT, {"label": "managed"}, ["MIN_WEIGHT_managed", "MIN_WEIGHT"],
                 id="without the optional part"),
    pytest.param(jobgen.TYPNFILES, {"label": "user", "queueOrNone": "", "type": "x"},
                 ["TYPNFILES_user__x", "TYPNFILES"], id="an empty part"),
    pytest.param(queue_filler.MIN_FILES_READY_FC, {"label": "user"}, ["MIN_FILES_READY_user_FC", "MIN_FILES_READY_FC"],
                 id="a part in the middle"),
])
def test_members_of_a_family_are_looked_up_from_the_most_specific_to_the_default(key, members, names):
    assert key.names(**members) == names
    assert all(find(f"{key.component}.{name}")[0].entry is key for name in names[:-1])


@pytest.mark.parametrize(("set_values", "found"), [
    pytest.param({}, 20, id="unset: the default"),
    pytest.param({"NQUEUELIMITSITE_Analysis": 3}, 3, id="the member"),
    pytest.param({"NQUEUELIMITSITE_Analysis": 1}, 1, id="the least that is set"),
    pytest.param({"NQUEUELIMITSITE_Analysis": 0}, 20, id="0 is unset"),
    pytest.param({"NQUEUELIMITSITE_MC simul": 3}, 20, id="another member"),
])
def test_a_zero_that_means_unset_gives_the_default(set_values, found):
    values = Gdpconfig(in_force(scenario(**set_values)))
    assert values.value(jobbroker.NQUEUELIMITSITE, gshare="Analysis") == found
    assert values.own(jobbroker.NQUEUELIMITSITE, gshare="Analysis") == (None if found == 20 else found)


@pytest.mark.parametrize(("set_values", "general", "of_group"), [
    pytest.param({}, 12, 12, id="the default"),
    pytest.param({"ANALY_TIMEOUT": 5}, 5, 5, id="the general key"),
    pytest.param({"ANALY_TIMEOUT": 5, "ANALY_TIMEOUT_higgs": 1}, 5, 1, id="the member over the general key"),
    pytest.param({"ANALY_TIMEOUT": 5, "ANALY_TIMEOUT_higgs": 0}, 5, 5, id="a member of 0 under the general key"),
    pytest.param({"ANALY_TIMEOUT": 0}, 0, 0, id="a general key of which 0 is a value"),
])
def test_a_member_that_is_not_set_falls_back_to_the_general_key(set_values, general, of_group):
    values = Gdpconfig(in_force(scenario(**set_values)))
    assert values.value(rebroker.ANALY_TIMEOUT) == general
    assert values.value(rebroker.ANALY_TIMEOUT_OF_GROUP, workingGroup="higgs") == of_group


def test_a_value_of_0_that_means_unset_has_the_origin_of_the_default():
    made = scenario(STORAGE_MIN_FREE_SIZE=0, NQUEUELIMITSITE_Analysis=0)
    assert in_force(made) == DEFAULTS and set(map(str, origins_in_force(made).values())) == {"default"}
    assert in_force(scenario(STORAGE_MIN_FREE_SIZE=3).with_config({"STORAGE_MIN_FREE_SIZE": 0})) == DEFAULTS


@pytest.mark.parametrize(("edition", "in_force_then"), [("documented", (0, 0, 0)), ("deployed", (3, 0.3, None))])
def test_a_threshold_of_fast_rebrokerage_of_0_is_unset_in_the_code_alone(edition, in_force_then):
    keys = [f"FAST_REBRO_THRESHOLD_{name}" for name in ("NQNR_RATIO", "NQUEUE_FRAC", "NQUEUE_MC simul")]
    values = in_force(Scenario.from_dict(plain_values() | {"gdpconfig": dict.fromkeys(keys, 0), "edition": edition}))
    assert tuple(values.get(("rebroker", key)) for key in keys) == in_force_then


def test_members_of_a_family_that_are_set():
    values = Gdpconfig(in_force(scenario(HEARTBEAT_TIMEOUT_push=3)))
    assert ({"workflow": "push"}, 3) in values.members(watcher.HEARTBEAT_TIMEOUT_OF_WORKFLOW)


@pytest.mark.skipif(not DEFAULTS_FILE.is_file(), reason=f"{DEFAULTS_FILE.name} is not at hand")
def test_every_key_of_the_compiled_list_is_known():
    for row in json.loads(DEFAULTS_FILE.read_text())["rows"]:
        shortest, longest = re.sub(r"\[[^]]*]", "", row["key"]), re.sub(r"\[(_<\w+>)[^]]*]", r"\1", row["key"])
        for key in {shortest, longest}:
            for placeholder, member in (("<prodSourceLabel>", "managed"), ("<label>", "managed"),
                                        ("<resource_type>", "SCORE"), ("<queue>", "Some queue")):
                key = key.replace(placeholder, member)
            matches = find(f"{row['component']}.{re.sub('<[^>]*>', 'Some member', key)}")
            assert [match.entry.app for match in matches] == [row["app"]], row["key"]
            entry = matches[0].entry
            assert entry.default == row["default"] or entry.key in OTHER_DEFAULTS, row["key"]
            assert entry.type == row["type"].removesuffix("ing") or (entry.type, row["type"]) == ("float", "int")


@pytest.mark.parametrize(("name", "found"), [
    pytest.param("NQUEUED_SAT_CAP", ["jobbroker.NQUEUED_SAT_CAP"], id="a key of one component"),
    pytest.param("jobbroker.NQUEUED_SAT_CAP", ["jobbroker.NQUEUED_SAT_CAP"], id="with its component"),
    pytest.param("taskbrokerage.NQUEUED_SAT_CAP", [], id="with a wrong component"),
    pytest.param("MIN_INPUT_COMPLETENESS", ["jobbroker.MIN_INPUT_COMPLETENESS",
                                            "anal_jobbroker.MIN_INPUT_COMPLETENESS"], id="a key of two components"),
    pytest.param("jumbo_dog.JUMBO_MAX_TASKS", ["JumboWatchDog.JUMBO_MAX_TASKS"], id="the other name of a component"),
    pytest.param("DISK_THRESHOLD_MC simul", ["taskbrokerage.DISK_THRESHOLD_<gshare>"], id="a family, with a blank"),
    pytest.param("jobbroker.NQUEUELIMITSITE_Heavy.Ion", ["jobbroker.NQUEUELIMITSITE_<gshare>"], id="a dot in a share"),
    pytest.param("FAST_REBRO_THRESHOLD_NQUEUE_FRAC", ["rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC"],
                 id="a plain key wins over a family"),
    pytest.param("MIN_FILES_READY_managed_FC", ["queue_filler.MIN_FILES_READY_<label>_FC"],
                 id="the more literal family wins"),
    pytest.param("HEARTBEAT_TIMEOUT_push", ["watcher.HEARTBEAT_TIMEOUT_<workflow>"], id="a workflow"),
    pytest.param("MAX_FAILED_HEP_SCORE_RATE_TO_managed", [], id="a label has no underscores"),
    pytest.param("NQUEUELIMIT_", [], id="a family without member"),
    pytest.param("nqueued_sat_cap", [], id="case counts"),
])
def test_names_find_their_keys(name, found):
    assert [match.entry.name for match in find(name)] == found


@pytest.mark.parametrize(("name", "members"), [
    pytest.param("NQUEUELIMIT_MC simul", {"queue": "MC simul"}, id="a queue alone"),
    pytest.param("NQUEUELIMIT_MC 16_SCORE_HIMEM", {"queue": "MC 16", "rtype": "SCORE_HIMEM"}, id="a resource type"),
    pytest.param("NRUNNINGCAP_Frontier_MCORE*", {"queue": "Frontier", "rtype": "MCORE*"}, id="all multi-core types"),
    pytest.param("NQUEUECAP_MC_simul", {"queue": "MC_simul"}, id="an underscore in a queue"),
    pytest.param("MIN_WEIGHT_prod_test", {"label": "prod_test"}, id="a label with an underscore"),
    pytest.param("MIN_WEIGHT_managed_MC 16", {"label": "managed", "gshare": "MC 16"}, id="label and share"),
    pytest.param("TYPNFILES_managed__evgen", {"label": "managed", "queueOrNone": "", "type": "evgen"}, id="no queue"),
])
def test_members_of_families_are_told_apart(name, members):
    assert {tuple(match.members.items()) for match in find(name)} == {tuple(members.items())}


@given(st.text(min_size=1))
def test_any_share_can_be_a_member(share):
    for family in ("DISK_THRESHOLD", "NQUEUELIMITSITE", "FAST_REBRO_THRESHOLD_NQUEUE"):
        if not any(entry.key == f"{family}_{share}" for entry in REGISTRY):
            assert [match.members for match in find(f"{family}_{share}")] == [{"gshare": share}]


@pytest.mark.parametrize(("name", "value", "read"), [
    pytest.param("NW_ACTIVE", True, True, id="a truth"),
    pytest.param("NW_ACTIVE", "TRUE", True, id="true in any case"),
    pytest.param("NW_ACTIVE", "False", False, id="false in any case"),
    pytest.param("NQUEUED_SAT_CAP", 0, 0, id="a whole number"),
    pytest.param("NQUEUED_SAT_CAP", "300", 300, id="a whole number as text"),
    pytest.param("NQUEUED_SAT_CAP", 3e2, 300, id="a whole number with an exponent"),
    pytest.param("NW_THRESHOLD", 2, 2.0, id="a number"),
    pytest.param("USER_JOB_PRIO_BOOST_DICTS", '[{"name": "x"}]', [{"name": "x"}], id="JSON as text"),
    pytest.param("USER_JOB_PRIO_BOOST_DICTS", [], [], id="JSON as values"),
    pytest.param("GROUPBYATTR_Analysis", "userName", "userName", id="text"),
    pytest.param("NQUEUED_SAT_CAP", None, None, id="null unsets"),
    pytest.param("NW_QUEUE_IMPORTANCE", 1.0, 1.0, id="the upper end of a range"),
    pytest.param("MAX_PRIO_TO_BOOTSTRAP", -1, -1, id="a negative priority"),
    pytest.param("SCOUT_WRONG_CPUTIME_THRESHOLD", -1.0, -1.0, id="a negative number that turns a check off"),
])
def test_values_are_typed(name, value, read):
    made, wrong = settings({name: value})
    assert not wrong
    assert [(type(setting.value), setting.value) for setting in made] == [(type(read), read)]


@pytest.mark.parametrize(("name", "value", "says"), [
    pytest.param("NW_ACTIVE", "yes", "expected true or false", id="yes is not true"),
    pytest.param("NW_ACTIVE", 1, "expected true or false", id="1 is not true"),
    pytest.param("NQUEUED_SAT_CAP", 1.5, "expected a whole number (files)", id="a fraction of a file"),
    pytest.param("NQUEUED_SAT_CAP", True, "expected a whole number (files)", id="a truth is no number"),
    pytest.param("NQUEUED_SAT_CAP", "many", "expected a whole number (files)", id="text is no number"),
    pytest.param("DISK_THRESHOLD", float("nan"), "expected a number (TB)", id="not a number"),
    pytest.param("NQUEUED_SAT_CAP", -1, "expected a whole number (files), 0 to 1e+12", id="a negative number"),
    pytest.param("NW_QUEUE_IMPORTANCE", 1.01, "expected a number (fraction), 0 to 1", id="more than the whole"),
    pytest.param("SCOUT_RAMCOUNT_RANK", 101, "expected a number (percentile), 0 to 100", id="no such percentile"),
    pytest.param("LIMIT_IOINTENSITY_managed", 99, "expected a number (kB/s), 100 to 1e+12", id="below the least limit"),
    pytest.param("INPUT_SIZE_FRACTION", 100.1, "expected a number (%), 0 to 100", id="more than all"),
    pytest.param("FAST_REBRO_THRESHOLD_NQUEUE_FRAC", 1.01, "expected a number (fraction), 0 to 1", id="a fraction"),
    pytest.param("MAX_JOB_FAILURE_RATE_managed", 5, "expected a number (fraction), 0 to 1", id="5 meant as per cent"),
    pytest.param("SCOUT_NUM_SHORT_managed", 10.5, "expected a number (tenths), 0 to 10", id="more than ten tenths"),
    pytest.param("SLOPPY_DISPATCH_RATIO", -2, "expected a whole number (%), -1 to 100", id="less than never"),
    pytest.param("TIMEOUT_defined", 876001, "expected a number (h), 0 to 876000", id="more than a hundred years"),
    pytest.param("DATA_LOCATION_CHECK_PERIOD", -1, "expected a number (days), 0 to 36500", id="a negative period"),
    pytest.param("NQUEUED_SAT_CAP", 1e300, "expected a whole number (files), 0 to 1e+12", id="too many files"),
    pytest.param("DISK_THRESHOLD", -1e13, "expected a number (TB), -1e+12 to 1e+12", id="too little space"),
    pytest.param("DATA_CAROUSEL_CONFIG", "{", "expected JSON", id="bad JSON"),
    pytest.param("DATA_CAROUSEL_CONFIG", 3, "expected a list or a mapping, or JSON text of one", id="JSON of a number"),
    pytest.param("GROUPBYATTR_Analysis", 3, "expected text", id="a number is no text"),
])
def test_wrong_values_are_refused(name, value, says):
    made, wrong = settings({name: value})
    assert not made and [found.expected for found in wrong] == [says]
    with pytest.raises(ScenarioError, match=re.escape(says)):
        scenario(**{name: value})


def test_a_value_out_of_range_is_refused_with_its_line(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(f"extends: {MINIMAL}\ngdpconfig:\n  NW_QUEUE_IMPORTANCE: 2\n")
    with pytest.raises(ScenarioError, match=re.escape(
            "own.yaml:3: gdpconfig.NW_QUEUE_IMPORTANCE = 2: expected a number (fraction), 0 to 1")):
        load_scenario(path)


@pytest.mark.parametrize(("name", "nearest"), [
    pytest.param("NQUEUED_SATCAP", "NQUEUED_SAT_CAP", id="a typing error"),
    pytest.param("jobbroker.DISK_THRESHOLD", "taskbrokerage.DISK_THRESHOLD", id="the wrong component"),
    pytest.param("taskbroker.DISK_THRESHOLD", "taskbrokerage.DISK_THRESHOLD", id="no such component"),
    pytest.param("PRESTAGE_LIMIT", "USER_PRESTAGE_LIMIT", id="a name of the TWiki that nothing reads"),
])
def test_unknown_keys_name_the_nearest(name, nearest):
    found, = settings({name: 1})[1]
    assert found.key == ("gdpconfig", name) and found.nearest[0] == nearest


def test_keys_that_are_written_below_their_component_are_told_how_to_be_written():
    found, = settings({"jobbroker": {"NW_ACTIV": True}})[1]
    assert found.expected == "keys of a component are written as jobbroker.KEY: value"
    assert found.nearest == ("jobbroker.NW_ACTIVE",)


def test_a_bare_key_sets_all_components_and_a_component_wins():
    values = in_force(scenario(**{"jobbroker.MAX_MISSING_INPUT_FILES": 3, "MAX_MISSING_INPUT_FILES": 7}))
    assert values["jobbroker", "MAX_MISSING_INPUT_FILES"] == 3
    assert values["anal_jobbroker", "MAX_MISSING_INPUT_FILES"] == 7


def test_a_name_without_any_effect_is_refused():
    found, = settings({"NQUEUED_SAT_CAP": 1, "jobbroker.NQUEUED_SAT_CAP": 2})[1]
    assert found.key == ("gdpconfig", "NQUEUED_SAT_CAP") and "no effect" in found.expected


@pytest.mark.parametrize(("base", "over", "kept"), [
    pytest.param({"jobbroker.NQUEUED_SAT_CAP": 1}, {"NQUEUED_SAT_CAP": 2}, {}, id="the bare name replaces it"),
    pytest.param({"NQUEUED_SAT_CAP": 1}, {"jobbroker.NQUEUED_SAT_CAP": 2}, {}, id="and the other way round"),
    pytest.param({"MIN_INPUT_COMPLETENESS": 1}, {"jobbroker.MIN_INPUT_COMPLETENESS": 2}, {"MIN_INPUT_COMPLETENESS": 1},
                 id="a bare name that still counts elsewhere stays"),
    pytest.param({"NONSENSE": 1}, {"NQUEUED_SAT_CAP": 2}, {"NONSENSE": 1}, id="nonsense stays to be told"),
])
def test_a_key_laid_over_another_really_wins(base, over, kept):
    assert laid_over(base, over) == kept


def test_defaults_are_in_force_and_families_stand_at_their_prefix():
    values = in_force(scenario())
    assert values == DEFAULTS
    assert values["jobbroker", "NQUEUED_SAT_CAP"] == 150
    assert values["jobbroker", "NQUEUELIMITSITE"] == 20
    assert ("watcher", "HEARTBEAT_TIMEOUT") not in values
    assert not any("<" in key for _, key in values)
    assert {component for component, _ in values} <= set(COMPONENTS)


def test_what_is_set_is_in_force_with_its_origin():
    made = scenario(NQUEUELIMITSITE_Analysis=5).with_config({"NQUEUED_SAT_CAP": 300, "NW_ACTIVE": None})
    values, origins = in_force(made), origins_in_force(made)
    assert values["jobbroker", "NQUEUELIMITSITE_Analysis"] == 5
    assert values["jobbroker", "NQUEUED_SAT_CAP"] == 300
    assert str(origins["jobbroker", "NQUEUED_SAT_CAP"]) == "python"
    assert str(origins["jobbroker", "NW_ACTIVE"]) == "default"
    assert list(origins) == list(values)


def test_a_setting_can_be_changed_and_taken_back():
    changed = scenario(NQUEUED_SAT_CAP="300")
    assert in_force(changed)["jobbroker", "NQUEUED_SAT_CAP"] == 300 and DEFAULTS["jobbroker", "NQUEUED_SAT_CAP"] == 150
    assert in_force(changed.with_config({"NQUEUED_SAT_CAP": None})) == DEFAULTS
    member = scenario(NQUEUELIMITSITE_Analysis=3)
    assert in_force(member.with_config({"NQUEUELIMITSITE_Analysis": None})) == DEFAULTS
