"""The recorder's eye: numbers of shares, queues, links and storages at regular times.

What lives here: the rows of the time series. What does not: anything that acts on the grid.
"""

import numpy as np

from simgrid_broker.names import JOB_QUEUED, JobStatus
from simgrid_broker.policy.shares import targets
from simgrid_broker.schema import LINK_SERIES, QUEUE_SERIES, SHARES, STORAGE_SERIES
from simgrid_broker.world import invariants, observe
from simgrid_broker.world.counts import sums_by_group
from simgrid_broker.world.groups import of_shares

S = JobStatus


def sampler(control):
    """The process that takes samples; the first at time 0, the others on the period, so that they are on the hour."""
    control.sampler = Sampler(control)
    yield _samples(control)


def _samples(control):
    while True:
        control.sampler.take()
        yield control.env.timeout(control.periods.sampler)


class Sampler:
    """Takes one sample of everything; keeps what was delivered up to the sample before."""

    def __init__(self, control):
        self.control = control
        links = control.world.arrays.links
        self.links_before = np.zeros((3, len(links)))
        self.sampled_at = None

    def take(self) -> None:
        """Write the rows of this moment and all that has ended, and check all invariants if that is wanted.

        A moment is sampled once, however often it is asked for.
        """
        control = self.control
        if self.sampled_at == control.now:
            return
        control.fabric.empty_outboxes()
        if control.validate:
            invariants.check(control.world.arrays)
        if control.world.scenario.record.series:
            by_group, by_type = sums_by_group(control.world.arrays.counts)
            for name, rows in (("shares", self._shares(by_type)), ("queues", self._queues(by_group.sum(axis=0))),
                               ("links", self._links()), ("storages", self._storages())):
                if len(rows):
                    rows["time_s"] = control.now
                    control.write(name, rows)
        self.flush_decisions()
        self.sampled_at = control.now

    def flush_decisions(self) -> None:
        """Write what the brokers have decided since the sample before."""
        control = self.control
        codes = {tag: code for code, tag in enumerate(control.world.vocabularies["tags"])}
        control.decisions.flush(control.now, codes, control.write)

    def _shares(self, by_type: np.ndarray) -> np.ndarray:
        """One row for each share and resource type; by_type: jobs, (n_groups, n_types, n_status)."""
        world = self.control.world
        arrays = world.arrays
        numbers = of_shares(by_type[None], len(arrays.hs06_milli))[0]
        running = of_shares(arrays.running_cores, len(arrays.hs06_milli))
        n_shares, n_types, _ = numbers.shape
        rows = SHARES.empty(n_shares * n_types)
        rows["share"], rows["resource_type"] = np.repeat(np.arange(n_shares), n_types), np.tile(np.arange(n_types),
                                                                                                 n_shares)
        usage = observe.share_usage(world)
        rows["target_hs06"] = np.repeat(targets(world.tree, usage)[world.tree.leaves], n_types)
        cores = running.sum(axis=0, dtype=np.int64)
        power = (running * arrays.queues["corepower"][:, None, None]).sum(axis=0)
        rows["running_cores"] = cores.ravel()
        rows["hs06"] = power.ravel()
        for name in ("running", "activated", "assigned", "transferring"):
            rows[name] = numbers[:, :, S.of(name)].ravel()
        rows["queued"] = numbers[:, :, JOB_QUEUED].sum(axis=2).ravel()
        return rows

    def _queues(self, by_status: np.ndarray) -> np.ndarray:
        """One row for each PanDA queue; by_status: jobs, (n_status, n_queues)."""
        arrays = self.control.world.arrays
        rows = QUEUE_SERIES.empty(len(arrays.queues))
        rows["queue"], rows["status"] = np.arange(len(rows)), arrays.queues["status"]
        for name in ("running", "activated", "assigned", "transferring"):
            rows[name] = by_status[S.of(name)]
        rows["running_cores"] = arrays.running_cores.sum(axis=(1, 2), dtype=np.int64)
        np.add.at(rows["workers_submitted"], arrays.pseudo_queues["queue"], arrays.pseudo_queues["n_submitted"])
        np.add.at(rows["workers_running"], arrays.pseudo_queues["queue"], arrays.pseudo_queues["n_running"])
        rows["free_cores"] = arrays.pools["free_cores"][arrays.queues["pool"]]
        return rows

    def _links(self) -> np.ndarray:
        """One row for each link with files under way or waiting, or on which something moved since the sample before.

        Only those are read in full: of most links no file is known, and nothing has changed.
        """
        world = self.control.world
        links, (_, files_before, busy_before) = world.arrays.links, self.links_before
        numbers = np.flatnonzero((links["queued_files"] > 0) | (links["files_done"] != files_before)
                                 | (links["busy_s"] != busy_before))
        links = links[numbers]
        moving = (links["active_files"] > 0) & (links["down"] == 0)
        busy_s = links["busy_s"] + np.where(moving, self.control.now - links["updated_s"], 0.0)
        done = np.array([links["bytes_done"], links["files_done"], busy_s])
        n_bytes, n_files, moved_s = done - self.links_before[:, numbers]
        self.links_before[:, numbers] = done
        busy = (n_files > 0) | (moved_s > 0) | (links["queued_files"] > 0)
        numbers, links = numbers[busy], links[busy]
        rows = LINK_SERIES.empty(len(numbers))
        rows["source"], rows["destination"] = np.divmod(numbers, len(world.arrays.sites))
        rows["queued_files"], rows["active_files"] = links["queued_files"], links["active_files"]
        rows["queued_output"] = links["queued_output"] + links["queued_express"]
        rows["mbps_hour"] = world.network.throughput(numbers)
        rows["bytes"], rows["files"] = n_bytes[busy], n_files[busy]
        if self.sampled_at is not None:
            rows["utilisation"] = moved_s[busy] / (self.control.now - self.sampled_at)
        return rows

    def _storages(self) -> np.ndarray:
        storages = self.control.world.arrays.storages
        rows = STORAGE_SERIES.empty(len(storages))
        rows["storage"] = np.arange(len(rows))
        for name in ("total_bytes", "free_bytes", "expired_bytes", "written_bytes", "deleted_bytes"):
            rows[name] = storages[name]
        return rows
