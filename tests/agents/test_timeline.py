"""Incidents happen at their time and end at theirs."""

from functools import partial
from itertools import islice
from typing import get_args

import numpy as np
import pytest
from builders import Stage, scenario, two_sites

from simgrid_broker.agents.data.network import jobless_transfers, network_troubles
from simgrid_broker.agents.panda.statistics import gdpconfig_cache, share_order, share_tree_cache
from simgrid_broker.agents.run.timeline import EFFECTS, timeline
from simgrid_broker.gdpconfig import jobbroker
from simgrid_broker.names import QueueStatus
from simgrid_broker.scenario.model import Incident
from simgrid_broker.world.data.network import rules_of, troubles


def stage_with(*incidents, plan=scenario, awake=(), **others) -> Stage:
    """A world in which only the timeline is awake, and the agents named."""
    return Stage((timeline, *awake), plan(incidents=list(incidents), **others), dict(priority=5), dict(priority=6))


def test_every_kind_of_incident_has_an_effect():
    kinds = get_args(Incident.model_fields["what"].annotation)
    assert set(EFFECTS) | {"task_arrival"} == set(kinds)   # an arrival stands in the list of tasks


def test_a_queue_gets_another_status():
    stage = stage_with(dict(at=100, what="queue_status", queue="HERE", status="brokeroff"))
    before = stage.control.brokers.queues
    stage.run(99.0)
    assert stage.control.brokers.queues is before
    stage.run(101.0)
    assert stage.arrays.queues["status"][0] == QueueStatus.BROKEROFF
    assert stage.control.brokers.queues.status.tolist() == [QueueStatus.BROKEROFF]
    assert stage.control.brokers.queues.version == before.version + 1          # cached masks are dropped


def test_a_site_goes_down_and_comes_back():
    stage = stage_with(dict(at=100, until=500, what="site_outage", site="HERE"))
    stage.submit()
    stage.workers()
    stage.run(99.0)
    assert stage.statuses() == ["running"]
    stage.run(400.0)
    assert stage.statuses() == ["holding"]                 # it ended just as the site failed: the fabric comes first
    stage.workers()
    assert stage.arrays.pseudo_queues["n_running"].tolist() == [0]
    stage.run(501.0)
    assert stage.arrays.pseudo_queues["n_running"].tolist() == [1]


def test_an_endpoint_gets_another_status_and_then_its_own_again():
    stage = stage_with(dict(at=100, until=500, what="storage_status", storage="HERE", activity="write_wan",
                            status="OFF"),
                       dict(at=200, what="storage_status", storage="HERE", activity="read_lan", status="TEST"),
                       plan=partial(scenario, storages={"HERE": dict(site="HERE", write_wan="")}))
    columns = "read_lan_off", "write_lan_off", "read_wan_off", "write_wan_off"
    seen = []
    for now in (99.0, 101.0, 201.0, 501.0):
        stage.run(now)
        seen.append([int(stage.arrays.storages[name][0]) for name in columns])
    assert seen == [[0, 0, 0, 2], [0, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 2]]


def test_an_outage_without_end_lasts():
    stage = stage_with(dict(at=100, what="site_outage", site="HERE"))
    stage.run(1e5)
    assert stage.arrays.sites["down"].tolist() == [1]


def test_a_link_goes_down_and_comes_back():
    stage = stage_with(dict(at=10, until=50, what="link_outage", source="THERE", destination="HERE"), plan=two_sites)
    down = []
    for now in (9.0, 11.0, 49.0, 51.0):
        stage.run(now)
        down.append(stage.arrays.links["down"].tolist())
    assert down == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_a_share_gets_another_target():
    shares = [dict(name="A", value=1), dict(name="B", value=1, children=[dict(name="C", value=1),
                                                                        dict(name="D", value=1)])]
    stage = stage_with(dict(at=10, what="share_target", share="C", value=3),
                       dict(at=20, what="share_target", share="A", value=3), shares=shares,
                       agents=dict(share_tree=1, share_order=1), awake=(share_tree_cache, share_order))
    found = []
    for now in (9.0, 13.0, 23.0):
        stage.run(now)
        found.append(stage.world.tree.value[stage.world.tree.leaves].tolist())
    assert np.allclose(found, [[50, 25, 25], [50, 37.5, 12.5], [75, 18.75, 6.25]])


