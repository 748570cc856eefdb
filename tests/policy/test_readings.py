"""Settings that a rule reads are named in one order, whatever the hashes of their names."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from simgrid_broker import load_scenario
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.turns.policies import Policies
from simgrid_broker.turns.brokers import criteria_in_order
scenario = load_scenario("minimal")
print(criteria_in_order(Policies(scenario, lambda changes: in_force(scenario))))
"""


def test_settings_of_rules_are_in_the_order_in_which_rules_read_them():
    printed = {subprocess.run([sys.executable, "-c", PROGRAM], env=os.environ | {"PYTHONHASHSEED": seed}, text=True,
                              capture_output=True, check=True, cwd=Path(__file__).parents[2]).stdout for seed in "123"}
    assert len(printed) == 1
    assert "'keys': ['CAP_RUNNING_USER_JOBS', 'CAP_RUNNING_GROUP_JOBS']" in printed.pop()
