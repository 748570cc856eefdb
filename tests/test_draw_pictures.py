"""Pictures of the README: bars of two runs side by side."""

import math

import draw_pictures
import pandas as pd
import pytest

from simgrid_broker.report.drawing.layout import sheet

GIVEN = {"PanDA": pd.Series(dict(Analysis=25.0, Simulation=75.0)),
         "DIRAC": pd.Series(dict(Analysis=10.04, Simulation=89.96))}


def test_each_share_has_a_bar_of_each_run_with_its_value():
    _, axes = sheet((10, 4))
    draw_pictures.bars(axes, GIVEN, "given (%)")
    heights = [[bar.get_height() for bar in group] for group in axes.containers]
    assert heights == [[25, 75], [10.04, 89.96]]
    assert [text.get_text() for text in axes.texts] == ["25.0", "75.0", "10.0", "90.0"]
    assert axes.xaxis.get_major_formatter().format_ticks([0, 1]) == ["Analysis", "Simulation"]
    places = [[bar.get_x() + bar.get_width() / 2 for bar in group] for group in axes.containers]
    assert places[0] == pytest.approx([-0.18, 0.82]) and places[1] == pytest.approx([0.18, 1.18])


def test_a_figure_of_the_shares_leaves_out_the_root():
    metrics = pd.DataFrame(dict(share=["root", "A", "A"], metric=["target", "target", "delivered"], value=[1, 2, 3]))
    assert draw_pictures.of_shares(metrics, "target").to_dict() == dict(A=2)


@pytest.mark.parametrize("n", [1, 40])
def test_wall_time_kept_is_that_of_the_closed_form(n):
    """(exp(h d) - 1) / h of wall time for each unit of d where units are kept one by one; time before the first one is
    as good as part of it where there is no other."""
    per_life = 0.3
    assert draw_pictures.expected(n, per_life * 4, 0.0, 4) == pytest.approx(100 * per_life / math.expm1(per_life))
    assert draw_pictures.expected(1, 1.0, 0.5, 4) == pytest.approx(100 * 0.25 / math.expm1(0.375))
