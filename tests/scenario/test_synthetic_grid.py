"""The made-up grid follows the published figures, and the short forms of links are settled pair by pair."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simgrid_broker.names import CLOSENESS_BLOCKED, CLOSENESS_UNKNOWN
from simgrid_broker.scenario.grid.expand_grid import link_table, matrix_rows
from simgrid_broker.scenario.grid.synthetic_grid import (
    DOOR_BOUNDS,
    GIGABIT,
    by_name,
    dealt,
    named_sites,
    stepped,
    synthetic_grid,
)
from simgrid_broker.scenario.model import Grid, Scenario, SyntheticGrid

ATLAS = SyntheticGrid(sites=170, cores=500_000)


@pytest.fixture(scope="module")
def atlas():
    """A grid of the size of ATLAS."""
    return Grid.model_validate(synthetic_grid(ATLAS))


def pools(grid):
    """Cores of all batch systems of a dict of YAML shape."""
    return [site["cores"] for site in grid["sites"].values()] + [
        queue["cores"] for queue in grid["queues"].values() if "cores" in queue]


def in_scenario(grid):
    """A scenario that has a grid and nothing else."""
    return Scenario(name="test", duration=1, grid=grid, shares=[{"name": "all", "value": 1}])


# ---- the whole -----------------------------------------------------------------------------------------------------

@given(st.integers(1, 60), st.integers(0, 500), st.integers(0, 5), st.sampled_from(["mixed", "unified"]))
@settings(max_examples=40, deadline=None)
def test_cores_sum_exactly_and_names_agree(sites, more_cores, seed, queues):
    spec = SyntheticGrid(sites=sites, cores=16 * sites + more_cores, seed=seed, queues=queues)
    grid = synthetic_grid(spec)
    assert sum(pools(grid)) == spec.cores and min(pools(grid)) >= 8
    assert len(grid["sites"]) == sites
    checked = Grid.model_validate(grid)
    assert {queue.atlas_site for queue in checked.queues.values()} == set(checked.sites)
    assert {site.storage for site in checked.sites.values()} <= set(checked.storages)
    assert any(site.nucleus for site in checked.sites.values())
    assert {storage.site for storage in checked.storages.values()} >= {
        name for name, site in checked.sites.items() if site.nucleus}
    assert link_table(in_scenario(checked))["bandwidth"].shape == (sites, sites)


def test_no_slot_is_wider_than_its_batch_system():
    queues = synthetic_grid(SyntheticGrid(sites=100, cores=10_000))["queues"]
    own = [(queue["cores"], queue.get("corecount", 8), queue["num_slots"]) for queue in queues.values()
           if "cores" in queue]
    assert any(cores == slot for cores, slot, _ in own), "a small HPC is one slot"
    assert all(cores >= slot and slots >= 1 for cores, slot, slots in own)


def test_same_seed_same_grid_and_another_seed_another():
    small = SyntheticGrid(sites=30, cores=9000)
    one, again = synthetic_grid(small), synthetic_grid(small)
    other = synthetic_grid(small.model_copy(update={"seed": 2}))
    assert one == again
    assert other["queues"] != one["queues"] and list(other["sites"]) == list(one["sites"])


def test_too_few_cores_are_refused():
    with pytest.raises(ValidationError, match="10 sites need at least 160 cores"):
        SyntheticGrid(sites=10, cores=159)


def test_plain_python_values_only():
    def kinds(value):
        if isinstance(value, dict):
            return set().union(*map(kinds, value.values()))
        return set().union(*map(kinds, value)) if isinstance(value, list) else {type(value)}
    assert kinds(synthetic_grid(SyntheticGrid(sites=40, cores=9000))) <= {int, float, bool, str}



def test_as_many_sites_have_a_storage_as_the_scenario_says():
    grid = synthetic_grid(SyntheticGrid(sites=100, cores=500_000, storages=84))
    assert len(grid["storages"]) == len({storage["site"] for storage in grid["storages"].values()}) == 84
    assert sum(storage["total"] for storage in grid["storages"].values()) == pytest.approx(283e15)
    with pytest.raises(ValidationError, match="11 storages need as many sites, of which there are 10"):
        SyntheticGrid(sites=10, cores=500, storages=11)


# ---- sites (workload statistics, sections 2, 8, 10) ----------------------------------------------------------------

@pytest.mark.parametrize(("sites", "by_tier"), [
    pytest.param(1, {0: 1}, id="one site is the tier 0"),
    pytest.param(2, {0: 1, 2: 1}, id="two sites"),
    pytest.param(3, {0: 1, 1: 1, 2: 1}, id="three sites have a tier 1"),
    pytest.param(10, {0: 1, 1: 1, 2: 7, 3: 1}, id="ten sites"),
    pytest.param(170, {0: 1, 1: 12, 2: 132, 3: 25}, id="ATLAS"),
])
def test_tiers(sites, by_tier):
    assert Counter(tier for tier, _ in named_sites(sites).values()) == by_tier


def test_twenty_largest_batch_systems_hold_seventy_percent(atlas):
    sizes = np.sort(pools(synthetic_grid(ATLAS)))[::-1]
    assert sizes[:20].sum() / sizes.sum() == pytest.approx(0.70, abs=0.03)
    assert atlas.sites["T0-CH-01"].cores == sizes[0]


def test_storages(atlas):
    sizes = np.array([storage.total for storage in atlas.storages.values()])
    assert len(sizes) == 84 and sizes.sum() == pytest.approx(283e15, rel=1e-6)
    assert np.median(sizes) == pytest.approx(1814e12, rel=0.1)
    assert np.median([s.free / s.total for s in atlas.storages.values()]) == pytest.approx(0.109, abs=0.01)
    assert np.median([s.expired / s.total for s in atlas.storages.values()]) == pytest.approx(0.25, abs=0.02)
    assert all(s.free + s.expired < s.total for s in atlas.storages.values())


def test_nuclei_are_tiers_0_and_1_and_the_largest_others(atlas):
    nuclei = [name for name, site in atlas.sites.items() if site.nucleus]
    assert len(nuclei) == 34 and all(atlas.sites[name].nucleus for name in atlas.sites if atlas.sites[name].tier < 2)


def test_failures_of_sites_and_payloads_give_those_of_queues(atlas):
    rates = np.array([site.failure_rate for site in atlas.sites.values()]) + 0.01
    assert np.median(rates) == pytest.approx(0.053, abs=0.006)
    assert np.quantile(rates, 0.95) == pytest.approx(0.381, abs=0.05)
    cores = [site.cores for site in atlas.sites.values()]
    assert np.average(rates, weights=cores) == pytest.approx(0.0995, abs=0.03)


# ---- queues (workload statistics, section 2.1) ---------------------------------------------------------------------

@pytest.mark.parametrize(("field", "published", "within"), [
    pytest.param("corepower", (9.8, 10.75, 13.6, 16.05, 21.59), 0.03, id="corepower"),
    pytest.param("maxwdir", (30e3, 100e3, 160e3, 204.8e3, 520e3), 0.15, id="maxwdir"),
    pytest.param("maxrss", (16e3, 16e3, 32e3, 48e3, 96e3), 0.51, id="maxrss, where only some values occur"),
    pytest.param("maxtime", (86400, 172800, 259200, 345600, 345600), 0.01, id="maxtime"),
])
def test_limits_follow_the_quantiles(atlas, field, published, within):
    values = [getattr(atlas.queues[f"{name}_UCORE"], field) for name in atlas.sites]
    assert np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95), method="nearest") == pytest.approx(published, rel=within)


def test_kinds_of_queues(atlas):
    status = Counter(queue.status for queue in atlas.queues.values())
    assert 0.08 < status["test"] / len(atlas.queues) < 0.15 and status["brokeroff"] > status["offline"] > 0
    hpc = [queue for queue in atlas.queues.values() if queue.resource_type == "hpc"]
    assert hpc and all(q.maxrss == 0 and q.corecount >= 16 and "simul:100%" in q.fairsharepolicy for q in hpc)
    assert any(queue.pledgedcpu == -1 for queue in atlas.queues.values())
    assert any(queue.type == "analysis" for queue in atlas.queues.values())
    assert sum(queue.cores or 0 for queue in atlas.queues.values()) < 0.25 * ATLAS.cores


def test_every_site_has_an_open_queue(atlas):
    open_at = {queue.atlas_site for queue in atlas.queues.values() if queue.status == "online" and queue.cores is None}
    assert open_at == set(atlas.sites)


def test_plain_queues_of_one_power():
    grid = Grid.model_validate(synthetic_grid(SyntheticGrid(sites=40, cores=4000, corepower=10, queues="unified")))
    assert {(q.corepower, q.type, q.status) for q in grid.queues.values()} == {(10, "unified", "online")}
    assert not any(queue.fairsharepolicy for queue in grid.queues.values())
    assert len(grid.queues) == 40


# ---- network (workload statistics, section 10) ---------------------------------------------------------------------

def test_closeness_is_directed_and_as_published(atlas):
    closeness = link_table(in_scenario(atlas))["closeness"]
    apart = ~np.eye(170, dtype=bool)
    counts = np.bincount(closeness[apart], minlength=12) / apart.sum()
    published = np.array([4, 6, 113, 1012, 2029, 2676, 1412, 136, 38, 21, 441, 1210]) / 9098
    assert counts == pytest.approx(published, abs=0.001)
    assert (closeness != closeness.T)[apart].mean() == pytest.approx(2726 / 7056, abs=0.04)
    region = np.array([site.region for site in atlas.sites.values()])
    same = region[:, None] == region
    assert np.median(closeness[same & apart]) == 4 and np.median(closeness[~same]) == 5


def test_failures_of_transfers(atlas):
    rates = link_table(in_scenario(atlas))["failure_rate"][~np.eye(170, dtype=bool)]
    assert np.median(rates) == pytest.approx(0.03, abs=0.01)
    assert np.quantile(rates, 0.75) == pytest.approx(0.11, abs=0.04)
    assert 0.06 < rates.mean() < 0.12


@pytest.fixture(scope="module")
def shared():
    """A grid of the size of ATLAS with a network that its links share."""
    return Grid.model_validate(synthetic_grid(ATLAS.model_copy(update={"network": "shared"})))


def test_doors_follow_tier_and_size(shared):
    sites = shared.sites.values()
    for tier, (least, most) in DOOR_BOUNDS.items():
        of_tier = [site.door_in for site in sites if site.tier == tier]
        assert least * GIGABIT <= min(of_tier) and max(of_tier) <= most * GIGABIT
    assert all(site.door_in == site.door_out for site in sites)
    small, large = (np.mean([site.door_in for site in sites if site.tier == 2 and wanted(site.cores)])
                    for wanted in (lambda cores: cores < 1000, lambda cores: cores > 5000))
    assert large > 2 * small


def test_a_link_is_as_wide_as_the_smaller_of_its_doors(shared):
    doors = np.array([site.door_in for site in shared.sites.values()])
    table = link_table(in_scenario(shared))
    assert np.array_equal(table["bandwidth"], np.minimum.outer(doors, doors))
    assert (table["min_active_files"] < table["max_active_files"]).all() and np.isfinite(table["file_rate"]).all()


def test_a_network_of_links_has_no_doors(atlas, shared):
    assert not any(site.door_in or site.door_out for site in atlas.sites.values())
    assert not atlas.links.troubles and atlas.links.background.load == 0
    assert shared.links.troubles and shared.links.background.load > 0


def test_draws_by_name_do_not_depend_on_other_names():
    assert by_name(1, "door", ["A", "B", "C"])[[0, 2]].tolist() == by_name(1, "door", ["A", "C"]).tolist()
    assert by_name(1, "door", ["A"]) != by_name(1, "file rate", ["A"]) != by_name(2, "file rate", ["A"])


def linked(**links):
    """Two sites, A of tier 0 and B of tier 2, with the links named."""
    return link_table(in_scenario({"sites": {"A": {"tier": 0}, "B": {"tier": 2}}, "links": links}))


@pytest.mark.parametrize(("links", "column", "forth", "back"), [
    pytest.param({"default": {"bandwidth": 7}}, "bandwidth", 7, 7, id="default"),
    pytest.param({"default": {"bandwidth": 7}, "by_tier": {0: {"bandwidth": 5}}}, "bandwidth", 5, 5, id="one tier"),
    pytest.param({"by_tier": {0: {"bandwidth": 5}, 2: {"bandwidth": 3}}}, "bandwidth", 3, 3, id="the lesser end"),
    pytest.param({"by_tier": {2: {"bandwidth": 3}}, "by_site": {"B": {"bandwidth": 9}}}, "bandwidth", 9, 9,
                 id="a site wins over its tier"),
    pytest.param({"by_site": {"B": {"bandwidth": 9}}, "pairs": [{"source": "B", "destination": "A", "bandwidth": 1}]},
                 "bandwidth", 9, 1, id="a pair wins, in its direction only"),
    pytest.param({"by_site": {"A": {"latency": 5}, "B": {"latency": 60}}}, "latency_s", 60, 60, id="the slower end"),
    pytest.param({"by_site": {"A": {"max_active_files": 5}, "B": {"max_active_files": 60}}}, "max_active_files", 5, 5,
                 id="the fewer files"),
    pytest.param({"by_site": {"A": {"failure_rate": 0.5}, "B": {"failure_rate": 0.5}}}, "failure_rate", 0.75, 0.75,
                 id="either end may fail"),
    pytest.param({"by_site": {"A": {"failure_rate": 0.5}}}, "failure_rate", 0.5, 0.5, id="only one end says how often"),
    pytest.param({}, "failure_rate", 0.08, 0.08, id="neither end says"),
    pytest.param({}, "closeness", CLOSENESS_UNKNOWN, CLOSENESS_UNKNOWN, id="nothing known of closeness"),
    pytest.param({"default": {"closeness": 3}}, "closeness", 3, 3, id="default closeness"),
    pytest.param({"closeness": {"sites": ["B", "A"], "rows": ["0b", "40"]}}, "closeness", 4, 11, id="any order"),
    pytest.param({"default": {"closeness": 3}, "closeness": {"sites": ["A", "B"], "rows": [".-", ".."]}}, "closeness",
                 CLOSENESS_BLOCKED, 3, id="a blocked pair, and one that the matrix leaves open"),
    pytest.param({"closeness": {"sites": ["A", "B"], "rows": ["05", "50"]},
                  "pairs": [{"source": "A", "destination": "B", "blocked": True}]}, "closeness", CLOSENESS_BLOCKED, 5,
                 id="a pair that is blocked"),
])
def test_links_are_settled(links, column, forth, back):
    assert linked(**links)[column][[0, 1], [1, 0]] == pytest.approx([forth, back])


def test_a_site_is_close_to_itself():
    assert np.diag(linked()["closeness"]).tolist() == [0, 0]


@pytest.mark.parametrize("matrix", [
    pytest.param({"sites": ["A", "B"], "rows": ["00"]}, id="a row too few"),
    pytest.param({"sites": ["A", "B"], "rows": ["00", "0"]}, id="a row too short"),
    pytest.param({"sites": ["A"], "rows": ["c"]}, id="a sign that means nothing"),
])
def test_wrong_matrices(matrix):
    with pytest.raises(ValidationError):
        linked(closeness=matrix)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.integers(-1, 11), min_size=n, max_size=n),
                                                    min_size=n, max_size=n)))
def test_matrix_rows_read_back(values):
    names = [f"S{k}" for k in range(len(values))]
    links = {"closeness": {"sites": names, "rows": list(matrix_rows(np.array(values)))}}
    table = link_table(in_scenario({"sites": {name: {} for name in names}, "links": links}))
    assert table["closeness"].tolist() == values


# ---- dealing -------------------------------------------------------------------------------------------------------

@given(st.integers(1, 200), st.integers(0, 3))
def test_dealt_quantiles_are_even(n, seed):
    assert np.sort(dealt(seed, "question", n)) == pytest.approx((np.arange(n) + 0.5) / n)


def test_stepped_values_come_in_their_parts():
    assert Counter(stepped(1, "question", 100, ((3, "a"), (1, "b")))) == {"a": 75, "b": 25}


# ---- batch systems -------------------------------------------------------------------------------------------------

def test_drawn_batch_systems_have_the_modes_of_cric_and_keep_workers_waiting(atlas):
    drawn = Grid.model_validate(synthetic_grid(ATLAS.model_copy(update={"batch": "drawn"})))
    of_sites = [queue for queue in drawn.queues.values() if queue.status == "online" and queue.cores is None]
    modes = Counter(queue.workflow for queue in of_sites)
    parts = [100 * modes[word] / len(of_sites) for word in ("pull_ups", "push", "push_noheartbeat")]
    assert parts == pytest.approx([84, 12, 4], abs=2)
    late, plain = (np.array([(site.batch_latency, site.submission_failures) for site in grid.sites.values()])
                   for grid in (drawn, atlas))
    assert np.median(late, axis=0) == pytest.approx([120, 0.01], rel=0.02) and not plain.any()
    beside = {queue.atlas_site for name, queue in drawn.queues.items() if name.endswith("_HPC")}
    assert {name for name, site in drawn.sites.items() if site.node is None} == beside and beside
    for tier, part in ((0, 1), (1, 1), (2, 29 / 34), (3, 1 / 8)):
        kinds = [drawn.queues[f"{name}_UCORE"].type for name, site in drawn.sites.items() if site.tier == tier]
        assert kinds.count("unified") == pytest.approx(part * len(kinds), abs=1), tier
    in_scenario(drawn)


@given(st.integers(1, 60), st.integers(0, 500), st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_slots_of_drawn_batch_systems_fit_on_their_nodes(sites, more_cores, seed):
    grid = synthetic_grid(SyntheticGrid(sites=sites, cores=16 * sites + more_cores, seed=seed, batch="drawn"))
    assert len(in_scenario(Grid.model_validate(grid)).grid.sites) == sites
