import copy
from contextlib import nullcontext
from typing import Annotated

import pytest
from builders import scenario
from plain_scenario import plain_values

from simgrid_broker import advice
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario, remarks
from simgrid_broker.scenario.checks.cross_checks import CHECKS, LOOKS
from simgrid_broker.scenario.checks.rows import constraints_of_rows, remarks_of_rows
from simgrid_broker.scenario.loading.documents import merged
from simgrid_broker.scenario.loading.origins import Whole
from simgrid_broker.scenario.model import Grid
from simgrid_broker.schema.part import ActsIn, AtMost, Needs, Refers
from simgrid_broker.systems.dirac.dispatch import group_findings

WITH_DIRAC = (*CHECKS, group_findings)
OF_DOORS = {"checks_of_systems", "unknown_dispatcher", "brokerage_not_asked"}
GRID = ("grid",)
PAIR = {"source": "CERN-PROD", "destination": "BNL"}
TRACE = {"file": "jobs.swf"}

DISK = "CERN-PROD_DATADISK"
USERS = {"name": "ann", "users": 1, "offered_cores": 10, "hs06sec_per_event": {"median": 10}}


def changed(key, value):
    """The plain values with one of them replaced, or several of the top, by name, for the key (); ... removes it."""
    values = copy.deepcopy(plain_values())
    if not key:
        return values | value
    *way, last = key
    holder = values
    for step in way:
        holder = holder[step] if isinstance(step, int) or step in holder else holder.setdefault(step, {})
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return values


def problems(key, value):
    """What is told when one value is changed, as (key, nearest name) pairs."""
    try:
        Scenario.from_dict(changed(key, value))
    except ScenarioError as error:
        return [(problem.key, problem.nearest[0] if problem.nearest else None) for problem in error.problems]
    return []


def with_grid(**parts):
    """The grid of the plain scenario, with more said of its entries, and its links replaced."""
    grid = copy.deepcopy(plain_values()["grid"])
    for part, entries in parts.items():
        if part == "links":
            grid[part] = entries
            continue
        for name, said in entries.items():
            grid[part][name] = grid[part].get(name, {}) | said
    return grid


def retry_rule(**fields):
    plain = {"errorsource": "pilotErrorCode", "errorcode": 1212, "retryaction": "no_retry"}
    return ("retry_rules",), [plain | fields]


def error_class(**fields):
    return ("error_classification",), [{"error_source": "pilotErrorCode", "error_code": 1099} | fields]


def incident(**fields):
    return ("incidents",), [{"at": "1h", **fields}]


def dataset(size):
    """One dataset of this size on the disk."""
    return ("data", "datasets"), {"d": {"files": 1, "bytes": size, "replicas": [{"storage": DISK}]}}


STORE = dict(site="BNL", type="OS_ES", total=1, free=1)
"""An object store."""


def users(**said):
    """Tasks of one user, and what is said of them."""
    return ("workload", "users"), [USERS | said]


def work_queue(**said):
    """Where a work queue for a dedicated facility stands, and what is said of it."""
    return ("work_queues",), [{"name": "HPC", "function": "Resource", "order": 1} | said]


