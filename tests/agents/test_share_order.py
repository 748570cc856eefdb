"""When the shares are ordered again."""

from dataclasses import replace

import numpy as np
import pytest
from builders import Stage, scenario

from simgrid_broker.agents.panda.statistics import (
    ShareOrder,
    gdpconfig_cache,
    share_order,
    share_tree_cache,
    statistics,
)
from simgrid_broker.agents.run.timeline import timeline


@pytest.mark.rule("ShareOrder.look")
@pytest.mark.parametrize(("what", "before", "after"), [
    pytest.param(dict(what="share_target", share="B", value=9), [0, 1], [1, 0], id="another target"),
    pytest.param(dict(what="gdpconfig", key="SLOPPY_DISPATCH_RATIO", value=49), 0.11, 0.5, id="another key"),
])
def test_the_order_is_made_again_when_tree_or_gdpconfig_were_loaded(what, before, after):
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    plan = scenario(shares=shares, edition="deployed", incidents=[dict(at=1000, **what)],
                    agents=dict(statistics=1e5, share_order=10, share_tree=60, gdpconfig=60))
    stage = Stage((timeline, share_tree_cache, gdpconfig_cache, share_order), plan)
    stage.arrays.hs06_milli[:] = 10_000, 20_000
    stage.control.books.usage = stage.control.books.usage._replace(hs06=np.array([1.0, 2.0]))
    found = []
    for now in (999.0, 1071.0):
        stage.run(now)
        found.append(stage.arrays.share_order.tolist() if what["what"] == "share_target" else
                     float(stage.arrays.settings["sloppy_fraction"][0]))
    assert found == [before, after]


@pytest.mark.rule("ShareOrder.look")
def test_the_order_is_not_made_again_from_the_same():
    stage = Stage((share_order,), scenario(agents=dict(share_order=10)))
    made = []
    stage.control.policies.dispatch_order = replace(
        stage.control.policies.dispatch_order, share_order=lambda tree, usage: made.append(usage) or np.array([0]))
    stage.run(301.0)
    assert len(made) == 1


@pytest.mark.rule("ShareOrder.look")
def test_the_shares_are_looked_at_once_after_each_load_within_a_period(monkeypatch):
    periods = dict(statistics=600, share_tree=3600, gdpconfig=3600, share_order=10)
    stage = Stage((statistics, share_tree_cache, gdpconfig_cache, share_order), scenario(agents=periods))
    looks, look = [], ShareOrder.look

    def noted(self):
        looks.append((self.control.now, self.control.books.usage.taken_at))
        return look(self)
    monkeypatch.setattr(ShareOrder, "look", noted)
    stage.run(3600.0)
    first_s = {taken_s: now for now, taken_s in reversed(looks)}
    assert len(first_s) == 7 and len(looks) <= 9
    assert all(0 <= now - taken_s < 10 for taken_s, now in first_s.items())
    assert {(now - looks[0][0]) % 10 for now, _ in looks} == {0.0}