@pytest.mark.rule("share_tree_cache")
def test_the_share_tree_is_loaded_on_its_period():
    shares = [dict(name="A", value=1), dict(name="B", value=1)]
    stage = stage_with(dict(at=3650, what="share_target", share="A", value=3), shares=shares,
                       awake=(share_tree_cache, share_order))
    known = []
    for now in (3651.0, 7260.0):                           # loaded once in the first hour, and an hour later
        stage.run(now)
        known.append(stage.world.tree.value[1])
    assert known == [50, 75]


@pytest.mark.rule("gdpconfig_cache")
def test_a_key_of_gdpconfig_gets_another_value():
    stage = stage_with(dict(at=10, what="gdpconfig", key="jobbroker.NQUEUED_SAT_CAP", value=7),
                       dict(at=20, what="gdpconfig", key="jobbroker.MAX_PRIO_TO_BOOTSTRAP", value=9),
                       agents=dict(gdpconfig=1), awake=(gdpconfig_cache,))
    keys = [jobbroker.NQUEUED_SAT_CAP, jobbroker.MAX_PRIO_TO_BOOTSTRAP]
    found = []
    for now in (9.0, 12.0, 22.0):
        stage.run(now)
        found.append([stage.control.cfg.value(key) for key in keys])
    assert found == [[150, 150], [7, 150], [7, 9]]           # a change stays when the next one comes


def test_a_task_gets_another_priority():
    stage = stage_with(dict(at=10, what="task_priority", task=2, priority=99))
    stage.run(11.0)
    assert stage.arrays.tasks["priority"].tolist() == [5, 99]


@pytest.mark.parametrize("at", [10.0, 0.0], ids=["later", "at the start"])
def test_incidents_of_one_time_happen_in_the_order_in_which_they_are_written(at):
    stage = stage_with(dict(at=at, what="queue_status", queue="HERE", status="offline"),
                       dict(at=at, what="queue_status", queue="HERE", status="test"))
    stage.run(11.0)
    assert stage.arrays.queues["status"][0] == QueueStatus.TEST


def test_capacities_change_and_return():
    plan = partial(scenario, {"HERE": dict(door_in=4e6), "THERE": dict(nucleus=False)},
                   more_links=dict(backbones=dict(SEA=dict(capacity=3e6, sites=["HERE"]))))
    stage = stage_with(dict(at=10, until=50, what="network_capacity", site="HERE", factor=0.5),
                       dict(at=20, until=30, what="network_capacity", backbone="SEA", factor=2),
                       dict(at=20, until=40, what="network_capacity", source="THERE", destination="HERE", factor=0.1),
                       plan=plan)
    found = []
    for now in (9.0, 11.0, 21.0, 31.0, 41.0, 51.0):
        stage.run(now)
        found.append([float(stage.link()["bandwidth"]), *stage.arrays.gates["capacity"].tolist()])
    assert np.allclose(found, [[1e6, 4e6, 3e6, 3e6], [5e5, 2e6, 3e6, 3e6], [5e4, 2e6, 6e6, 6e6], [5e4, 2e6, 3e6, 3e6],
                               [5e5, 2e6, 3e6, 3e6], [1e6, 4e6, 3e6, 3e6]])


def test_networks_of_sites_have_troubles_at_random():
    kinds = [dict(every=1000, lasts=500), dict(every=1000, lasts=500, factor=0.5)]
    plan = two_sites(duration=1e5).with_values({"grid.links.troubles": kinds})
    both, first = ([*troubles(of)] for of in (plan, plan.with_values({"grid.links.troubles": kinds[:1]})))
    assert both == sorted(both)
    assert [moment for moment in both if moment.cause[0] == 0] == first and len(first) > 100
    stage = Stage((network_troubles,), plan, {})
    down, narrow = [], []
    for now in range(100, 100_000, 100):
        stage.run(float(now))
        down.append(stage.link()["down"] > 0)
        narrow.append(stage.link()["bandwidth"] < 1e6)
    # each end has trouble a third of the time, so that the link is free of it 4/9 of the time
    assert np.mean(down) == pytest.approx(5 / 9, abs=0.1) and np.mean(narrow) == pytest.approx(5 / 9, abs=0.1)