EXAMPLES = {
    "work_without_share": (("shares",), [{"name": "Simulation", "value": 1, "processingtype": "simulation"}],
                           ("workload.campaigns[0].processingtype", "simulation")),
    "constraints_of_rows: a name of nothing": (
        (*GRID, "queues", "CERN", "atlas_site"), "CERN-PRD", ("grid.queues.CERN.atlas_site", "CERN-PROD")),
    "storage_of_site": ((*GRID, "sites", "BNL", "storage"), "CERN-PROD_DATADSK",
                        ("grid.sites.BNL.storage", "CERN-PROD_DATADISK")),
    "link_to_itself": ((*GRID, "links", "pairs"), [PAIR | {"source": "BNL"}],
                       ("grid.links.pairs[0].destination", None)),
    "link_twice": ((*GRID, "links", "pairs"), [PAIR, PAIR], ("grid.links.pairs[1]", None)),
    "link_wider_than_door": ((), {"grid": with_grid(sites={"BNL": {"door_in": "1 Gb/s"}},
                                                    links={"pairs": [PAIR | {"bandwidth": "2 Gb/s"}]})},
                             ("grid.links.pairs[0].bandwidth", None)),
    "endpoint_wider_than_site": ((), {"grid": with_grid(
        sites={"CERN-PROD": {"door_out": "1 Gb/s"}}, storages={"CERN-PROD_DATADISK": {"door_out": "2 Gb/s"}})},
                                 ("grid.storages.CERN-PROD_DATADISK.door_out", None)),
    "constraints_of_rows: a limit above another": (
        (*GRID, "links", "default"), {"min_active_files": 3, "max_active_files": 2},
                                ("grid.links.default.min_active_files", None)),
    "backbone_without_border": ((*GRID, "links", "backbones"), {"SEA": {"capacity": "1 Gb/s"}},
                                ("grid.links.backbones.SEA", None)),
    "flow_between_two": ((*GRID, "fts", "flows"), [
        {"activity": "t0_export", "files_per_day": 1, "file_size": "1 GB", "from_tiers": [3]}],
                         ("grid.fts.flows[0]", None)),
    "too_many_rules": ((*GRID, "fts", "flows"), [
        {"activity": "staging", "files_per_day": 5e29, "file_size": "1 GB", "files_per_rule": 100}],
                       ("grid.fts.flows[0].files_per_day", None)),
    "too_many_troubles": ((*GRID, "links", "troubles"), [
        {"every": "1 s", "lasts": "1 h"}, {"every": 1e-6, "lasts": 1e-6}], ("grid.links.troubles[1].every", None)),
    "capacity_of_what": (*incident(what="network_capacity", factor=0.5, site="BNL", source="CERN-PROD"),
                         ("incidents[0]", None)),
    "object_store_on_tape": ((*GRID, "storages", "OS"), STORE | {"tape": True}, ("grid.storages.OS.tape", None)),
    "replica_at_object_store": ((), {
        "grid": with_grid(storages={"OS": STORE}),
        "data": {"datasets": {"d": {"files": 1, "bytes": 1, "replicas": [{"storage": DISK}]}}},
        "incidents": [dict(at=1, what="replica_added", storage="OS", dataset="d")]}, ("incidents[0].storage", None)),
    "too_much_space": ((*GRID, "storages", "CERN-PROD_DATADISK", "free"), "11 PB",
                       ("grid.storages.CERN-PROD_DATADISK.free", None)),
    "too_much_space: all is free, and more is expired than the sum of both shows": (
        (*GRID, "storages", "CERN-PROD_DATADISK"),
        {"site": "CERN-PROD", "total": 1e30, "free": 1e30, "expired": 1e9},
        ("grid.storages.CERN-PROD_DATADISK.expired", None)),
    "no_queue": ((*GRID, "queues"), {}, ("grid.queues", None)),
    "no_nucleus": ((*GRID, "sites", "CERN-PROD", "nucleus"), False, ("grid.sites", None)),
    "nucleus_without_storage": ((*GRID, "sites", "BNL", "nucleus"), True, ("grid.sites.BNL.nucleus", None)),
    "queue_without_cores": ((*GRID, "sites", "BNL", "cores"), ..., ("grid.queues.BNL_PROD", None)),
    "slot_too_large": ((*GRID, "sites", "BNL", "cores"), 7, ("grid.queues.BNL_PROD.corecount", None)),
    "slot_too_powerful": ((*GRID, "queues", "CERN", "corepower"), 1e9, ("grid.queues.CERN.corepower", None)),
    "too_many_cores": ((*GRID, "sites", "BNL", "cores"), 20_000_000, ("grid.sites.BNL.cores", None)),
    "constraints_of_rows: a file without its queues": (
        (*GRID, "rses"), "rses.json", ("grid.rses", None)),
    "share_twice": (("shares", 1, "name"), "MC simul", ("shares[1].name", None)),
    "share_below_nothing": (("shares", 0, "value"), 0, ("shares[0].value", None)),
    "siblings_of_nothing": (("shares", 0, "children"), [{"name": "MC simul", "value": 0}],
                            ("shares[0].children", None)),
    "bad_expression": (("shares", 1, "campaign"), "(mc", ("shares[1].campaign", None)),
    "bad_expression: of a field that tasks have": (
        ("shares", 0, "processingtype"), "([", ("shares[0].processingtype", None)),
    "no_resource_type": (("resource_types",), {}, ("resource_types", None)),
    "constraints_of_rows: a type that PanDA does not have": (
        ("resource_types", "MCORE_HIMM"), {"mincore": 2},
                              ("resource_types.MCORE_HIMM", "MCORE_HIMEM")),
    "constraints_of_rows: bounds upside down": (
        ("resource_types",), {"SCORE": {"mincore": 2, "maxcore": 1}},
                           ("resource_types.SCORE.mincore", None)),
    "wrong_setting": (("gdpconfig", "NW_ACTIV"), True, ("gdpconfig.NW_ACTIV", "NW_ACTIVE")),
    "setting_of_unknown_share": (("gdpconfig", "DISK_THRESHOLD_MC siml"), 3,
                                 ("gdpconfig.DISK_THRESHOLD_MC siml", "MC simul")),
    "warm_up_too_long": (("warm_up",), "2 days", ("warm_up", None)),
    "load_without_work": (("workload", "campaigns", 0),
                          {"name": "mc", "hs06sec_per_event": 0, "basewalltime": 0, "offered_cores": 1},
                          ("workload.campaigns[0].offered_cores", None)),
    "too_many_tasks": (("workload", "campaigns", 0, "offered_cores"), 1e12,
                       ("workload.campaigns[0].offered_cores", None)),
    "boosts_of_users": (("gdpconfig",), {"USER_JOB_PRIO_BOOST_DICTS": [{"name": "x", "typ": "user", "prio": 1}]},
                        ("gdpconfig.USER_JOB_PRIO_BOOST_DICTS[0]", "type")),
    "incident_fields": (*incident(what="site_outage", site="BNL", queue="CERN"), ("incidents[0].queue", None)),
    "parents_of_campaigns": (("workload", "campaigns"), [{"name": "simul", "hs06sec_per_event": 1, "parent": "simul"}],
                             ("workload.campaigns[0].parent", None)),
    "queues_of_work": (("workload", "campaigns", 0, "site"), ["CERN", "CERN"],
                       ("workload.campaigns[0].site[1]", None)),
    "incident_status": (*incident(what="queue_status", queue="CERN", status="onlin"),
                        ("incidents[0].status", "online")),
    "share_of_command": (*incident(what="task_share", task=1, share="Production"), ("incidents[0].share", None)),
    "share_of_command: a partition of work queues": (
        (), {"work_queues": [{"name": "P", "function": "partition", "share": 1},
                             {"name": "Q", "partition": "P", "share": 1, "order": 1, "criteria": "coreCount > 0"}],
             "incidents": [{"at": "1h", "what": "task_share", "task": 1, "share": "P"}]}, ("incidents[0].share", None)),
    "incident_on_link_to_itself": (*incident(what="link_outage", source="BNL", destination="BNL"),
                                   ("incidents[0].destination", None)),
    "command_options": (*incident(what="task_command", task=1, command="pause", soft=True),
                        ("incidents[0].soft", None)),
    "task_of_command": (*incident(what="task_share", task=0, share="Analysis"), ("incidents[0].task", None)),
    "impossible_command": (*incident(what="task_command", task=1, command="resume"), ("incidents[0].command", None)),
    "incident_values": (*incident(what="share_target", share="Analysis", value="x"), ("incidents[0].value", None)),
    "incident_after_the_end": (None, None, None),       # needs a file, as the next: in test_loader
    "snapshot_after_the_end": (None, None, None),
    "unknown_error": (*retry_rule(errorcode=2212), ("retry_rules[0].errorcode", "1212")),
    "bad_diagnostics": (*error_class(error_diag="(Failed"), ("error_classification[0].error_diag", None)),
    "unknown_diagnostics": (*retry_rule(errordiag="Payload exceeds"), ("retry_rules[0].errordiag", None)),
    "parameters_of_actions": (*retry_rule(retryaction="limit_retry"), ("retry_rules[0]", None)),
    "unknown_workflow": ((*GRID, "queues", "CERN", "workflow"), "pul", ("grid.queues.CERN.workflow", "pull")),
    "limit_of_workers": ((*GRID, "queues", "CERN", "params"), {"maxWorkers": 0},
                         ("grid.queues.CERN.params.maxWorkers", None)),
    "slot_larger_than_node": ((*GRID, "sites", "CERN-PROD", "node"), {"cores": 1},
                              ("grid.queues.CERN.corecount", None)),
    "partition_of_a_batch_system": ((*GRID, "sites", "CERN-PROD", "partitions"), {"SCORE": 1001},
                                    ("grid.sites.CERN-PROD.partitions", None)),
    "slots_that_open": ((*GRID, "queues", "CERN", "slot_requests"), [{"slots": 1, "opens": "2h", "expires": "2h"}],
                        ("grid.queues.CERN.slot_requests[0].opens", None)),
    "queues_of_patterns": (*users(includedSite=["CER"]), ("workload.users[0].includedSite[0]", "CERN")),
    "one_place": (*users(site=["CERN"], siteEndpoint=DISK), ("workload.users[0].siteEndpoint", None)),
    "sites_of_production": (*incident(what="task_command", task="mc", command="retry", includedSite=["CERN"]),
                            ("incidents[0].includedSite", None)),
    "constraints_of_rows: an account of nobody": (
        (), {"workload": {"users": [USERS]}, "accounts": {"ann-001": {"quota": "1 TB"}}},
                           ("accounts.ann-001", "ann-0001")),
    "queue_twice": (*work_queue(name="Analysis"), ("work_queues[0].name", None)),
    "bad_order": (*work_queue(order=None), ("work_queues[0].order", None)),
    "too_large_replicas": (*dataset(1e18), (f"grid.storages.{DISK}.free", None)),
    "constraints_of_rows: popularity without container": (
        ("data",), {"datasets": {"d": {"files": 1, "bytes": 1, "popularity": 2,
                                                               "replicas": [{"storage": DISK}]}}},
                                ("data.datasets.d.popularity", None)),
    "jobs_of_shared_input": ((), {"data": {"datasets": {"d": {"files": 1, "bytes": 1,
                                                              "replicas": [{"storage": DISK}]}}},
                                  "workload": {"campaigns": [{"name": "mc", "hs06sec_per_event": 1, "dataset": "d"}]},
                                  "incidents": [dict(at=1, what="task_arrival", campaign="mc", jobs=3)]},
                             ("incidents[0].jobs", None)),
    "constraints_of_rows: drives of a disk": (
        (*GRID, "storages", DISK, "drives"), 2, (f"grid.storages.{DISK}.drives", None)),
    "tape_without_drives": ((), {
        "grid": with_grid(storages={DISK: {"tape": True}}),
        "gdpconfig": {"DATA_CAROUSEL_CONFIG": {"source_tapes_config": {DISK: {"active": True}}}}},
        (f"grid.storages.{DISK}.drives", None)),
    "config_of_carousel": (("gdpconfig",), {"DATA_CAROUSEL_CONFIG": {"source_tapes_config": {DISK: {"activ": True}}}},
                           (f"gdpconfig.DATA_CAROUSEL_CONFIG.source_tapes_config.{DISK}.activ", "active")),
    "bad_criteria": (*work_queue(criteria="processingTyp = 'simul'"), ("work_queues[0].criteria", "processingType")),
    "bad_partition": (*work_queue(partition="P"), ("work_queues[0].partition", None)),
    "queues_of_nothing": (*work_queue(function="normal", share=0), ("work_queues", None)),
    "bad_group_attribute": (("gdpconfig", "GROUPBYATTR_Analysis"), "userNam",
                            ("gdpconfig.GROUPBYATTR_Analysis", "userName")),
    "incident_ends_too_early": (*incident(what="site_outage", site="BNL", until="1h"), ("incidents[0].until", None)),
    "sample_of_a_trace": ((), {"workload": {"trace": TRACE}, "record": {"jobs": 0.5}}, ("record.jobs", None)),
    "group_findings": ((), {"dispatch": "dirac", "dirac": {"groups": {"prod": {"shares": ["MC simu"]}}}},
                       ("dirac.groups.prod.shares[0]", "MC simul")),
}


