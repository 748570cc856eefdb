"""Input that running jobs read from other sites, over the WAN and without FTS.

JEDI gives a file that is not at the site of a job the locality `remote` if the task sets allowInputWAN and the queue
has direct_access_lan and direct_access_wan; the job then waits for no dispatch dataset, and its transferType is direct.
Only the broker of production does so, and it chooses the same queues as without. The pilot looks for files at its site
first, then for replicas elsewhere. Each reading is one of the active files of the link from the source, beside the
limit of FTS, and ends with its job at the latest.

Source: brokerage reference, 0.2 and 2.6; lifecycle reference, 7.2; PanDA, jedibroker/AtlasProdJobBroker.py and
jediorder/JobGenerator.py; pilot, api/data.py.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.events import READING_DONE, schedule
from simgrid_broker.fabric.transfers.links import (
    catch_up,
    count_queued,
    let_move,
    set_due,
    settle_rate,
    take_off_active,
)
from simgrid_broker.fabric.transfers.rows import best_source, join, new_transfer
from simgrid_broker.names import Activity, Cause, TransferKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import master_bytes
from simgrid_broker.world.data.replicas import IS_OFF, is_shared
from simgrid_broker.world.rows import has_no_pieces
from simgrid_broker.world.tasks.input_files import dataset_of

NOTHING, REMOTE, WAITS = range(3)
"""Codes of JOB_FILES `reads`: all input is at its site before it starts; it reads what is not; it has done all else."""
NONE, TRANSFER_ERROR = int(Cause.NONE), int(Cause.TRANSFER_ERROR)
READING, DIRECT_READING = int(TransferKind.READING), int(Activity.DIRECT_READING)


@compiled
def may_read_remotely(world: Arrays, job):
    """True if a job of production reads input that is not at its site remotely, instead of waiting for it."""
    task = world.tasks[job["task"]]
    return (world.queues[job["queue"]]["reads_wan"] != 0 and task["allowinputwan"] != 0 and job["input_bytes"] > 0
            and not has_no_pieces(job) and (world.settings[0]["users"] >> task["label"]) & 1 == 0)


@compiled
def find_input(world: Arrays, row):
    """Find where a starting job reads what is not at its site; returns the bytes, 0 = all is there.

    Without any replica it is all of its input, from no site.
    """
    job = world.jobs[row]
    number = dataset_of(world, job["task"], job["chunk"])
    source, missing = best_source(world, job["task"], number, world.queues[job["queue"]]["site"])
    if world.datasets[number]["first_replica"] < 0:
        missing = 1.0
    job["source_site"] = source
    job["missing_bytes"] = missing * master_bytes(world, row)
    return job["missing_bytes"]


@compiled
def reads_all(job):
    """True if a started job reads all of its input; a job that is drawn to fail before does not."""
    return job["cause"] == NONE or job["cause"] == TRANSFER_ERROR


@compiled
def sends(world: Arrays, site):
    """True if others may read the files of a site: its storage is not switched off for it; -1 = no site has them."""
    if site < 0:
        return False
    storage = world.sites[site]["storage"]
    return storage < 0 or world.storages[storage]["read_wan_off"] != IS_OFF


@compiled
def begin_reading(world: Arrays, row, size, now):
    """Let a job that has started read `size` bytes from its source, one file after the other."""
    job = world.jobs[row]
    number = dataset_of(world, job["task"], job["chunk"])
    place = new_transfer(world, READING, DIRECT_READING, job["source_site"], world.queues[job["queue"]]["site"], job,
                         now)
    files = max(1, np.int32(np.ceil(size / job["input_bytes"] * job["n_input_files"])))
    join(world, place, row, size, files)
    transfer = world.transfers[place]
    if is_shared(world.datasets[number]):
        transfer["dataset"] = number
    transfer["attempt"], transfer["left_files"], transfer["left_bytes"] = 1, 1, size
    link = world.links[transfer["link"]]
    catch_up(link, now)
    link["readers"] += 1
    count_queued(world, transfer["link"], DIRECT_READING, 1)
    let_move(world, place, 1, now)
    settle_rate(world, transfer["link"])
    set_due(world, transfer["link"], now)


@compiled
def leave_link(world: Arrays, link, transfer):
    """Take a reading, which is off the list of the active transfers, from the numbers of its link."""
    transfer["width"] = 0
    link["active_files"] -= 1
    link["readers"] -= 1
    count_queued(world, transfer["link"], DIRECT_READING, -1)


@compiled
def stop_reading(world: Arrays, row, now):
    """End the reading of a job that ends; it is recorded with what was read, as a failure; returns that part."""
    job = world.jobs[row]
    place = job["transfer"]
    transfer = world.transfers[place]
    job["transfer"] = transfer["first_job"] = -1
    transfer["n_jobs"], transfer["failed_files"], transfer["ended_s"] = 0, 1, now
    if transfer["width"] == 0:                             # its last byte is on its way
        return 1.0
    link, whole = world.links[transfer["link"]], transfer["left_bytes"]
    catch_up(link, now)
    left = min(max(transfer["finish_tag"] - link["virtual"], 0.0), whole)
    take_off_active(world, link, place)
    leave_link(world, link, transfer)
    link["bytes_wasted"] += whole - left
    transfer["bytes"], transfer["left_bytes"] = whole - left, 0.0
    settle_rate(world, transfer["link"])
    set_due(world, transfer["link"], now)
    schedule(world, now, READING_DONE, place)
    return 1.0 - left / whole


@compiled
def account_for(link, transfer):
    """Count the bytes of a reading whose last byte has come as delivered, or as wasted if its job has ended."""
    link["bytes_landing"] -= transfer["left_bytes"]
    if transfer["n_jobs"] > 0:
        link["bytes_done"] += transfer["left_bytes"]
    else:
        link["bytes_wasted"] += transfer["left_bytes"]
