"""An attribute of a queue is one row: a made-up one, added to a copy of the package, arrives everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import simgrid_broker

PACKAGE = Path(simgrid_broker.__file__).parent
ROW = ('    watchdogs: Megabytes = attribute(0, "Memory that watchdogs leave to jobs, MB", ge=0, unit="MB", zero=inf, '
       'seen="f8")\n')
BESIDE = "    maxtime: Seconds = attribute("
PROGRAM = '''
import json, sys
import numpy as np
import simgrid_broker as sb
from simgrid_broker import views
from simgrid_broker.cli.reference import topics
from simgrid_broker.compiled import compiled
from simgrid_broker.scenario.importers.cric import read_cric
from simgrid_broker.schema import QUEUES
from simgrid_broker.world import observe
from simgrid_broker.world.build import build
from simgrid_broker.world.from_snapshot import world_of
from simgrid_broker.world.to_snapshot import snapshot_of
from simgrid_broker.world.world import World

scenario, folder = sys.argv[1:]


@compiled
def too_little(queue, wanted):
    return queue["watchdogs_mb"] < wanted


snapshot = sb.load_snapshot(scenario).with_values({"grid.queues.EAST.watchdogs": "2 GB"})
world = world_of(snapshot)
view = observe.queues(world)
of = dict(zip(view.names, view.watchdogs_mb.tolist()))
again = sb.Snapshot.from_dict(snapshot.to_dict())
dump = f"{folder}/queues.json"
with open(dump, "w") as file:
    json.dump({"Q": {"nickname": "Q", "atlas_site": "S", "state": "ACTIVE", "watchdogs": 3000}}, file)
try:
    snapshot.with_values({"grid.queues.EAST.watchdogs": -1})
except sb.SimgridBrokerError as error:
    refused = str(error)
print(json.dumps(dict(
    written=snapshot.grid.queues["EAST"].watchdogs, back=again.grid.queues["EAST"].watchdogs,
    stored=world.arrays.queues["watchdogs_mb"].tolist(),
    seen=[of[name] for name in view.names if name.startswith("EAST")],
    asked=[bool(too_little(row, 2500.0)) for row in view.records],
    imported=read_cric(dump)[0]["queues"]["Q"]["watchdogs"], refused=refused,
    described=[row for section in topics()["queues"].sections() for row in section.rows
               if row[0].startswith("watchdogs")])))
'''


def test_a_row_in_the_sheet_is_a_key_a_column_a_view_an_import_and_a_line_of_the_reference(tmp_path):
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    sheet = copy / "schema" / "queues.py"
    before, after = sheet.read_text().split(BESIDE)
    sheet.write_text(before + ROW + BESIDE + after)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, PACKAGE.parent / "scenarios" / "snapshot.yaml", tmp_path], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.replace("Infinity", "1e999"))
    assert found["written"] == found["back"] == 2000 and set(found["seen"]) == {2000}
    assert sorted(set(found["stored"])) == [2000, float("inf")]
    assert found["asked"].count(True) == len(found["seen"])
    assert found["imported"] == 3000 and "greater than or equal to 0" in found["refused"]
    assert found["described"] == [
        ["watchdogs", "size >= 0", "MB", "0", "Memory that watchdogs leave to jobs, MB; 0 = unlimited"],
        ["watchdogs_mb", "f8", "MB", "unlimited", "CRIC watchdogs", "Memory that watchdogs leave to jobs, MB"]]