def test_the_plain_scenario_has_no_problem_and_no_remark():
    assert remarks(Scenario.from_dict(plain_values())) == ()


@pytest.mark.parametrize(("boosts", "expected"), [
    pytest.param({"name": "x"}, "a list of", id="no list"),
    pytest.param(["x"], "{name, type, prio}", id="no mapping"),
    pytest.param([{"type": "user", "prio": 1}], "a name", id="no name"),
    pytest.param([{"name": "x", "type": "users", "prio": 1}], "user or group", id="no such type"),
    pytest.param([{"name": "x", "type": "user", "prio": 0}], "other than 0", id="no boost"),
])
def test_boosts_are_read_before_the_run(boosts, expected):
    with pytest.raises(ScenarioError, match=expected):
        Scenario.from_dict(changed(("gdpconfig",), {"USER_JOB_PRIO_BOOST_DICTS": boosts}))


@pytest.mark.parametrize(("boosts", "is_refused"), [({}, True), ([{"name": "x"}], True), ([], False)])
def test_boosts_of_incidents_are_read_before_the_run(boosts, is_refused):
    incident = {"at": "1 h", "what": "gdpconfig", "key": "dbproxy.USER_JOB_PRIO_BOOST_DICTS", "value": boosts}
    with pytest.raises(ScenarioError, match=r"incidents\[0\].value") if is_refused else nullcontext():
        Scenario.from_dict(changed(("incidents",), [incident]))


@pytest.mark.parametrize(("changes", "message"), [
    pytest.param({"grid": {"sites": {"CERN-PROD": {"storage": "NOWHERE"}}}, "data": {"populations": {"p": {
        "source": "assumed", "datasets": 3, "files": 2, "file_size": "1 GB"}}}}, "unknown storage", id="of a site"),
    pytest.param({"workload": {"campaigns": [{"name": "mc", "hs06sec_per_event": 1000, "offered_cores": 800,
                                              "datasets": ["none"]}]}}, "unknown dataset", id="of a stream"),
])
def test_unknown_names_in_data_are_refused_by_name(changes, message):
    with pytest.raises(ScenarioError, match=message):
        Scenario.from_dict(merged(plain_values(), changes))


def test_boosts_of_unknown_users_and_dates_are_remarked():
    users = [{"name": "users", "users": 12, "offered_cores": 10, "hs06sec_per_event": {"median": 10},
              "prodsourcelabel": "managed"}]
    boosts = [{"name": "users-0012", "type": "user", "prio": 5}, {"name": "users-0013", "type": "user", "prio": 5},
              {"name": "GP", "type": "group", "prio": 5, "expire": "20270101"}]
    plain = changed(("gdpconfig",), {"USER_JOB_PRIO_BOOST_DICTS": boosts})
    plain["workload"]["users"] = users
    said = [remark for remark in remarks(Scenario.from_dict(plain)) if "PRIO_BOOST" in remark]
    assert len(said) == 3 and "users-0013" in said[0] and "did you mean users-001" in said[0]
    assert "group 'GP'" in said[1] and "calendar" in said[2]


class Ledger(Whole):
    """Rows that remark what they do not refuse."""

    edition: str = "documented"
    grid: Grid
    owner: Annotated[str, Refers("site", answer="remark", expected="counts for no site")] = ""
    limit: Annotated[int | None, Needs("owner", "nobody has it", answer="remark"), AtMost("most")] = None
    most: Annotated[int, ActsIn("deployed")] = 5


@pytest.mark.parametrize(("said", "found"), [
    (dict(owner="BNL", limit=3), []),
    (dict(owner="BNLL"), ["owner = 'BNLL': counts for no site; did you mean 'BNL'?"]),
    (dict(limit=3, owner="BNL", most=6), ["most = 6: has no effect: only the deployed edition reads it"]),
    (dict(limit=3), ["owner = '': counts for no site", "limit = 3: has no effect without owner: nobody has it"])])
def test_rows_may_remark_what_others_refuse(said, found):
    ledger = Ledger.model_validate({"grid": plain_values()["grid"], **said})
    assert [*map(str, remarks_of_rows(ledger))] == found
    assert [*constraints_of_rows(ledger)] == []
    assert [one.expected for one in constraints_of_rows(ledger.model_copy(update={"limit": 7}))] == [
        f"must not exceed most, {ledger.most}"]


