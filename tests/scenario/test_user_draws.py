"""Synthetic users: working groups, inputs to which they return, and storms of tasks."""

import numpy as np
import pytest
from test_cross_checks import changed, problems

from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.work.synthetic import task_list

USERS = {"name": "ann", "hs06sec_per_event": 1000, "offered_cores": 200, "users": 8, "jobs_per_task": 2,
         "input_per_job": "1 GB",
         "replicas": {"number": 1, "where": "any"}}
STORM = {"at": "30h", "within": "1h", "tasks": 40, "user": 3}


def tasks(**said):
    """Tasks of a group of users on the plain grid with a storage at each site."""
    values = changed((), {"workload": {"users": [USERS | said]}, "incidents": []})
    values["grid"]["storages"]["BNL_DATADISK"] = {"site": "BNL", "total": "10 PB", "free": "1 PB"}
    return task_list(Scenario.from_dict(values))


def rows_of(found, **columns):
    """Times, users and lucks of tasks, sorted."""
    return sorted(zip(found.rows["arrival_s"], found.rows["user"], found.rows["luck"], strict=True))


def test_a_storm_brings_the_tasks_of_one_user_within_its_time_and_moves_no_other():
    calm, stormy = tasks(), tasks(storms=[STORM])
    more = sorted(set(rows_of(stormy)) - set(rows_of(calm)))
    assert set(rows_of(calm)) <= set(rows_of(stormy)) and len(more) == 40
    times = [time for time, *_ in more]
    assert times[0] == 30 * 3600 and times[-1] < 31 * 3600
    assert {stormy.vocabularies["users"][user] for _, user, _ in more} == {"ann-0003"}


def test_storms_are_keyed_by_their_number():
    one, two = tasks(storms=[STORM]), tasks(storms=[STORM, STORM | {"at": "10h", "user": None}])
    assert set(rows_of(one)) <= set(rows_of(two)) and len(two.rows) == len(one.rows) + 40


def test_tasks_of_a_user_that_read_the_same_input_find_it_at_the_same_sites():
    plain, loyal = tasks(), tasks(favourite_inputs=1)
    places = [len({int(place) for place in found.replica_site[found.rows["user"] == user, 0]})
              for found in (plain, loyal) for user in np.unique(found.rows["user"])]
    half = len(places) // 2
    assert max(places[:half]) == 2 and set(places[half:]) == {1}
    assert len(np.unique(loyal.replica_site[:, 0])) == 2                        # not all users have the same favourite
    assert rows_of(plain) == rows_of(loyal)


@pytest.mark.parametrize(("part", "members"), [(1.0, 8), (0.5, None)])
def test_members_of_groups_work_for_their_group(part, members):
    found = tasks(groups=["GP", "TOP"], in_groups=part)
    words = found.vocabularies["working_groups"]
    by_user = {int(user): {words[code] for code in found.rows["working_group"][found.rows["user"] == user]}
               for user in np.unique(found.rows["user"])}
    assert all(len(groups) == 1 for groups in by_user.values())
    assert set().union(*by_user.values()) == ({"GP", "TOP"} if members else {"", "GP", "TOP"})


@pytest.mark.parametrize("said", [
    pytest.param({"groups": ["GP"]}, id="groups without members"), pytest.param({"in_groups": 0.5}, id="no groups"),
    pytest.param({"groups": ["GP"], "in_groups": 0.5, "workinggroup": "TOP"}, id="two groups"),
    pytest.param({"storms": [STORM | {"user": 9}]}, id="a storm of an unknown user")])
def test_contradictions_are_refused(said):
    assert [key for key, _ in problems(("workload",), {"users": [USERS | said]})] == ["workload.users[0]"]