def test_single_links_have_troubles_of_their_own():
    kinds = [dict(every=1000, lasts=500, of="links"), dict(every=1000, lasts=500, of="links", factor=0.5)]
    plan = two_sites(duration=1e5).with_values({"grid.links.troubles": kinds})
    assert {moment.cause[1] for moment in troubles(plan)} == {("HERE", "THERE"), ("THERE", "HERE")}
    stage = Stage((network_troubles,), plan, {})
    forth, back, narrow = [], [], []
    for now in range(100, 100_000, 100):
        stage.run(float(now))
        forth.append(stage.link(0, 1)["down"] > 0)
        back.append(stage.link(1, 0)["down"] > 0)
        narrow.append(stage.link(1, 0)["bandwidth"] < 1e6)
    assert [np.mean(state) for state in (forth, back, narrow)] == pytest.approx([1 / 3] * 3, abs=0.1)
    assert np.mean(np.array(forth) & np.array(back)) == pytest.approx(1 / 9, abs=0.07)       # each by itself


def test_a_trouble_too_short_for_the_clock_ends_after_it_has_begun():
    plan = two_sites(duration=1e5).with_values({"grid.links.troubles": [dict(every=1000, lasts=1e-30)]})
    begin, end = islice(troubles(plan), 2)
    assert (begin.at, begin.begins, end.at, end.begins) == (end.at, True, begin.at, False)


def test_another_site_leaves_the_troubles_of_a_link_as_they_are():
    plans = [scenario({name: {} for name in names}, duration=1e5).with_values(
        {"grid.links.troubles": [dict(every=1000, lasts=500, of="links")]}) for names in ("AB", "ABC")]
    few, more = ([moment for moment in troubles(plan) if moment.cause[1] == ("A", "B")] for plan in plans)
    assert few == more and few


def test_flows_move_files_for_no_job():
    flow = dict(activity="data_rebalancing", files_per_day=86_400, file_size=2e5, files_per_rule=10)
    plan = two_sites(duration=50_000, link=dict(failure_rate=0.0)).with_values({"grid.fts.flows": [flow]})
    stage = Stage((jobless_transfers,), plan, {})
    stage.run(49_000.0)
    links, rules = stage.arrays.links, [rule for rule in rules_of(plan) if rule.at < 48_900]
    moved = {(rule.source, rule.destination): 0 for rule in rules}
    for rule in rules:
        moved[rule.source, rule.destination] += rule.files
    assert set(moved) == {(0, 1), (1, 0)} and sum(moved.values()) == pytest.approx(48_900, rel=0.05)
    done = {(0, 1): links["files_done"][1], (1, 0): links["files_done"][2]}
    assert all(0 <= done[ends] - moved[ends] <= 300 for ends in moved)
    assert stage.arrays.storages["dispatched_bytes"].sum() == pytest.approx(2e5 * sum(done.values()))


@pytest.mark.parametrize(("tiers", "expected"), [
    (dict(from_tiers=[0], to_tiers=[1]), {(0, 1), (0, 2)}), (dict(from_tiers=[1]), {(1, 0), (1, 2), (2, 0), (2, 1)})])
def test_rules_of_flows_go_between_the_tiers_that_are_named(tiers, expected):
    flow = dict(activity="t0_export", files_per_day=8640, file_size=1e9, files_per_rule=1) | tiers
    plan = scenario({"A": dict(tier=0), "B": dict(tier=1), "C": dict(tier=1)}, duration=20_000)
    plan = plan.with_values({"grid.fts.flows": [flow]})
    both = plan.with_values({"grid.fts.flows": [flow | dict(activity="staging", files_per_day=5000), flow]})
    assert {(rule.source, rule.destination) for rule in rules_of(plan)} == expected
    times = [rule.at for rule in rules_of(both)]
    assert times == sorted(times) and len(times) > 2500
