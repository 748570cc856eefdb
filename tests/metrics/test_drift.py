"""Whether the series of a run still drift over the window of its figures."""

import numpy as np
import pytest
from small_run import run_of, share_rows

from simgrid_broker import metrics
from simgrid_broker.report.caveats import warnings_of


def run_with(folder, activated, part_of_a, n=48):
    """Samples every half hour from 0 to 24 h, window from 0; activated jobs of A and A's part of all power by hour."""
    hours = np.arange(1, n + 1) / 2
    return run_of(folder, 0, 24, shares=share_rows({
        hour: {"A": (1000 * part_of_a(hour), 400, activated(hour)), "B1": (1000 * (1 - part_of_a(hour)), 600, 0),
               "B2": (0, 0, 0)} for hour in hours}))


@pytest.mark.parametrize("activated, part_of_a, expected", [
    pytest.param(lambda hour: 100, lambda hour: 0.4, [], id="constant"),
    pytest.param(lambda hour: 100 + hour, lambda hour: 0.4, [("activated", "")], id="activated jobs rise by 15 %"),
    pytest.param(lambda hour: 100 + 0.5 * hour, lambda hour: 0.4, [], id="activated jobs rise by 8 %"),
    pytest.param(lambda hour: 100 + 50 * np.sin(np.pi * hour / 6), lambda hour: 0.4, [], id="activated jobs oscillate"),
    pytest.param(lambda hour: 100, lambda hour: 0.5 - 0.01 * hour, [("delivered", "A"), ("delivered", "B1")],
                 id="a share loses power to another"),
    pytest.param(lambda hour: 100, lambda hour: 0.02 + 0.0005 * hour, [], id="a small share gains less than a point"),
])
def test_series_that_drift(tmp_path, activated, part_of_a, expected):
    rows = metrics.drifting(run_with(tmp_path, activated, part_of_a))
    assert list(zip(rows.series, rows.share, strict=True)) == expected


def test_the_remark_names_direction_and_figures(tmp_path):
    texts = " ".join(warnings_of(run_with(tmp_path, lambda hour: 100 + 10 * hour, lambda hour: 0.4)))
    assert "activated jobs from 142 to 302" in texts


def test_few_samples_say_nothing(tmp_path):
    run = run_with(tmp_path, lambda hour: 100 + 10 * hour, lambda hour: 0.4, n=23)
    assert not len(metrics.drift(run))
    assert not warnings_of(run)
