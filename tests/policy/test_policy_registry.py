import importlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from simgrid_broker.errors import PluginError
from simgrid_broker.plugins import Plugin
from simgrid_broker.policy import registry
from simgrid_broker.policy.brokerage.analysis.broker import broker_analysis
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.brokerage.task.broker import broker_task
from simgrid_broker.policy.pilot_streaming import new_workers
from simgrid_broker.policy.shares.dispatch import GLOBAL_SHARES, DispatchOrder
from simgrid_broker.policy.tasks.throttle import throttle
from simgrid_broker.views import KEPT, Figures, Verdict

KINDS = ("dispatch_order", "pilot_submission", "throttle", "job_brokerage", "task_brokerage", "analysis_brokerage")


@pytest.mark.parametrize(("kind", "name", "expected"), [
    ("dispatch_order", "global_shares", GLOBAL_SHARES),
    ("pilot_submission", "unified_pilot_streaming", new_workers),
    ("throttle", "job_throttler", throttle),
    ("job_brokerage", "production", broker_jobs),
    ("task_brokerage", "production", broker_task),
    ("analysis_brokerage", "analysis", broker_analysis),
])
def test_the_package_s_own_policies(kind, name, expected):
    assert registry.policy(kind, name) is expected
    assert name in registry.names(kind)


def test_every_kind_has_policies():
    assert tuple(registry.BUILT_IN) == KINDS


def test_an_unknown_name_tells_the_known_ones():
    with pytest.raises(PluginError, match="no package offers 'throttle.job_throtler'.*known are throttle.job_thr"):
        registry.policy("throttle", "job_throtler")
    with pytest.raises(KeyError):
        registry.policy("weather", "sunny")


def gentle(counts, limits, core_type=None, share=None):
    """A throttle of another package."""


def test_another_package_can_offer_a_policy(tmp_path, monkeypatch):
    """An entry point of an installed distribution is found, and one that shadows a built-in name is not."""
    info = tmp_path / "gentle-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[simgrid_broker.policies]\nthrottle.gentle = {__name__}:gentle\nthrottle.job_throttler = {__name__}:gentle\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert registry.policy("throttle", "gentle").__wrapped__ is gentle
    assert registry.names("throttle") == ("gentle", "job_throttler")
    assert registry.policy("throttle", "job_throttler") is throttle
    assert registry.names("job_brokerage") == ("production",)


NONSENSE = {"dispatch_order": "share, then age", "pilot_submission": lambda *status: [[1]],
            "throttle": lambda *counts: 500, "job_brokerage": lambda *question: None,
            "task_brokerage": lambda *question: Verdict((), np.full(2, KEPT), np.ones(2), np.arange(2)),
            "analysis_brokerage": lambda *question: None}
THREE = SimpleNamespace(worker_cores=np.ones((1, 1)), site=np.arange(3))


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_that_returns_nonsense_is_named(kind, monkeypatch):
    monkeypatch.setattr(registry.plugins, "load", lambda *_: Plugin(f"{kind}.mine", NONSENSE[kind], "of moon 1.0"))
    with pytest.raises(PluginError, match=rf"'{kind}.mine' \(of moon 1.0\) must (be|return) a? ?\w+"):
        registry.policy(kind, "mine")(THREE, THREE)


def test_a_policy_that_returns_the_right_thing_filled_with_nonsense_is_named(monkeypatch):
    empty = Plugin("job_brokerage.mine", lambda *question: Verdict((), None, None, None), "of moon 1.0")
    monkeypatch.setattr(registry.plugins, "load", lambda *_: empty)
    with pytest.raises(PluginError, match="'job_brokerage.mine'.*must return a Verdict"):
        registry.policy("job_brokerage", "mine")(THREE, THREE)


def test_an_error_inside_a_policy_says_whose_it_is(monkeypatch):
    mine = Plugin("throttle.mine", lambda counts: 1 / 0, "of moon 1.0")
    monkeypatch.setattr(registry.plugins, "load", lambda *_: mine)
    with pytest.raises(PluginError, match=r"'throttle.mine' \(of moon 1.0\) raised ZeroDivisionError: "
                                          rf"division by zero, at {__file__}:\d+") as raised:
        registry.policy("throttle", "mine")(None)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def refusing(tag, n_candidates=3) -> Verdict:
    """A verdict that refuses the first candidate."""
    return Verdict((tag,), np.array([0, *[KEPT] * (n_candidates - 1)]), np.ones(n_candidates),
                   np.arange(1, n_candidates))


