"""Status and space of DDM endpoints, and network metrics, become parts of a scenario or snapshot."""

import json
from pathlib import Path

import pytest
import yaml

from simgrid_broker.errors import InputFileError
from simgrid_broker.scenario import load_scenario, load_snapshot
from simgrid_broker.scenario.grid.expand_grid import link_table
from simgrid_broker.scenario.importers import (
    read_cric,
    read_endpoints,
    read_network_metrics,
    write_grid,
    write_part,
)

ROOT = Path(__file__).parents[2]
CRIC = ROOT.parent / "shared" / "data" / "cric"
needs_cric = pytest.mark.skipif(not CRIC.is_dir(), reason="the folder of real files is not here")
PB = 10**15
PLAIN = dict(name="plain", duration=3600, shares=[dict(name="All", value=1)], grid=dict(
    sites={"A": dict(cores=8, nucleus=True), "B": dict(cores=8)}, queues={"Q": dict(atlas_site="A")},
    storages={"A_DISK": dict(site="A", total=PB, free=PB), "B_DISK": dict(site="B", total=PB, free=PB)}))
USAGE = {"storage": {"used": 18 * PB, "free": 2 * PB}, "expired": {"used": 4 * PB}, "min_free_space": {"used": PB},
         "unavailable": {"used": 1000}}


def file(folder, content, name="dump.json"):
    """A JSON file."""
    path = folder / name
    path.write_text(json.dumps(content, indent=1))
    return path


def loaded(folder, part):
    """A scenario that extends a plain one and the part."""
    (folder / "plain.yaml").write_text(yaml.safe_dump(PLAIN))
    write_part(part, folder / "part.yaml", ["origin"])
    (folder / "whole.yaml").write_text("extends: [plain.yaml, part.yaml]\nname: whole\n")
    return load_scenario(folder / "whole.yaml")


def status(**words):
    """The entry of one endpoint: a status for each activity."""
    return {activity: {"status": {"value": word}} for activity, word in words.items()}


# ---- status ---------------------------------------------------------------------------------------------------------

def test_status_by_activity(tmp_path):
    dump = {"A_DISK": status(write_wan="OFF", read_wan="on", read_lan="TEST"), "B_DISK": status(write_lan="PROBING")}
    part, remarks = read_endpoints(PLAIN["grid"]["storages"], status=file(tmp_path, dump))
    storages = loaded(tmp_path, part).grid.storages
    assert [storages["A_DISK"].write_wan, storages["A_DISK"].read_wan, storages["A_DISK"].read_lan] == [
        "OFF", "ON", "TEST"]
    assert storages["A_DISK"].write_lan == "ON" and storages["B_DISK"].write_lan == "PROBING"
    assert storages["A_DISK"].total == PB
    assert remarks == ["status and space of 2 storages from dump.json"]


@pytest.mark.parametrize(("dump", "said", "remark"), [
    pytest.param({"A_DISK": status(read_wan="BROKEN")}, {"read_wan": "ON"},
                 "words of a status that are not known, read as ON: 1 (A_DISK read_wan: BROKEN)", id="unknown word"),
    pytest.param({"A_DISK": status(delete_wan="OFF")}, None,
                 "status of delete_wan, which nothing here reads: 1 (A_DISK)", id="activity that nothing reads"),
    pytest.param({"A_DISK": {"read_wan": {"status": {}}}}, None,
                 "activities of endpoints without a status, left as they are: 1 (A_DISK read_wan)", id="no value"),
    pytest.param({"A_DISK": {"read_wan": {"status": {"value": "OFF", "reason": "full"}, "probe": {}}}},
                 {"read_wan": "OFF"}, "fields of a status that PanDA does not read either: 2 (probe, reason)",
                 id="further fields"),
    pytest.param({"C_DISK": status(read_wan="OFF")}, None,
                 "endpoints of dump.json that are no storages of the grid, not used: 1 (C_DISK)", id="unknown one"),
    pytest.param({"A_DISK": status(read_wan="OFF")}, {"read_wan": "OFF"},
                 "storages of the grid that dump.json does not name, left as they are: 1 (B_DISK)", id="not named"),
])
def test_what_is_not_used_of_a_status(tmp_path, dump, said, remark):
    part, remarks = read_endpoints(PLAIN["grid"]["storages"], status=file(tmp_path, dump))
    assert part["grid"]["storages"] == ({} if said is None else {"A_DISK": said}) and remark in remarks


# ---- space ----------------------------------------------------------------------------------------------------------

