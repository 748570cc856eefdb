"""The frame of all brokerages: the list of the best candidates, and the text of a decision out of parts."""

import numpy as np
import pytest

from simgrid_broker.policy.brokerage import brokerage
from simgrid_broker.policy.brokerage.brokerage import Part, insert


@pytest.mark.rule("brokerage.production.decide.rank")
@pytest.mark.parametrize(("keys", "most", "best"), [
    pytest.param([1, 3, 2], 3, [1, 2, 0], id="by falling key"),
    pytest.param([2, 2, 2], 3, [0, 1, 2], id="equal keys stay in order"),
    pytest.param([1, 3, 2, 4], 2, [3, 1], id="the best two"),
    pytest.param([np.inf, 5, np.inf], 2, [0, 2], id="infinite keys first"),
])
def test_the_best_candidates_are_sorted(keys, most, best):
    found, n_best = np.full(most, -1), 0
    for k in range(len(keys)):
        n_best = insert(k, np.array(keys, float), found, n_best, most)
    assert found[:n_best].tolist() == best


@pytest.mark.rule("brokerage.brokerage.composed")
def test_the_text_of_a_part(monkeypatch):
    def rule(task):
        """A rule in plain Python."""
    texts = []
    monkeypatch.setattr(brokerage, "function_of", lambda text, functions: texts.append(text.partition('"""\n\n\n')[2]))
    for part in (Part((rule, rule), "{number} {name}({arguments}) {holds}", " * ", first=3),
                 Part((), "{name}", none="1.0"), ("a ", Part((rule,), "{name}"), " b")):
        brokerage.composed("{here}", ("task", "queue"), (), here=part)
    assert texts == ["3 rule_0(task, queue) True * 4 rule_0(task, queue) True", "1.0", "a rule_0 b"]