@pytest.mark.parametrize("kind", ["job_brokerage", "task_brokerage"])
def test_a_tag_that_no_rule_has_is_named_with_the_nearest(kind, monkeypatch):
    """A run could not record it: the words for tags are those of the rules."""
    def offered(tag, **attributes):
        def mine(*_):
            return refusing(tag)
        vars(mine).update(attributes)
        monkeypatch.setattr(registry.plugins, "load", lambda *_: Plugin(f"{kind}.mine", mine, "of moon 1.0"))
        return registry.policy(kind, "mine")
    tags = {tag for rules in registry.RULES[kind].values() for tag in rules.tags if tag.startswith("-")}
    known = sorted(tags)[0]
    assert offered(known)(None, THREE).tags == (known,)
    with pytest.raises(PluginError, match=rf"'{kind}.mine' \(of moon 1.0\) returns the tag '{known}s', of none of its "
                                          rf"rules .*did you mean .*'{known}'"):
        offered(f"{known}s")(None, THREE)
    own = dict.fromkeys(registry.RULES[kind], SimpleNamespace(tags=("-moon",)))
    assert offered("-moon", rules=own)(None, THREE).tags == ("-moon",)
    with pytest.raises(PluginError, match="'-moor'.*did you mean '-moon'"):
        offered("-moor", rules=own)(None, THREE)
    del own["deployed"]
    with pytest.raises(PluginError, match="`rules` without the edition 'deployed'"):
        offered("-moon", rules=own)


def figures_with(factors, n_candidates=3):
    """Figures of the factors named, for so many candidates."""
    numbers = np.ones(n_candidates)
    return lambda: Figures(numbers, numbers, dict.fromkeys(factors, numbers))


@pytest.mark.parametrize("kind", ["job_brokerage", "task_brokerage"])
@pytest.mark.parametrize(("figures", "words"), [
    pytest.param(figures_with(["free_spaces"]), r"returns the factor 'free_spaces', of none of its rules .*`rules`",
                 id="a factor that no rule has"),
    pytest.param(figures_with([], 2), "must give figures with a number for each of 3 candidates, not Figures",
                 id="a candidate too few"),
    pytest.param(lambda: None, "must give figures .*, not None", id="nothing"),
    pytest.param(lambda: 1 / 0, "raised ZeroDivisionError", id="raises"),
])
def test_figures_that_cannot_be_recorded_are_named_when_they_are_asked_for(kind, figures, words, monkeypatch):
    tag = next(iter(registry.RULES[kind].values())).tags[0]
    mine = Plugin(f"{kind}.mine", lambda *_: replace(refusing(tag), figures=figures), "of moon 1.0")
    monkeypatch.setattr(registry.plugins, "load", lambda *_: mine)
    verdict = registry.policy(kind, "mine")(None, THREE)
    with pytest.raises(PluginError, match=rf"'{kind}.mine' \(of moon 1.0\) {words}"):
        verdict.figures()


def test_a_factor_of_its_rules_passes(monkeypatch):
    known = registry.RULES["job_brokerage"]["documented"].factors[0].rule.name
    verdict = replace(refusing("-status"), figures=figures_with([known]))
    mine = Plugin("job_brokerage.mine", lambda *_: verdict, "of moon 1.0")
    monkeypatch.setattr(registry.plugins, "load", lambda *_: mine)
    assert known in registry.policy("job_brokerage", "mine")(None, THREE).figures().factors


@pytest.mark.parametrize(("shares", "words"), [
    pytest.param(lambda tree, hs06: [][0], "raised IndexError", id="raises"),
    pytest.param(lambda tree, hs06: None, "must give each of 2 leaves once, not None", id="nothing"),
    pytest.param(lambda tree, hs06: ["a", "b"], "must give each of 2 leaves once, not", id="no numbers"),
    pytest.param(lambda tree, hs06: np.array([0, 0]), "must give each of 2 leaves once, not", id="one leaf twice"),
])
def test_an_order_of_shares_that_cannot_be_used_is_named(shares, words):
    order = DispatchOrder("mine", share_order=shares)
    with pytest.raises(PluginError, match=rf"'mine' \(dispatch order\) {words}"):
        order.shares(SimpleNamespace(leaves=(1, 2)), np.ones(2))
