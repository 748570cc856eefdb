"""Figures of a unified queue that turns under a boost."""

import figure_5
import numpy as np
import pandas as pd
import pytest

from simgrid_broker.units import HOUR


def parts(**changes):
    """Part of event generation by time: as before until 24 h and from 48 h on, but for hours that are named."""
    hours = {hour: 0.1 for hour in range(20, 54)} | {int(name[1:]): value for name, value in changes.items()}
    return pd.Series({hour * HOUR: value for hour, value in hours.items()})


SWINGS = 0.4, 0.7, 0.9, 0.5, *[0.7] * 20


@pytest.mark.parametrize(("changes", "expected"), [
    pytest.param({f"h{hour}": value for hour, value in zip(range(25, 49), SWINGS, strict=True)},
                 dict(turn=2, most=0.9, least=0.5, back=1), id="reached, overshot, swung and back"),
    pytest.param({}, dict(turn=np.nan, most=0.1, least=np.nan, back=1), id="never turned"),
    pytest.param({f"h{hour}": 0.8 for hour in range(25, 54)}, dict(turn=1, most=0.8, least=0.8, back=np.nan),
                 id="never turned back")])
def test_a_turn_is_measured_from_the_boost_on(changes, expected):
    found = figure_5.turned(parts(**changes))
    assert {name: found[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_delays_that_are_varied_are_those_of_the_scenario():
    plan = figure_5.sb.load_scenario(figure_5.SCENARIO).with_values(dict(figure_5.study()["set"]))
    for key, (_, values) in figure_5.DELAYS.items():
        plan.with_values({key: values["to"]})
