"""Queues that tasks of users name, and accounts: what is refused or remarked, with the nearest name."""

import pytest
from test_cross_checks import changed, problems

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario, remarks
from simgrid_broker.schema.tasks import UserParameters
from simgrid_broker.schema.tasks import changed as with_sites

WORK = ("workload",)
USERS = {"name": "ann", "hs06sec_per_event": 1000, "offered_cores": 10, "users": 3}


def work(**said):
    """The work of one group of users."""
    return {"users": [USERS | said]}


@pytest.mark.parametrize(("said", "key", "close"), [
    ({"includedSite": ["CERM"]}, "workload.users[0].includedSite[0]", "CERN"),
    ({"excludedSite": ["BNL*", "BNL_PROT"]}, "workload.users[0].excludedSite[1]", "BNL_PROD"),
    ({"excludedSite": ["AUTO"]}, "workload.users[0].excludedSite[0]", None),
    ({"includedSite": [""]}, "workload.users[0].includedSite", None),
    ({"siteEndpoint": "CERN-PROD_DATA"}, "workload.users[0].siteEndpoint", "CERN-PROD_DATADISK"),
    ({"siteEndpoint": "CERN-PROD_DATADISK", "site": ["CERN"]}, "workload.users[0].siteEndpoint", None),
    ({"nSitesPerJob": 0}, "workload.users[0].nSitesPerJob", None),
    ({"build_failure_rate": 0.1}, "workload.users[0]", None),
    ({"buildSpec": True, "build_failure_rate": 1.1}, "workload.users[0].build_failure_rate", "1.1%")])
def test_unknown_queues_and_contradictions_are_refused(said, key, close):
    assert problems(WORK, work(**said)) == [(key, close)]


@pytest.mark.parametrize("said", [
    {"includedSite": ["*N*"], "excludedSite": ["BNL*"]},
    {"siteEndpoint": "CERN-PROD_DATADISK"}, {"avoidVP": True, "allowIncompleteInDS": True},
    {"buildSpec": True, "build_hs06sec": 0, "build_failure_rate": 0.1}])
def test_what_names_a_queue_is_accepted_without_a_remark(said):
    assert problems(WORK, work(**said)) == []
    assert not [remark for remark in told(work(**said)) if "workload" in remark]


def told(work, **others):
    """Remarks on the plain scenario with other work."""
    return remarks(Scenario.from_dict(changed((), {"workload": work} | others)))


@pytest.mark.parametrize(("said", "edition", "words"), [
    ({"excludedSite": ["RAL*"]}, "documented", "excludedSite[0] = 'RAL*': matches no PanDA queue"),
    ({"cloud": "DE"}, "documented", "has no effect: only the deployed edition reads it"),
    ({"cloud": "DE"}, "deployed", "no queue is of this cloud"),
    ({"includedSite": ["CERN", "AUTO"]}, "documented", "'AUTO': has no effect: only the deployed edition reads it"),
    ({"nSitesPerJob": 2}, "deployed", "brokerage looks for so many queues, but jobs go to one"),
    ({"prodsourcelabel": "managed", "buildSpec": True}, "documented", "only tasks of the labels panda and user"),
    ({"prodsourcelabel": "managed", "avoidVP": True}, "deployed", "only tasks of the labels panda and user")])
def test_what_has_no_effect_is_remarked(said, edition, words):
    assert [remark for remark in told(work(**said), edition=edition) if words in remark]


@pytest.mark.parametrize(("accounts", "key", "close"), [
    ({"ann-001": {"quota": "1 TB"}}, "accounts.ann-001", "ann-0001"),
    ({"bob*": {"quota": "1 TB"}}, "accounts.bob*", None),
    ({"ann-*": {"quota": -1}}, "accounts.ann-*.quota", None),
    ({"ann-*": {"local_quotas": {"CERN-PROD_DATADISK": -1}}}, "accounts.ann-*.local_quotas.CERN-PROD_DATADISK",
     None),
    ({"ann-*": {"local_quotas": {"CERN_DATADISK": 1}}}, "accounts.ann-*.local_quotas.CERN_DATADISK",
     "CERN-PROD_DATADISK"),
    ({"ann-0001": {"permissions": "x"}}, "accounts.ann-0001.permissions", None)])
def test_unknown_users_and_negative_quotas_are_refused(accounts, key, close):
    found = problems((), {"workload": work(), "accounts": accounts})
    assert found[0][0] == key and (close is None or found[0][1] == close)


@pytest.mark.parametrize(("account", "edition", "words"), [
    ({"held": {"CERN-PROD_DATADISK": "1 TB"}}, "deployed", "held: has no effect without a quota"),
    ({"output_lifetime": "14d"}, "deployed", "output_lifetime: has no effect without a quota"),
    ({"permissions": "s"}, "documented", "permissions = 's': has no effect: only the deployed edition reads it")])
def test_parts_of_accounts_without_effect_are_remarked(account, edition, words):
    assert [one for one in told(work(), accounts={"ann-0001": account}, edition=edition) if words in one]


def test_an_endpoint_as_site_is_told_where_it_belongs():
    with pytest.raises(ScenarioError, match="unknown queue; a DDM endpoint is given as siteEndpoint"):
        Scenario.from_dict(changed((), {"workload": work(site=["CERN-PROD_DATADISK"])}))


def test_build_jobs_are_not_for_dirac():
    words = "has no effect: DIRAC's jobs have no site before they run"
    assert [one for one in told(work(buildSpec=True), dispatch="dirac") if words in one]
    assert not [one for one in told(work(buildSpec=True)) if words in one]


def test_accounts_without_users_are_remarked():
    words = "accounts: has no effect: the work has neither users nor working groups"
    accounts = {"ann-0001": {"quota": "1 TB"}}
    assert [one for one in told({}, accounts=accounts) if words in one]
    assert not [one for one in told(work(), accounts=accounts) if words in one]


def test_a_retry_names_known_queues_and_tasks_of_users():
    command = {"at": 3600, "what": "task_command", "task": "ann", "command": "retry", "includedSite": ["CERN"]}
    assert problems((), {"workload": work(), "incidents": [command]}) == []
    wrong = command | {"includedSite": ["CER"]}, command | {"command": "abort"}
    assert [problems((), {"workload": work(), "incidents": [one]})[0][0] for one in wrong] == [
        "incidents[0].includedSite[0]", "incidents[0].includedSite"]
    of_production = [command | {"task": "mc"}]
    assert problems((), {"incidents": of_production}) == [("incidents[0].includedSite", None)]


def test_parameters_are_one_word_and_back():
    said = UserParameters(includedSite=("A", "B*"), nSitesPerJob=2)
    assert UserParameters.of_word(said.word()) == said and UserParameters().word() == ""
    retried = UserParameters.of_word(with_sites(said.word(), {"includedSite": ("C",), "excludedSite": ("D",)}))
    assert retried == UserParameters(includedSite=("C",), excludedSite=("D",), nSitesPerJob=2)