def test_space_of_an_endpoint(tmp_path):
    part, remarks = read_endpoints(["A_DISK"], space=file(tmp_path, {"A_DISK": USAGE}))
    disk = loaded(tmp_path, part).grid.storages["A_DISK"]
    assert [disk.total, disk.free, disk.expired, disk.min_free, disk.unavailable] == [
        20 * PB, 2 * PB, 4 * PB, PB, 1000]
    assert remarks == ["status and space of 1 storages from dump.json"]


@pytest.mark.parametrize(("changed", "said", "remark"), [
    pytest.param({"storage": {"used": 18 * PB}}, None,
                 "endpoints without used and free space, left as they are: 1 (A_DISK)", id="no free space"),
    pytest.param({"storage": {"used": -1, "free": 5}}, None,
                 "endpoints without used and free space, left as they are: 1 (A_DISK)", id="a negative size"),
    pytest.param({"storage": {"used": 0, "free": 0}}, None,
                 "endpoints without used and free space, left as they are: 1 (A_DISK)", id="no space at all"),
    pytest.param({"expired": {}}, {"expired": 0}, "endpoints without expired, read as 0: 1 (A_DISK)", id="no expired"),
    pytest.param({"expired": {"used": 19 * PB}}, None,
                 "endpoints with more expired than used data, left as they are: 1 (A_DISK)", id="too much expired"),
    pytest.param({"storage": {"used": "18e15", "free": 2 * PB, "updated_at": "2021-09-19 10:00:00"}}, {},
                 "fields of the storage of endpoints that nothing here reads: 1 (updated_at)", id="further field"),
    pytest.param({"obsolete": {"used": 1}}, {},
                 "parts of the space of endpoints that nothing here reads: 1 (obsolete)", id="further part"),
])
def test_what_is_not_used_of_a_space(tmp_path, changed, said, remark):
    part, remarks = read_endpoints(["A_DISK"], space=file(tmp_path, {"A_DISK": USAGE | changed}))
    whole = {"total": 20 * PB, "free": 2 * PB, "expired": 4 * PB, "min_free": PB, "unavailable": 1000}
    assert part["grid"]["storages"] == ({} if said is None else {"A_DISK": whole | said}) and remark in remarks


def test_both_files_together(tmp_path):
    part, remarks = read_endpoints(["A_DISK"], file(tmp_path, {"A_DISK": status(read_wan="OFF")}, "a.json"),
                                   file(tmp_path, {"A_DISK": USAGE}, "b.json"))
    disk = part["grid"]["storages"]["A_DISK"]
    assert (disk["read_wan"], disk["free"]) == ("OFF", 2 * PB)
    assert remarks[0].endswith("from a.json and b.json")


# ---- network metrics ------------------------------------------------------------------------------------------------

NOW, RECENT, OLD = "2021-09-19T10:00:00", "2021-09-19T09:30:00", "2021-09-19T09:29:59"


def link(queued=None, done=None, stamp=NOW, **mbps):
    """The metrics of one link."""
    activities = {name: {"latest": number, "timestamp": stamp} for name, number in (queued or {}).items()}
    windows = {window.removeprefix("last_"): value for window, value in mbps.items()}
    return {"files": {"queued": activities} | ({"done": done} if done else {}),
            "mbps": {"dashb": windows | {"timestamp": stamp}}}


def test_metrics_become_traffic_of_a_snapshot(tmp_path):
    dump = {"A:B": link({"Production Output": 7, "Express": 2}, last_1h=3.5, last_1d=20, last_1w=10),
            "B:A": link({"Production Output": 1}, stamp=RECENT)}
    part, remarks = read_network_metrics(file(tmp_path, dump), ["A", "B"])
    assert part["links"] == [
        dict(source="A", destination="B", queued_files=7, queued_express=2, mbps_hour=3.5, mbps_day=20, mbps_week=10),
        dict(source="B", destination="A", queued_files=1)]
    assert remarks == ["network metrics of 2 links from dump.json, as of 2021-09-19T10:00:00"]
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump({key: PLAIN[key] for key in ("name", "shares", "grid")}))
    write_part(part, tmp_path / "part.yaml", remarks, "snapshot")
    (tmp_path / "whole.yaml").write_text("extends: [grid.yaml, part.yaml]\nname: whole\n")
    assert load_snapshot(tmp_path / "whole.yaml").links[0].mbps_week == 10


