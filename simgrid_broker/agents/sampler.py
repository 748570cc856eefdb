"""The recorder's eye: numbers of shares, queues, links and storages at regular times.

What lives here: the rows of the time series. What does not: anything that acts on the grid.
"""

import numpy as np

from simgrid_broker.names import JOB_QUEUED, JobStatus
from simgrid_broker.policy.shares import targets
from simgrid_broker.schema import LINK_SERIES, QUEUE_SERIES, SHARES, STORAGE_SERIES
from simgrid_broker.world import invariants, observe
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
            for name, rows in (("shares", self._shares()), ("queues", self._queues()), ("links", self._links()),
                               ("storages", self._storages())):
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

    def _shares(self) -> np.ndarray:
        world = self.control.world
        arrays = world.arrays
        n_shares = len(arrays.hs06_milli)
        counts, running = of_shares(arrays.counts, n_shares), of_shares(arrays.running_cores, n_shares)
        numbers = counts.sum(axis=0, dtype=np.int64)                 # (n_shares, n_types, n_status)
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

    def _queues(self) -> np.ndarray:
        arrays = self.control.world.arrays
        numbers = arrays.counts.sum(axis=(1, 2), dtype=np.int64)     # (n_queues, n_status)
        rows = QUEUE_SERIES.empty(len(arrays.queues))
        rows["queue"], rows["status"] = np.arange(len(rows)), arrays.queues["status"]
        for name in ("running", "activated", "assigned", "transferring"):
            rows[name] = numbers[:, S.of(name)]
        rows["running_cores"] = arrays.running_cores.sum(axis=(1, 2), dtype=np.int64)
        np.add.at(rows["workers_submitted"], arrays.pseudo_queues["queue"], arrays.pseudo_queues["n_submitted"])
        np.add.at(rows["workers_running"], arrays.pseudo_queues["queue"], arrays.pseudo_queues["n_running"])
        rows["free_cores"] = arrays.pools["free_cores"][arrays.queues["pool"]]
        return rows

    def _links(self) -> np.ndarray:
        links, n_sites = self.control.world.arrays.links, len(self.control.world.arrays.sites)
        moving = (links["active_files"] > 0) & (links["down"] == 0)
        busy_s = links["busy_s"] + np.where(moving, self.control.now - links["updated_s"], 0.0)
        done = np.array([links["bytes_done"], links["files_done"], busy_s])
        n_bytes, n_files, moved_s = done - self.links_before
        self.links_before = done
        busy = np.flatnonzero((n_files > 0) | (moved_s > 0) | (links["queued_files"] > 0))
        rows = LINK_SERIES.empty(len(busy))
        rows["source"], rows["destination"] = np.divmod(busy, n_sites)
        rows["queued_files"], rows["active_files"] = links["queued_files"][busy], links["active_files"][busy]
        rows["queued_output"] = (links["queued_output"] + links["queued_express"])[busy]
        rows["mbps_hour"] = self.control.world.network.throughput(busy)
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
