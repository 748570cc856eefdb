"""An attribute is one row: a made-up one of a queue or a task, added to a copy of the package, arrives everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import simgrid_broker

PACKAGE = Path(simgrid_broker.__file__).parent
SCENARIOS = PACKAGE.parent / "scenarios"
ROW = ('    watchdogs: Megabytes = attribute(0, "Memory that watchdogs leave to jobs, MB", ge=0, unit="MB", zero=inf, '
       'seen="f8")\n')
BESIDE = "    maxtime: Seconds = attribute("
PROGRAM = '''
import json, sys
import numpy as np
import simgrid_broker as sb
from simgrid_broker import views
from simgrid_broker.cli.describe import topics
from simgrid_broker.compiled import compiled
from simgrid_broker.scenario.importers.cric import read_cric
from simgrid_broker.schema.queues import QUEUES
from simgrid_broker.world.views import observe
from simgrid_broker.world.build import build
from simgrid_broker.world.snapshot.reading import world_of
from simgrid_broker.world.snapshot.writing import snapshot_of
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


TASK_ROW = ('    maxLumiBlocks: int = number(0, "Most lumi blocks of a job", ge=0, unit="files", seen="i8", '
            'recorded=False)\n')
BESIDE_TASK_ROW = "    maxCoreCount: int = number("
TASK_PROGRAM = '''
import json, sys
import simgrid_broker as sb
from simgrid_broker.cli.describe import topics
from simgrid_broker.policy.brokerage.production.question import task_record
from simgrid_broker.scenario import in_force
from simgrid_broker.scenario.work.synthetic import task_list
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.views import observe
from simgrid_broker.world.snapshot.reading import world_of
from simgrid_broker.world.snapshot.tasks import claims
from simgrid_broker.scenario.snapshot import SnapshotTask

snapshot_file, scenario_file = sys.argv[1:]
snapshot = sb.load_snapshot(snapshot_file).with_values({"tasks.102.maxLumiBlocks": 7})
world = world_of(snapshot)
view = observe.task(world, 1)
scenario = sb.load_scenario(scenario_file).with_values({"workload.campaigns[0].maxLumiBlocks": 5})
try:
    snapshot.with_values({"tasks.102.maxLumiBlocks": -1})
except sb.SimgridBrokerError as error:
    refused = str(error)
print(json.dumps(dict(
    seen=view.maxlumiblocks, other=observe.task(world, 0).maxlumiblocks, 
    again=claims(SnapshotTask, observe.values_of(world.arrays.tasks, 1), world.vocabularies)["maxLumiBlocks"],
    asked=int(task_record(view, Gdpconfig(in_force(snapshot)), "documented")["maxlumiblocks"][0]),
    drawn=sorted(set(task_list(scenario).rows["maxlumiblocks"].tolist())), refused=refused,
    described=[row for name in ("campaigns", "tasks") for section in topics()[name].sections()
               for row in section.rows if row[0].lower() == "maxlumiblocks"])))
'''


def found_in_a_copy(tmp_path, sheet, row, beside, program, *arguments):
    """What a program prints of a copy of the package with one more row in a sheet, before the row `beside`."""
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before, after = (copy / "schema" / sheet).read_text().split(beside)
    (copy / "schema" / sheet).write_text(before + row + beside + after)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.replace("Infinity", "1e999"))


def test_a_row_in_the_sheet_is_a_key_a_column_a_view_an_import_and_a_line_of_the_reference(tmp_path):
    found = found_in_a_copy(tmp_path, "queues.py", ROW, BESIDE, PROGRAM, SCENARIOS / "snapshot.yaml", tmp_path)
    assert found["written"] == found["back"] == 2000 and set(found["seen"]) == {2000}
    assert sorted(set(found["stored"])) == [2000, float("inf")]
    assert found["asked"].count(True) == len(found["seen"])
    assert found["imported"] == 3000 and "greater than or equal to 0" in found["refused"]
    assert found["described"] == [
        ["watchdogs", "size >= 0", "MB", "0", "Memory that watchdogs leave to jobs, MB; 0 = unlimited"],
        ["watchdogs_mb", "f8", "MB", "unlimited", "CRIC watchdogs", "Memory that watchdogs leave to jobs, MB"]]


def test_a_row_of_a_task_is_a_key_a_column_a_view_a_record_of_rules_and_both_directions_of_a_snapshot(tmp_path):
    found = found_in_a_copy(tmp_path, "tasks.py", TASK_ROW, BESIDE_TASK_ROW, TASK_PROGRAM,
                            SCENARIOS / "snapshot.yaml", SCENARIOS / "minimal.yaml")
    assert (found["seen"], found["other"], found["asked"], found["again"]) == (7, 0, 7, 7)
    assert found["drawn"] == [0, 5] and "greater than or equal to 0" in found["refused"]
    assert found["described"] == [
        ["maxLumiBlocks", "whole number >= 0, <= 10000", "", "0", "Most lumi blocks of a job"],
        ["maxlumiblocks", "i2", "files", "zero", "JEDI task parameter maxLumiBlocks", "Most lumi blocks of a job"]]
