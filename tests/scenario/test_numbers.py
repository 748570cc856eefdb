"""Every number of a scenario, however odd, is told as a problem or can be simulated: none ends in a traceback."""

import copy
import warnings
from pathlib import Path

import pytest
from tables import check_each

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.loading.documents import read_yaml
from simgrid_broker.scenario.loading.origins import keys_of, value_at
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.world.build import build

MINIMAL = read_yaml((Path(__file__).parents[2] / "scenarios" / "minimal.yaml").read_text(), None).values
for workload in (*MINIMAL["workload"]["campaigns"], *MINIMAL["workload"]["users"]):
    workload["offered_cores"] = 1       # few tasks even in 2**31 s
ODD = [-1, 0, 1e-30, 0.5, 40_000, 2**31 - 1, 2**31, 10**25, 1e300, "99999999999999999999 GB"]


def numbers():
    """Keys of all values that are no text and no yes or no, those of each kind of site and queue once."""
    seen = {}
    for key in keys_of(MINIMAL):
        if not isinstance(value_at(MINIMAL, key), (dict, list, bool)):
            kind = key if key[:1] != ("grid",) or key[1] == "links" else (*key[:2], *key[3:])
            seen.setdefault(kind, key)
    return list(seen.values())


def tried(key, number):
    """Make a world of the scenario with a number at a key, unless its problems are told or it is too large."""
    values = copy.deepcopy(MINIMAL)
    value_at(values, key[:-1])[key[-1]] = number
    try:
        scenario = Scenario.from_dict(values)
    except ScenarioError as error:
        assert error.problems
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tasks = task_list(scenario)
        if len(tasks.rows) < 100_000 and scenario.duration < 1e9:
            build(scenario, tasks)


@pytest.mark.parametrize("number", ODD, ids=str)
def test_a_number_is_told_or_can_be_simulated(number):
    check_each({".".join(map(str, key)): (key, number) for key in numbers()}, tried)
