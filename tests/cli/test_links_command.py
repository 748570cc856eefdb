"""`links`: busiest links and doors of a run, and the matrix of sites."""

import json

import pytest
from fake_run import write_fake_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_fake_run(tmp_path_factory.mktemp("links"), n_jobs=300, sample_s=7200.0)


def test_links_and_doors_of_a_run(call, folder):
    listed = call("links", folder)
    assert listed.exit_code == 0 and listed.stdout.startswith("link ") and "\ndoor " in listed.stdout
    found = json.loads(call("links", folder, "--all", "--json").stdout)
    assert {"source", "destination", "moved", "peak_rate", "failed", "wait"} <= set(found["links"][0])
    assert {"door", "capacity", "use"} <= set(found["doors"][0]) and found["matrix"]
    moved = [link["moved"] for link in found["links"]]
    assert moved == sorted(moved, reverse=True) and sum(moved) == pytest.approx(
        sum(pair["moved"] for pair in found["matrix"]))


@pytest.mark.parametrize("columns", [80, 110])
@pytest.mark.parametrize("options", [(), ("--matrix",)], ids=["lists", "matrix"])
def test_it_fits_the_terminal(call, folder, columns, options):
    shown = call("links", folder, *options, columns=columns)
    assert shown.exit_code == 0 and max(map(len, shown.stdout.splitlines())) <= columns


def test_a_run_without_traffic_says_so(call, finished):
    folder = next((finished[0] / "minimal").iterdir())
    assert "Traceback" not in call("links", folder).output and call("links", folder, "--matrix").exit_code == 0


def test_a_folder_without_a_run_is_refused(call, tmp_path):
    result = call("links", tmp_path)
    assert result.exit_code != 0 and str(tmp_path) in result.output and "Traceback" not in result.output