@pytest.mark.parametrize(("windows", "megabytes"), [
    pytest.param(dict(last_1h=3, last_1d=20, last_1w=10), 10, id="of the week"),
    pytest.param(dict(last_1h=3, last_1d=20), 20, id="of the day"),
    pytest.param(dict(last_1h=3), 3, id="of the hour"),
    pytest.param({}, None, id="none"),
    pytest.param(dict(last_1h=0), None, id="nothing moved"),
])
def test_metrics_become_rates_of_files(tmp_path, windows, megabytes):
    part, remarks = read_network_metrics(file(tmp_path, {"A:B": link(**windows)}), ["A", "B"], rates=True)
    rate = link_table(loaded(tmp_path, part))["file_rate"][0, 1]
    assert rate == (pytest.approx(megabytes * 1e6) if megabytes else float("inf"))
    assert any("left as they are: 1 (A to B)" in remark for remark in remarks) == (megabytes is None)


@pytest.mark.parametrize(("key", "entry", "said", "remark"), [
    pytest.param("A:B", link({"Express": 1}, stamp=OLD) | {"latency": {"timestamp": NOW}}, {},
                 "entries more than 30 min older than the newest of the file, which PanDA does not load: 2 "
                 "(A:B, Express, A:B, dashb)", id="too old"),
    pytest.param("A:B", link({"Production Input": 4}), {},
                 "files queued of Production Input, which brokerage does not read: 1 (A:B)", id="other activity"),
    pytest.param("A:B", link(done={"Express": {"1h": 3}}), {},
                 "files done of Express, which brokerage does not read: 1 (A:B)", id="files that are done"),
    pytest.param("A:B", {"mbps": {"perfsonar": {"1h": 3}}}, {},
                 "throughput by perfsonar, of which brokerage reads that of dashb alone: 1 (A:B)", id="other system"),
    pytest.param("A:B", link(last_6h=3), {},
                 "windows of the throughput that nothing here reads: 6h: 1 (A:B)", id="other window"),
    pytest.param("A:B", link(last_1h="much"), {},
                 "values of 1h that are not numbers from 0 up, not used: 1 (A:B: 'much')", id="no number"),
    pytest.param("A:B", {"packetloss": 0.1}, {}, "parts of a link that nothing here reads: packetloss: 1 (A:B)",
                 id="other part"),
    pytest.param("A:B", {"mbps": {"dashb": {"1h": 3}}}, {"mbps_hour": 3},
                 "entries without a time stamp, taken for new: 1 (A:B, dashb)", id="no time stamp"),
    pytest.param("A:UNKNOWN", link(), None, "links that are not between sites of the grid, not used: 1 (A:UNKNOWN)",
                 id="unknown site"),
    pytest.param("A:A", link(), None, "links from a site to itself, not used: 1 (A)", id="one site"),
])
def test_what_is_not_used_of_metrics(tmp_path, key, entry, said, remark):
    part, remarks = read_network_metrics(file(tmp_path, {key: entry}), ["A", "B"])
    assert part["links"] == ([] if said is None else [dict(source="A", destination="B", **said)])
    assert remark in remarks


@pytest.mark.parametrize("read", [
    pytest.param(lambda path: read_endpoints(["A_DISK"], status=path), id="status"),
    pytest.param(lambda path: read_endpoints(["A_DISK"], space=path), id="space"),
    pytest.param(lambda path: read_network_metrics(path, ["A"]), id="metrics"),
])
@pytest.mark.parametrize("content", ["[1, 2]", '{"A_DISK": 3}', "{"])
def test_other_files_are_refused(tmp_path, read, content):
    path = tmp_path / "dump.json"
    path.write_text(content)
    with pytest.raises(InputFileError, match="dump.json"):
        read(path)


@needs_cric
def test_a_status_of_the_real_endpoints(tmp_path):
    grid, _ = read_cric(CRIC / "pandaqueues_subset.json", CRIC / "rse_relations_derived.json")
    names = [*json.loads((CRIC / "rse_relations_derived.json").read_text()), "NOWHERE_DATADISK"]
    part, remarks = read_endpoints(grid["storages"], file(tmp_path, {name: status(write_wan="OFF") for name in names}),
                                   file(tmp_path, dict.fromkeys(names, USAGE), "usage.json"))
    write_grid(grid, tmp_path / "grid.yaml", ["origin"])
    write_part(part, tmp_path / "part.yaml", remarks)
    (tmp_path / "whole.yaml").write_text("extends: [grid.yaml, part.yaml]\nname: whole\n")
    storages = load_scenario(tmp_path / "whole.yaml").grid.storages
    assert {(each.write_wan, each.free) for each in storages.values()} == {("OFF", 2 * PB)}
    assert "NOWHERE_DATADISK" in next(remark for remark in remarks if "no storages of the grid" in remark)
