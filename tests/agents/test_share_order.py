"""When the shares are ordered again."""

from dataclasses import replace

import numpy as np
import pytest
from builders import Stage, scenario

from simgrid_broker.agents.caches import gdpconfig_cache, share_tree_cache
from simgrid_broker.agents.share_order import share_order
from simgrid_broker.agents.timeline import timeline


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