def test_every_check_has_an_example():
    assert {name.partition(":")[0] for name in EXAMPLES} == {
        check.__name__ for check in WITH_DIRAC} - OF_DOORS, "modes and dispatchers have tests of their own"


@pytest.mark.parametrize(("links", "found"), [
    pytest.param({"backbones": {"SEA": {"capacity": 1, "sites": ["BNL"]}}}, [], id="a group of one site"),
    pytest.param({"backbones": {"SEA": {"capacity": 1, "sites": ["BLN"]}}},
                 [("grid.links.backbones.SEA.sites[0]", "BNL")], id="a site that does not exist"),
    pytest.param({"backbones": {"SEA": {"capacity": 1, "sites": ["BNL"], "regions": ["FR"]}}},
                 [("grid.links.backbones.SEA.regions[0]", None)], id="a region without sites"),
    pytest.param({"backbones": {"SEA": {"capacity": 1, "sites": ["BNL", "CERN-PROD"]}}},
                 [("grid.links.backbones.SEA", None)], id="all sites: nothing crosses the border"),
    pytest.param({"backbones": {"SEA": {"capacity": 0, "sites": ["BNL"]}}},
                 [("grid.links.backbones.SEA.capacity", None)], id="no capacity"),
    pytest.param({"background": {"load": 0.5, "by_hour": [1] * 24}}, [], id="a profile of a day"),
    pytest.param({"background": {"load": 0.5, "by_hour": [1] * 23}}, [("grid.links.background", None)],
                 id="an hour is missing"),
    pytest.param({"background": {"load": 0.5, "by_hour": [1] * 23 + [2]}}, [("grid.links.background", None)],
                 id="nothing is left in one hour"),
    pytest.param({"pairs": [PAIR | {"destination": "BLN"}]}, [("grid.links.pairs[0].destination", "BNL")],
                 id="a link to nowhere"),
])
def test_what_links_share(links, found):
    assert problems((*GRID, "links"), links) == found


@pytest.mark.parametrize(("shares", "found"), [
    pytest.param({"staging": 2, "production_output": 0.5}, [], id="activities"),
    pytest.param({"stagin": 2}, [("grid.fts", None)], id="an activity that does not exist"),
    pytest.param({"express": 2}, [("grid.fts", None)], id="express goes first whatever the others have"),
    pytest.param({"staging": 0}, [("grid.fts.shares.staging", None)], id="a share of nothing"),
])
def test_shares_of_activities(shares, found):
    assert problems((*GRID, "fts"), {"shares": shares}) == found


@pytest.mark.parametrize(("fields", "found"), [
    pytest.param({"status": "OF"}, ("incidents[0].status", "OFF"), id="a status that endpoints do not have"),
    pytest.param({"status": "offline"}, ("incidents[0].status", None), id="a status of queues"),
    pytest.param({"storage": "CERN_DATADISK"}, ("incidents[0].storage", "CERN-PROD_DATADISK"), id="no such endpoint"),
    pytest.param({"activity": None}, ("incidents[0]", None), id="no activity"),
    pytest.param({"queue": "CERN"}, ("incidents[0].queue", None), id="a field that it does not read"),
])
def test_status_of_an_endpoint_in_an_incident(fields, found):
    plain = dict(what="storage_status", storage="CERN-PROD_DATADISK", activity="read_wan", status="OFF")
    assert problems(*incident(**plain)) == []
    said = problems(*incident(**plain | fields))
    assert (said[0][0], found[1] and said[0][1]) == found


@pytest.mark.parametrize(("said", "found"), [
    pytest.param(retry_rule(), [], id="a rule"),
    pytest.param(retry_rule(errorsource="pilotErorCode"), [("retry_rules[0].errorsource", "pilotErrorCode")],
                 id="a column that jobs do not have"),
    pytest.param(retry_rule(errorsource="brokerageErrorCode"), [("retry_rules[0].errorsource", None)],
                 id="a column that tells of no failure here"),
    pytest.param(retry_rule(retryaction="increase_memry"), [("retry_rules[0].retryaction", "increase_memory")],
                 id="an action that there is not"),
    pytest.param(retry_rule(errordiag=".*memory"), [], id="diagnostics of the error"),
    pytest.param(retry_rule(errordiag="(memory"), [("retry_rules[0].errordiag", None)], id="no expression"),
    pytest.param(retry_rule(parameters={"maxAttempt": 2}), [("retry_rules[0].parameters.maxAttempt", None)],
                 id="a limit that is not read"),
    pytest.param(retry_rule(retryaction="limit_retry", parameters={"maxAttempt": 0}),
                 [("retry_rules[0].parameters.maxAttempt", None)], id="less than one attempt"),
    pytest.param(error_class(), [], id="a class"),
    pytest.param(error_class(error_code=109), [("error_classification[0].error_code", "1099")], id="an unknown code"),
    pytest.param(error_class(error_class="sytem"), [("error_classification[0].error_class", "system")],
                 id="a class that there is not"),
])
def test_retry_rules(said, found):
    assert problems(*said) == found


@pytest.mark.parametrize(("key", "value", "found"), [
    pytest.param((*GRID, "storages", "X"), {"site": "BN", "total": 2, "free": 1}, ("grid.storages.X.site", "BNL"),
                 id="site of a storage"),
    pytest.param((*GRID, "links", "pairs"), [PAIR | {"source": "BNLL"}], ("grid.links.pairs[0].source", "BNL"),
                 id="end of a link"),
    pytest.param(("workload", "campaigns", 0, "gshare"), "MC simu", ("workload.campaigns[0].gshare", "MC simul"),
                 id="share of a campaign"),
    pytest.param(("workload", "campaigns"), [{"name": "simul", "hs06sec_per_event": 1, "parent": "simu"}],
                 ("workload.campaigns[0].parent", "simul"), id="parent of a campaign"),
    pytest.param(("workload", "campaigns", 0, "nucleus"), "BNLL", ("workload.campaigns[0].nucleus", "BNL"),
                 id="nucleus of a campaign"),
    pytest.param(("workload", "campaigns", 0, "site"), ["CERN", "BNL_PRD"],
                 ("workload.campaigns[0].site[1]", "BNL_PROD"), id="queues of a campaign"),
    pytest.param(("workload", "campaigns", 0, "workQueueName"), "HPC",
                 ("workload.campaigns[0].workQueueName", None), id="work queue of a campaign"),
    pytest.param(*retry_rule(workqueue="MC siml"), ("retry_rules[0].workqueue", "MC simul"), id="share of a rule"),
    pytest.param(*incident(what="site_outage", site="BN"), ("incidents[0].site", "BNL"), id="site of an outage"),
    pytest.param(*incident(what="task_command", task=1, command="reassign", nucleus="BNLL"),
                 ("incidents[0].nucleus", "BNL"), id="nucleus of a command"),
])
def test_a_name_without_its_thing_is_a_problem(key, value, found):
    assert problems(key, value) == [found]


