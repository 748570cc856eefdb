"""The cases of the benchmark do what they say, on small grids; how fast they are is not tested."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "benchmark.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_yardstick_ends_every_process(benchmark):
    for equal_waits in (False, True):
        assert benchmark.yardstick(50, equal_waits)["jobs"] == 50


def test_both_variants_of_the_yardstick_stand_beside_the_cases(benchmark, monkeypatch):
    speeds = iter([10.0, 20.0, 30.0, 50.0, 20.0, 40.0])
    monkeypatch.setattr(benchmark, "yardstick", lambda equal_waits: {"jobs_per_s": next(speeds)})
    monkeypatch.setattr(benchmark, "CASES", {"one": lambda: {"jobs_per_s": 80.0}, "other": lambda: {"median_us": 3.0}})
    assert benchmark.measured(["one", "other"]) == {
        "simpy": {"jobs_per_s": 20.0}, "simpy_equal_waits": {"jobs_per_s": 40.0},
        "one": {"jobs_per_s": 80.0, "ratio_to_simpy": 4.0, "ratio_to_simpy_equal_waits": 2.0},
        "other": {"median_us": 3.0}}


def test_the_fabric_keeps_its_slots_full(benchmark):
    found = benchmark.jobs_per_s_of_fabric(2, 40, 100)
    assert found["jobs"] >= 100 and found["running"] >= 39


def test_the_timeout_rules_find_the_jobs_that_are_too_old(benchmark):
    found = benchmark.timeouts(180000)
    assert found["found"] == -(-found["jobs"] // 1000)


def test_the_handover_case_measures_a_bundle_and_a_named_tuple(benchmark):
    found = benchmark.handover(n_arrays=50, n_calls=50, n_inner=50)
    assert set(found) == {f"{kind}_{figure}" for kind in ("bundle", "tuple")
                          for figure in ("call_us", "inner_ns", "compile_s")}
    assert all(value > 0 for value in found.values())
