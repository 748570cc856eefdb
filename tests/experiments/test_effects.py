"""Effects for print: a curve over a setting, or differences between groups, as lines and not as pixels."""

import pandas as pd
import pytest

from simgrid_broker.errors import StudyError
from simgrid_broker.experiments.study import effect_plot


def results(groups, **more):
    """Results of three seeds of each group, by their values without luck."""
    return pd.DataFrame([{"group": name, **more.get(name, {}), "seed": seed, "figure": "wait_p50", "unit": "h",
                          "value": value + seed, "window": "all"} for name, value in groups.items()
                         for seed in (1, 2, 3)])


@pytest.mark.parametrize(("varied", "table"), [
    pytest.param(["shares.A.value"], results({"p1": 5.0, "p2": 7.0}, p1={"shares.A.value": 10}, p2={
        "shares.A.value": 20}), id="over a setting"),
    pytest.param([], results({"base": 5.0, "changed": 7.0}), id="between groups")])
def test_an_effect_is_drawn_as_lines(varied, table, tmp_path):
    figure = effect_plot(table, varied, "wait_p50", path=tmp_path / "effect.pdf")
    content = (tmp_path / "effect.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/Subtype /Image" not in content
    assert "h)" in figure.axes[0].get_xlabel() + figure.axes[0].get_ylabel()


@pytest.mark.parametrize(("arguments", "expected"), [
    pytest.param(("wait_p51",), "did you mean 'wait_p50'", id="no such figure"),
    pytest.param(("wait_p50", "shares.B.value"), "is no setting of the study", id="no such setting"),
    pytest.param(("wait_p50",), "no effect to draw", id="one group")])
def test_effects_that_cannot_be_drawn(arguments, expected):
    with pytest.raises(StudyError, match=expected):
        effect_plot(results({"base": 5.0}), ["shares.A.value"] if len(arguments) > 1 else [], *arguments)