@pytest.mark.parametrize("name", [name for name, (key, *_) in EXAMPLES.items() if key is not None])
def test_every_check_finds_its_example(name):
    key, value, found = EXAMPLES[name]
    assert found in problems(key, value)
    scenario = Scenario.model_validate(changed(key, value))
    check, = (check for check in WITH_DIRAC if check.__name__ == name.partition(":")[0])
    assert list(check(scenario))


@pytest.mark.parametrize(("key", "value", "found"), [
    pytest.param((*GRID, "links", "by_site"), {"BNLL": {}}, [("grid.links.by_site.BNLL", "BNL")], id="link of a site"),
    pytest.param((*GRID, "links", "closeness"), {"sites": ["BN"], "rows": ["0"]},
                 [("grid.links.closeness.sites[0]", "BNL")], id="site of the closeness matrix"),
    pytest.param((*GRID, "links", "by_tier"), {"3": {}}, [], id="tier 3 is the last"),
    pytest.param((*GRID, "sites", "CERN-PROD", "storage"), "CERN-PROD_DATADISK", [], id="a site's own storage"),
    pytest.param((*GRID, "sites", "BNL", "storage"), "CERN-PROD_DATADISK", [], id="a site that has none uses another"),
    pytest.param((*GRID, "storages", "CERN-PROD_DATADISK", "free"), "10 PB", [], id="an empty storage"),
    pytest.param((*GRID, "storages", "CERN-PROD_DATADISK", "expired"), "9 PB", [], id="full of deletable data"),
    pytest.param((*GRID, "storages", "CERN-PROD_DATADISK", "expired"), "9.1 PB",
                 [("grid.storages.CERN-PROD_DATADISK.expired", None)], id="more deletable data than there can be"),
    pytest.param(*dataset("9 PB"), [], id="a replica of all that is in use"),
    pytest.param(*dataset("9.1 PB"), [("grid.storages.CERN-PROD_DATADISK.free", None)], id="a larger replica"),
    pytest.param((*GRID, "storages", "CERN-PROD_DATADISK", "min_free"), "11 PB",
                 [("grid.storages.CERN-PROD_DATADISK.min_free", None)], id="more to keep free than there is"),
    pytest.param((*GRID, "storages", "CERN-PROD_DATADISK", "unavailable"), "11 PB",
                 [("grid.storages.CERN-PROD_DATADISK.unavailable", None)], id="more promised than there is"),
    pytest.param((*GRID, "queues", "BNL_PROD", "cores"), 0, [], id="a queue's own cores are enough"),
    pytest.param((*GRID, "sites", "BNL", "cores"), 8, [], id="a site of a single slot"),
    pytest.param((*GRID, "sites", "BNL", "cores"), 19_999_000, [], id="as many cores as there may be"),
    pytest.param((*GRID, "sites", "BNL", "cores"), 10**25, [("grid.sites.BNL.cores", None)],
                 id="more cores than a whole number can say"),
    pytest.param((*GRID, "queues", "CERN", "corecount"), 40_000, [("grid.queues.CERN.corecount", None)],
                 id="more cores than a slot can have"),
    pytest.param((*GRID, "links", "default", "bandwidth"), "1e40 Gb/s", [("grid.links.default.bandwidth", None)],
                 id="more than a table can hold"),
    pytest.param(("seed",), 2**63 - 1, [], id="the largest seed"),
    pytest.param(("seed",), 2**63, [("seed", None)], id="more than a seed can be"),
    pytest.param(("workload", "campaigns", 0), {"name": "mc", "hs06sec_per_event": 0, "basewalltime": 0,
                                                "tasks_per_day": 1}, [], id="jobs without work may come"),
    pytest.param(("workload", "campaigns", 0), {"name": "mc", "hs06sec_per_event": 0, "basewalltime": 0,
                                                "backlog": 5_000_001},
                 [("workload.campaigns[0].backlog", None)], id="but not more of their tasks than others may have"),
    pytest.param(("workload", "campaigns", 0), {"name": "mc", "hs06sec_per_event": 1, "backlog": 5_000_000}, [],
                 id="as many tasks as there may be"),
    *(pytest.param((*GRID, "fts", "flows"), [{"activity": "staging", "files_per_day": number, "file_size": 1,
                                              "files_per_rule": 1}], [("grid.fts.flows[0]", None), *found], id=name)
      for number, found, name in (                # the only disk has none to send to
        (50_000_000, [], "as many rules of a flow in two days as there may be"),
        (50_000_001, [("grid.fts.flows[0].files_per_day", None)], "more rules of a flow"))),
    *(pytest.param((*GRID, "links", "troubles"), [{"every": every, "lasts": 0.02, "of": of}],
                   [("grid.links.troubles[0].every", None)] * n, id=name)
      for every, of, n, name in (
        (0.0146, "sites", 0, "as many troubles of two sites in two days as there may be"),
        (0.0145, "sites", 1, "more troubles of sites"), (0.0145, "links", 1, "more troubles of the two links"))),
    pytest.param((*GRID, "queues", "BNL_PROD", "cores"), 19_999_000, [], id="cores of a queue stand for its site's"),
    pytest.param(("workload", "campaigns", 0, "jobs_per_task"), 0.5,
                 [("workload.campaigns[0].jobs_per_task.median", None)], id="less than a job"),
    pytest.param(("shares", 1, "name"), "root", [("shares[1].name", None)], id="root is the node above all"),
    pytest.param(("shares", 1, "name"), " ", [("shares[1].name", None)], id="a blank is no name"),
    pytest.param(("shares", 1, "value"), 0, [], id="a single share may be off"),
    pytest.param(("shares",), [{"name": "A", "value": 0}, {"name": "B", "value": 0}],
                 [("shares", None), ("gdpconfig.DISK_THRESHOLD_MC simul", None)], id="all shares at the top are off"),
    pytest.param(("shares",), [], [("shares", None)], id="no share"),
    pytest.param(("resource_types",), {}, [("resource_types", None)], id="no resource type"),
    pytest.param(("resource_types",), {"SCORE": {"minrampercore": 2, "maxrampercore": 1}},
                 [("resource_types.SCORE.minrampercore", None)], id="memory upside down"),
    pytest.param(("gdpconfig", "DISK_THRESHOLD_Production"), 3,
                 [("gdpconfig.DISK_THRESHOLD_Production", None)], id="an inner share has no settings"),
    pytest.param(("gdpconfig", "NQUEUELIMIT_eventservice"), 3, [], id="a work queue that is no share"),
    pytest.param(("warm_up",), "47h", [], id="something is left after the warm-up"),
    pytest.param(("workload", "trace"), TRACE | {"share": "Production"}, [("workload.trace.share", None)],
                 id="a trace for an inner share"),
    pytest.param(*incident(what="queue_status", queue="CERN", status="paused"), [], id="a queue gets a status"),
    pytest.param(*incident(what="queue_status", queue="CERN", status="off"), [("incidents[0].status", "offline")],
                 id="a status that CRIC does not have"),
    pytest.param(*incident(what="queue_status", queue="CERN", status="test", until="2h"),
                 [("incidents[0].until", None)], id="a status has no end"),
    pytest.param(*incident(what="link_outage", source="BNL"), [("incidents[0]", None)], id="a link has two ends"),
    pytest.param(*incident(what="share_target", share="Production", value=0), [], id="the target of an inner share"),
    pytest.param(*incident(what="share_target", share="Analysis", value=-1), [("incidents[0].value", None)],
                 id="a target below 0"),
    pytest.param(*incident(what="gdpconfig", key="NW_ACTIVE", value=True), [], id="a key changes"),
    pytest.param(*incident(what="gdpconfig", key="NW_ACTIVE", value=3), [("incidents[0].value", None)],
                 id="a key changes to the wrong type"),
    pytest.param(*incident(what="gdpconfig", key="NW_ACTIV", value=True), [("incidents[0].key", "NW_ACTIVE")],
                 id="a key that does not exist"),
    pytest.param(*incident(what="gdpconfig", key="NQUEUELIMITSITE_Analysi", value=1),
                 [("incidents[0].key", "Analysis")], id="a key of an unknown share"),
    pytest.param(*incident(what="task_priority", task=1, priority=900), [], id="the first task"),
    pytest.param(*incident(what="task_priority", task=0, priority=900), [("incidents[0].task", None)],
                 id="there is no task 0"),
    pytest.param(*incident(what="task_priority", task="mc", priority=900), [], id="the tasks of a campaign"),
    pytest.param(*incident(what="task_priority", task="mcc", priority=900), [("incidents[0].task", "mc")],
                 id="a name that nobody has"),
    pytest.param(*incident(what="task_share", task=1, share="Production"), [("incidents[0].share", None)],
                 id="an inner share takes no task"),
    pytest.param(*incident(what="task_share", task=1, share="Analysis"), [], id="a leaf takes tasks"),
    pytest.param(*incident(what="task_command", task=1, command="abort"), [], id="a task is aborted"),
    pytest.param(*incident(what="task_command", task=1, command="kill"),
                 [("incidents[0].command", None), ("incidents[0]", None)], id="no such command"),
    pytest.param(*incident(what="task_command", task=1), [("incidents[0]", None)], id="a command is missing"),
    pytest.param(*incident(what="task_command", task=1, command="abort", soft=True), [("incidents[0].soft", None)],
                 id="abort is never soft"),
    pytest.param(*incident(what="task_command", task=1, command="reassign", nucleus="BNLL"),
                 [("incidents[0].nucleus", "BNL")], id="a nucleus that is no site"),
    pytest.param(*incident(what="task_command", task=1, command="reassign", queue="CER"),
                 [("incidents[0].queue", "CERN")], id="a queue that is none"),
    pytest.param(*incident(what="task_command", task=1, command="resume"), [("incidents[0].command", None)],
                 id="nothing pauses the task"),
    pytest.param(*incident(what="task_arrival", campaign="mc", jobs=5), [], id="a task more"),
    pytest.param(*incident(what="task_arrival", campaign="mcc"), [("incidents[0].campaign", "mc")],
                 id="a task of no campaign"),
])
def test_borders_of_the_checks(key, value, found):
    assert problems(key, value) == found


