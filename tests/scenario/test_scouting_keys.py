"""Keys of scouts in a stream of tasks."""

import pytest
from pydantic import ValidationError

from simgrid_broker.scenario.work.campaigns import ScoutRule


@pytest.mark.parametrize("said", [dict(skipScout=True), dict(scoutSuccessRate=0), dict(minCpuEfficiency=1),
                                  dict(memory_leak=1), dict(memory_leak_x2=1), dict(disk_traffic=0),
                                  dict(workDirSize=1)])
def test_parameters_of_scouts_need_scouts(said):
    with pytest.raises(ValidationError, match="need useScout: true"):
        ScoutRule(**said)
    assert ScoutRule(useScout=True, **said).useScout


@pytest.mark.parametrize("said", [dict(scoutSuccessRate=11), dict(scoutSuccessRate=-1), dict(minCpuEfficiency=101)])
def test_figures_out_of_range_are_refused(said):
    with pytest.raises(ValidationError):
        ScoutRule(useScout=True, **said)
