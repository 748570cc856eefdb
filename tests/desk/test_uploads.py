"""Files of operators that become scenarios: what the importers say is shown, and what fails leaves nothing behind."""

import gzip
import json
import re
from html import unescape
from pathlib import Path

import pytest

from simgrid_broker.desk import uploads

SHARED = Path(__file__).parents[3] / "shared" / "data"

CRIC = json.dumps({"CERN": {"name": "CERN", "nickname": "CERN", "atlas_site": "CERN", "status": "online",
                            "type": "unified", "state": "ACTIVE", "vo_name": "atlas", "corecount": 8,
                            "capability": "ucore", "releases": ["AUTO"], "fairsharepolicy": "type=any:0%,nonsense"}})


def load(browser, name, **files):
    """Send files of some names, pairs of a file name and its content; words of the answer and its status."""
    sent = {key: content if isinstance(content, tuple) else (f"{key}.json", content) for key, content in files.items()
            if key in uploads.INPUTS}
    fields = {"name": name} | {key: value for key, value in files.items() if key not in uploads.INPUTS}
    answer = browser.post("/load", data=fields, files=sent or {"none": ("", b"")})
    return answer.status_code, re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", answer.text)))


def check(browser, name):
    """Words of the page of a loaded scenario."""
    answer = browser.get(f"/edit/results/scenarios/{name}/{name}.yaml?part=values")
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", answer.text)))


def test_a_grid_from_cric_is_a_scenario_with_the_remarks_of_the_importer(browser, results):
    status, words = load(browser, "mine", pandaqueues=CRIC, auto_as_any="on")
    assert status == 200 and "1 objects give 1 queues" in words and "auto_as_any" in words
    assert "fairsharepolicy 'type=any:0%,nonsense' is written as PanDA reads it" in words
    assert "at least one site needs `nucleus: true`" in check(browser, "mine")
    folder = results / "scenarios" / "mine"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == [
        "loaded/grid.yaml", "loaded/pandaqueues.json", "mine.yaml"]


def test_files_of_shares_and_keys_are_laid_over_a_scenario(browser, results):
    shares = json.dumps([{"name": "A", "value": 60, "parent": None}, {"name": "B", "value": 40, "parent": None}])
    rows = json.dumps([{"app": "jedi", "component": "jobbroker", "key": "NW_ACTIVE", "value": "True", "type": "bool"}])
    status, words = load(browser, "over", shares=shares, gdpconfig=gzip.compress(rows.encode()),
                         base="scenarios/minimal.yaml")
    assert status == 200 and "2 leaf shares" in words and "1 of 1 keys of gdpconfig" in words
    text = (results / "scenarios" / "over" / "over.yaml").read_text()
    assert text == 'name: "over"\nextends: ["base/minimal.yaml", "loaded/shares.yaml", "loaded/gdpconfig.yaml"]\n'


def test_what_cannot_be_loaded_is_said_and_leaves_nothing_behind(browser, results):
    for files, words in (
            ({}, "choose at least one file"), ({"pandaqueues": "{"}, "JSON"), ({"pandaqueues": "[]"}, "problem"),
            ({"pandaqueues": b"\x1f\x8bbroken"}, "gzip"), ({"pandaqueues": b"\x89PNG\0"}, "problem"),
            ({"rses": "{}"}, "read together with pandaqueues"),
            ({"shares": "[]", "base": "scenarios/minimal.yaml", "auto_as_any": "on"}, "together with pandaqueues"),
            ({"sites": "{}"}, "links, which is missing"),
            ({"pandaqueues": CRIC, "sites": "{}", "links": "{}"}, "two grids"),
            ({"shares": "[]"}, "choose the scenario to lay the files over"),
            ({"pandaqueues": CRIC, "base": "scenarios/minimal.yaml"}, "no other scenario is below it"),
            ({"shares": "3", "base": "scenarios/minimal.yaml"}, "problem"),
            ({"gdpconfig": CRIC, "base": "scenarios/minimal.yaml"}, "problem"),
            ({"harvester": "[1]", "base": "scenarios/minimal.yaml"}, "problem"),
            ({"pandaqueues": CRIC, "closeness": "3"}, "problem"), ({"pandaqueues": CRIC, "software": "3"}, "problem"),
            ({"sites": "3", "links": "3"}, "problem"), ({"shares": CRIC, "base": "etc/passwd"}, "folder")):
        status, said = load(browser, "mine", **files)
        assert status == 400 and words in said, (files, said)
        assert list((results / "scenarios").iterdir()) == [], files


def test_an_upload_has_a_limit_packed_and_unpacked(browser, results, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_UNPACKED", 1 << 20)
    status, words = load(browser, "bomb", pandaqueues=("a.json.gz", gzip.compress(b" " * (3 << 20))))
    assert status == 400 and "unpacks to more than" in words and list((results / "scenarios").iterdir()) == []
    assert load(browser, "large", pandaqueues=b" " * (65 << 20))[0] == 413


def test_names_of_uploads_are_names_of_nothing(browser, results):
    """Neither a path nor HTML in the name of a file, or of a queue in it, reaches the disk or the page."""
    hostile = CRIC.replace('"CERN"', '"<script>alert(1)</script>"')
    answer = browser.post("/load", data={"name": "mine"},
                          files={"pandaqueues": ("../../<script>.json", hostile), "../x": ("../y", b"z")})
    assert answer.status_code == 200 and "<script>alert" not in answer.text
    there = {path.name for path in results.rglob("*") if path.is_file()}
    assert there == {"mine.yaml", "grid.yaml", "pandaqueues.json"}
    form = browser.get("/edit/results/scenarios/mine/mine.yaml?part=incidents&kind=site_outage")
    assert "alert(1)" in form.text and "<script>alert" not in form.text


REAL = [dict(pandaqueues="cric/pandaqueues_subset.json", rses="cric/rse_relations_derived.json",
             software="software/sw_tags_example.json"),
        dict(pandaqueues="cric/pandaqueues_subset.json", harvester="harvester/k8s_common_template.json"),
        dict(sites="cgsim/toy_new_site_info.json", links="cgsim/toy_new_site_conn_info.json",
             jobs="panda/cgsim_toy_job.csv"),
        dict(sites="cgsim/mini_site_info.json", links="cgsim/mini_site_conn_info.json"),
        dict(shares="shares/global_shares_2018-07.json", gdpconfig="gdpconfig/gdpconfig_defaults.json"),
        dict(shares="shares/global_shares_2018-07_rows_derived.json"),
        *(dict(harvester=f"harvester/{name}.json") for name in (
            "alcf_theta", "bnl_knl", "example_cloud", "example_grid", "example_hpc", "example_with_tmpl",
            "grid_common_template", "k8s_atlas_testbed"))]


@pytest.mark.skipif(not SHARED.is_dir(), reason="real files are not here")
@pytest.mark.parametrize("files", REAL, ids=lambda files: "-".join(Path(name).stem for name in files.values()))
def test_real_files_of_operators_load(browser, files):
    """All of them, each with the check of the scenario that it becomes."""
    base = {} if {"pandaqueues", "sites"} & files.keys() else {"base": "scenarios/minimal.yaml"}
    given = {key: (Path(name).name, (SHARED / name).read_bytes()) for key, name in files.items()}
    status, words = load(browser, "real", **given, **base)
    assert status == 200 and "Remarks of the importers" in words
    assert "It can be run" in check(browser, "real")