@pytest.mark.parametrize(("commands", "refused"), [
    pytest.param(["1 pause", "1 resume"], [], id="pause and resume"),
    pytest.param(["1 pause", "2 resume"], [1], id="another task was paused"),
    pytest.param(["mc pause", "1 resume"], [], id="the task may be one of those that were paused"),
    pytest.param(["1 pause", "mc resume"], [], id="one of them may have been paused"),
    pytest.param(["1 pause", "1 pause"], [1], id="paused already"),
    pytest.param(["mc pause", "mc pause"], [], id="more tasks may have arrived"),
    pytest.param(["1 pause", "1 resume", "1 resume"], [2], id="resumed already"),
    pytest.param(["1 abort", "1 pause"], [1], id="aborted"),
    pytest.param(["mc abort", "1 pause"], [], id="may not have been aborted"),
    pytest.param(["1 abort", "1 incexec", "1 pause"], [], id="brought back"),
    pytest.param(["1 abort", "1 abort"], [1], id="aborted already"),
    pytest.param(["1 finish", "1 abort"], [], id="abort while it is being finished"),
    pytest.param(["1 finish", "1 reassign"], [1], id="nothing is reassigned that is finished"),
    pytest.param(["1 retry"], [], id="it may be over"),
])
def test_commands_that_cannot_be_carried_out(commands, refused):
    said = []
    for number, text in enumerate(commands, 1):
        task, command = text.split()
        said.append(dict(at=number, what="task_command", command=command, task=int(task) if task.isdigit() else task))
    assert problems(("incidents",), said) == [(f"incidents[{place}].command", None) for place in refused]


@pytest.mark.parametrize(("where", "value"), [
    pytest.param(("gdpconfig", "MAX_JOB_FAILURE_RATE_TO_PAUSE_managed"), 0.5, id="automatic pause"),
    pytest.param(("workload", "campaigns", 0, "max_attempt"), 6, id="throttled after many attempts"),
])
def test_tasks_that_stop_by_themselves_can_be_resumed(where, value):
    values = changed(where, value)
    values["incidents"] = [dict(at=1, what="task_command", command="resume", task=1)]
    Scenario.from_dict(values)


@pytest.mark.parametrize(("look", "key", "value"), [
    pytest.param("no_work", ("workload",), {}, id="no work"),
    pytest.param("labels_without_pilots", ("workload", "campaigns", 0), plain_values()["workload"]["campaigns"][0] | {
        "prodsourcelabel": "rc_test", "gshare": "MC simul"}, id="no pilot"),
    pytest.param("rule_of_inner_share", ("shares", 0, "workinggroup"), "AP_.*", id="a rule that is never asked"),
    pytest.param("site_without_anything", (*GRID, "sites", "DESY"), {}, id="a site of nothing"),
    pytest.param("no_open_queue", (*GRID, "queues"), {"CERN": {"atlas_site": "CERN-PROD", "status": "test"}},
                 id="no queue is online"),
    pytest.param("queue_refuses_all", (*GRID, "queues", "CERN", "minrss"), "17 GB", id="nothing fits"),
    pytest.param("cut_off", ("duration",), "1h", id="the run ends before the incident"),
    pytest.param("cut_off", ("record",), {"snapshots": ["1h", "900d"]}, id="the run ends before the snapshot"),
    pytest.param("option_of_full_chain", (*GRID, "queues", "CERN", "catchall"), "bareNucleus=yes", id="a third value"),
    pytest.param("option_of_full_chain", (*GRID, "queues", "CERN", "params"), {"secondaryNucleus": "BNLL"},
                 id="a secondary nucleus that does not exist"),
    pytest.param("more_cores_than_slots", ("workload", "campaigns", 0, "corecount"), 4096, id="jobs of many cores"),
    pytest.param("remote_reading_nowhere", ("workload", "campaigns", 0, "allowInputWAN"), True,
                 id="no queue reads over WAN"),
    pytest.param("remote_reading_nowhere", *users(allowInputWAN=True),
                 id="the broker of analysis does not ask"),
    pytest.param("measured_by_no_scout", (*GRID, "queues", "CERN", "cpu_benchmark"), 12, id="a benchmark for no scout"),
    pytest.param("measured_by_no_scout", *users(buildSpec=True, build_size="1 GB"), id="a library for no scout"),
    pytest.param("queue_of_nothing", (*GRID, "queues", "CERN", "cores"), 0, id="a queue without cores"),
    pytest.param("slot_memory_larger_than_site", (*GRID, "queues", "CERN", "maxrss"), "900 TB",
                 id="slots with more memory than their site"),
    pytest.param("run_too_short", ("agents",), {"job_generator": "900d"}, id="agents that may never act"),
    pytest.param("jobs_longer_than_the_run", ("workload", "campaigns", 0, "hs06sec_per_event"), 1e9,
                 id="jobs that do not end"),
    pytest.param("contradicting_incidents", ("incidents",), [
        {"at": "1h", "what": "gdpconfig", "key": key, "value": value} for key, value in
        (("jobbroker.NW_ACTIVE", True), ("NW_ACTIVE", False))], id="a key and its long name"),
    pytest.param("contradicting_incidents", ("incidents",), [
        {"at": "1h", "what": "task_command", "task": 1, "command": "reassign", "soft": soft} for soft in (True, False)],
        id="a command in two ways"),
    pytest.param("nuclei_without_space", ("gdpconfig", "DISK_THRESHOLD"), 1e6, id="a million TB"),
    pytest.param("data_slower_than_the_run", ("workload", "campaigns", 0, "input_per_job"), "1000 TB",
                 id="input that takes longer than the run"),
    pytest.param("words_without_meaning", (*GRID, "queues", "CERN", "wnconnectivity"), "fulll", id="no such network"),
    pytest.param("words_without_meaning", (*GRID, "queues", "CERN", "wnconnectivity"), "full#IPv5", id="no such stack"),
    pytest.param("words_without_meaning", (*GRID, "queues", "CERN", "jobseed"), "yes", id="no such kind of jobs"),
    pytest.param("endpoints_without_use", (*GRID, "queues", "CERN", "endpoints"), [
        {"storage": "CERN-PROD_DATADISK", "read": False, "write": False}], id="an endpoint for nothing"),
    pytest.param("endpoints_without_use", (*GRID, "queues", "CERN", "endpoints"), [
        {"storage": "CERN-PROD_DATADISK"}] * 2, id="an endpoint twice"),
    pytest.param("links_that_always_fail", (*GRID, "links", "default"), {"failure_rate": 1},
                 id="links that always fail"),
    pytest.param("links_that_always_fail", (*GRID, "links", "by_tier"), {1: {"failure_rate": "100%"}},
                 id="a tier that nothing can leave or reach"),
    pytest.param("closed_storages", (*GRID, "storages"), {"CERN-PROD_DATADISK": {
        "site": "CERN-PROD", "total": "10 PB", "free": "1 PB", "read_wan": "OFF"}}, id="nothing sends files"),
    pytest.param("lifetime_of_nothing", ("data",), {"output_lifetime": "30d"}, id="output that does not expire"),
    pytest.param("closed_too_soon", ("incidents",), [
        {"at": at, "until": until, "what": "storage_status", "storage": "CERN-PROD_DATADISK", "activity": "read_wan",
         "status": "OFF"} for at, until in (("1h", "3h"), ("2h", "4h"))], id="the first end opens the storage"),
    pytest.param("storage_without_room", (*GRID, "storages"), {
        f"{site}_DISK": {"site": site, "total": "200 GB", "free": "200 GB"} for site in ("CERN-PROD", "BNL")},
        id="small storages"),
    pytest.param("run_too_short", ("agents",), {"pilot_startup": "900d"}, id="pilots start after the end"),
    pytest.param("contradicting_incidents", ("incidents",), [
        {"at": "1h", "what": "queue_status", "queue": "CERN", "status": status} for status in ("offline", "online")],
        id="a queue is closed and opened at once"),
    pytest.param("option_no_number", (*GRID, "queues", "CERN", "params"), {"max_io_intensity": "low"}, id="no number"),
])
def test_remarks(look, key, value):
    function, = (function for function in LOOKS if function.__name__ == look)
    scenario = Scenario.from_dict(changed(key, value))
    assert set(function(scenario)) <= set(remarks(scenario)) and len(list(function(scenario))) == 1


LOMEM = {"SCORE_LOMEM": {"mincore": 1, "maxcore": 1, "maxrampercore": 1000}}
SCORE = {"SCORE": {"mincore": 1, "maxcore": 1, "maxrampercore": 2000}, "SCORE_HIMEM": {"mincore": 1, "maxcore": 1}}


@pytest.mark.parametrize(("meanrss", "memory", "values", "is_said"), [
    pytest.param(2000, 2500, {}, True, id="one large worker is above the mean"),
    pytest.param(2001, 2500, {}, False, id="room above the other workers"),
    pytest.param(1999, 2500, {}, False, id="no type fits, so none is preferred"),
    pytest.param(0, 2500, {}, False, id="no target"),
    pytest.param(2000, 2222, {}, False, id="work of ordinary memory"),
    pytest.param(2000, 2223, {}, True, id="work just above it"),
    pytest.param(2000, {"median": 1500, "sigma": 0.3}, {}, True, id="some tasks are larger"),
    pytest.param(2000, {"median": 1500, "sigma": 0.3, "max": 2000}, {}, False, id="none is larger"),
    pytest.param(2000, 2500, {"edition": "documented"}, False, id="the documents compare nothing"),
    pytest.param(2000, 2500, {"gdpconfig": {"IGNORE_MEANRSS": True}}, False, id="nothing is compared"),
    pytest.param(2000, 2500, {"resource_types": LOMEM | SCORE}, False, id="small workers make room"),
    pytest.param(2000, 2500, {"resource_types": SCORE}, True, id="without them there is none"),
])
def test_queues_whose_mean_memory_leaves_no_room_for_large_workers(meanrss, memory, values, is_said, maxrss="16001 MB"):
    plain = changed((*GRID, "queues", "CERN", "meanrss"), meanrss) | {"edition": "deployed"} | values
    plain["workload"]["campaigns"][0]["memory_per_core"] = memory
    plain["grid"]["queues"]["CERN"]["maxrss"] = maxrss
    said = [remark for remark in remarks(Scenario.from_dict(plain)) if "hardly get workers" in remark]
    assert len(said) == is_said and all(remark.startswith("1 queue(s) (CERN)") for remark in said)


def test_slots_without_memory_for_large_workers_miss_none():
    test_queues_whose_mean_memory_leaves_no_room_for_large_workers(2000, 2500, {}, False, maxrss="16 GB")


@pytest.mark.parametrize(("edition", "slots", "said"), [
    pytest.param("deployed", "Other:MCORE:5|Other:SCORE:0", [], id="shares, types and slots"),
    pytest.param("deployed", "5", ["write <share>:<resource type>:<slots>"], id="a bare number"),
    pytest.param("deployed", "Other:MCORE:5|Other:MCORE:few", ["nStandby=Other:MCORE:few"], id="no number"),
    pytest.param("deployed", "Production:MCORE:5", ["unknown share 'Production'"], id="no leaf"),
    pytest.param("deployed", "Other:ANY:5", ["unknown resource type 'ANY'"], id="no type"),
    pytest.param("documented", "Other:MCORE:5", ["only the deployed edition"], id="the documents know no such slots"),
])
def test_standby_slots_without_effect_are_remarked(edition, slots, said):
    plain = changed((*GRID, "queues", "CERN", "catchall"), f"nStandby={slots}") | {"edition": edition}
    found = [remark for remark in remarks(Scenario.from_dict(plain)) if "nStandby" in remark]
    assert len(found) == len(said) and all(word in remark for word, remark in zip(said, found, strict=True))


@pytest.mark.parametrize(("values", "said"), [
    pytest.param({"edition": "deployed", "workload.campaigns[0].architecture": "#&nvidia"}, "without a transhome",
                 id="the code does not look"),
    pytest.param({"workload.campaigns[0].architecture": "#&nvidia"}, None, id="the documentation does"),
    pytest.param({"edition": "deployed", "workload.campaigns[0].architecture": "#&nvidia",
                  "workload.campaigns[0].transhome": "Athena-24.0.5"}, None, id="with a transHome the code does too"),
    pytest.param({"workload.campaigns[0].transhome": "Athena-24.0.5", "grid.queues.CERN.releases": ["AUTO"]},
                 "1 queue(s) with releases AUTO publish no software", id="AUTO without software"),
    pytest.param({"grid.queues.CERN.releases": ["AUTO"]}, None, id="AUTO does not matter if nobody asks"),
])
def test_software_that_is_asked_for_in_vain_is_remarked(values, said):
    before = Scenario.from_dict(plain_values())
    new = set(remarks(before.with_values(values))) - set(remarks(before))
    assert len(new) == (said is not None) and all(said in text for text in new)


@pytest.mark.parametrize(("set_how", "key", "said"), [
    pytest.param("at the start", "HEARTBEAT_TIMEOUT_pull_up", "the workflow 'pull_up'; did you mean pull_ups",
                 id="a workflow that is misspelled"),
    pytest.param("by an incident", "HEARTBEAT_TIMEOUT_push", "no queue has the workflow 'push'", id="by an incident"),
    pytest.param("at the start", "ANALY_TIMEOUT_higgs", "no work has the working group 'higgs'", id="a working group"),
    pytest.param("by an incident", "DATASET_LIFETIME_log", "nothing in the simulator reads it", id="no reader"),
    pytest.param("at the start", "HEARTBEAT_TIMEOUT_pull_ups", None, id="a workflow of a queue"),
    pytest.param("at the start", "HEARTBEAT_TIMEOUT_analysis", "only the deployed edition reads it",
                 id="no workflow but a key of its own"),
])
def test_settings_that_concern_nobody_are_remarked(set_how, key, said):
    at_start = {"gdpconfig": {key: 3}}
    later = {"incidents": [{"at": "1h", "what": "gdpconfig", "key": key, "value": 3}]}
    found = advice.remarks(Scenario.from_dict(plain_values() | (at_start if set_how == "at the start" else later)))
    about = [text for text in found if key in text]
    assert len(about) == (said is not None) and all(said in text for text in about)


@pytest.mark.parametrize(("key", "value", "found"), [
    pytest.param((*GRID, "storages", "CERN-PROD_DATADISK", "total"), "big",
                 ["grid.storages.CERN-PROD_DATADISK.total"], id="not that its nucleus has no storage"),
    pytest.param((*GRID, "queues", "CERN", "atlas_site"), ..., ["grid.queues.CERN.atlas_site"],
                 id="a queue without site"),
    pytest.param(("shares", 0, "children", 0, "value"), "x", ["shares[0].children[0].value"],
                 id="not that gdpconfig names an unknown share"),
    pytest.param((*GRID, "queues"), {"A": {}}, ["grid.queues.A.atlas_site"], id="not that there is no queue"),
    pytest.param(("workload", "campaigns", 0, "corecount"), -1, ["workload.campaigns[0].corecount"], id="one value"),
    pytest.param(("duration",), "x", ["duration"], id="not that incidents come after the end"),
    pytest.param(("grid",), 3, ["grid"], id="not what a missing grid entails"),
    pytest.param((*GRID, "sites", "BNL", "tier"), True, ["grid.sites.BNL.tier"], id="a truth is not 1"),
    pytest.param((*GRID, "queues", "CERN", "corepower"), True, ["grid.queues.CERN.corepower"], id="nor 1.0"),
    pytest.param((*GRID, "queues", "CERN", "maxrss"), True, ["grid.queues.CERN.maxrss"], id="nor 1 MB, told once"),
    pytest.param((*GRID, "queues", "CERN", "corepower"), float("nan"), ["grid.queues.CERN.corepower"], id="NaN"),
    pytest.param((*GRID, "links", "by_tier"), {"one": {}}, ["grid.links.by_tier.one"], id="a tier by word"),
])
def test_a_wrong_part_brings_no_problems_that_only_follow_from_it(key, value, found):
    assert [name for name, _ in problems(key, value)] == found


def test_three_sites_have_troubles_at_six_links():
    of_sites, of_links = ([{"every": 0.02, "lasts": 0.02, "of": of}] for of in ("sites", "links"))
    plan = scenario({name: {} for name in "ABC"}, duration=1e5)
    assert plan.with_values({"grid.links.troubles": of_sites}).grid.links.troubles
    with pytest.raises(ScenarioError, match="makes 1.5e.07 troubles"):
        plan.with_values({"grid.links.troubles": of_links})


def test_what_hangs_on_a_value_is_told_of_others_in_the_list():
    values = changed(("workload", "campaigns"), [
        {"name": "wrong", "hs06sec_per_event": 1, "corecount": -1, "source": 3},
        {"name": "endless", "hs06sec_per_event": 1, "backlog": 6_000_000}])
    del values["workload"]["campaigns"][0]["name"]              # so the first is left out, and the second moves up
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(values)
    assert "workload.campaigns[1].backlog" in [problem.key for problem in caught.value.problems]


def test_positions_in_lists_stay_those_of_the_file():
    values = changed(("incidents",), [{"what": "site_outage", "site": "BNL"}, {"at": 1, "what": "site_outage"},
                                      {"at": 1, "what": "nonsense"}, {"at": 1, "what": "site_outage", "site": "X"}])
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(values)
    assert [problem.key for problem in caught.value.problems] == [
        "incidents[0].at", "incidents[2].what", "incidents[1]", "incidents[3].site"]
