"""PanDA's data carousel: stages datasets from tape within quotas; drives read one dataset each, first come, first
served.

Source: lifecycle reference, 7.5. Simplified: a dataset lies on one tape, is read in one go, and goes on in at most 20
portions; files to a full disk wait in the drive; a drive ends a portion when an endpoint is switched off or its site
goes down, and gives it up when its tape has lost the dataset.
"""

import numpy as np
import simpy

from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.transfers.network import NO_SPACE_WAIT_S, Shipment
from simgrid_broker.ledgers.inputs import Request
from simgrid_broker.names import CLOSENESS_BLOCKED, COMPLETE, StagingStatus
from simgrid_broker.policy.tasks import data_carousel as policy
from simgrid_broker.policy.tasks.data_carousel import Config, TapeConfig
from simgrid_broker.world.columns import let_go, mount, read_from_tape, unmount
from simgrid_broker.world.data.replicas import (
    IS_OFF,
    add_staged_replica,
    expire_of,
    grow_replica_of,
    keep_until_of,
    replica_on_disk_of,
    take_space_of,
)

S = StagingStatus

KEEP_ALIVE_S = 3600.0
"""Least time between two looks at the lifetimes of rules, s; source: lifecycle reference, 2.12."""


def data_carousel(control: Control) -> Process:
    """Stage datasets, if any lies on a tape with drives."""
    if control.books.staging.has_tape:
        carousel = DataCarousel(control)
        yield from control.every(control.periods.data_carousel, carousel.cycle, "data_carousel")


class DataCarousel:
    """Drives of each storage of tape by its number, and when rules were last kept alive."""

    def __init__(self, control: Control):
        self.control, self.book = control, control.books.staging
        self.storages = list(control.world.scenario.grid.storages.values())
        self.drives = {number: simpy.Resource(control.env, storage.drives)
                       for number, storage in enumerate(self.storages) if storage.drives is not None}
        self.kept_alive_s = -np.inf

    def cycle(self) -> None:
        """Look at what has come, start requests that the quotas allow, and keep the rules of active tasks alive."""
        config = policy.config_of(self.control.cfg)
        for request in [*self.book.requests.values()]:
            self._check(request, config)
        self._stage(config)
        if self.control.now - self.kept_alive_s >= KEEP_ALIVE_S:
            self.kept_alive_s = self.control.now
            for request in self.book.requests.values():
                self._keep_alive(request)

    def _check(self, request: Request, config: Config) -> None:
        """Note what of a request is on disk; finish it, cancel it without tasks, or read again what was lost, from
        another tape if its own has lost the dataset."""
        book, now = self.book, self.control.now
        active = bool(book.live_tasks(request))
        if request.status is S.DONE:
            if not active and (now - request.finished_s > policy.DONE_S or book.is_own(request.dataset)):
                book.end(request, S.DONE, now)
            return
        if not active:
            self._cancel(request)
            return
        book.note_staged(request)
        if request.status is S.STAGING and self._part(request) >= COMPLETE:
            request.status, request.finished_s = S.DONE, now
            book.note_staged(request)
            keep_until_of(self.control.arrays, self._replica(request), now + policy.DONE_S)
        elif request.status is S.STAGING and not request.reading and not self._is_under_way(request):
            if book.tapes_of(request.dataset):
                if not self._is_on_tape(request):
                    book.choose_tape(request, config)
                self._begin(request)
            else:
                self._cancel(request)

    def _cancel(self, request: Request) -> None:
        """End a request that no active task needs, or that has no source; the lifetime of its rule is over."""
        self.book.end(request, S.CANCELLED, self.control.now)
        row, replicas = self._replica(request), self.control.arrays.replicas
        if row >= 0 and replicas["secondary"][row] and not replicas["expired"][row]:
            expire_of(self.control.arrays, row)

    def _stage(self, config: Config) -> None:
        """Start the requests of each active tape that its quota allows."""
        for name, tape in config.tapes.items():
            if not tape.active:
                continue
            own = [request for request in self.book.requests.values() if request.tape == name]
            staging = policy.files_in_staging((request.share, request.files - request.staged_files, request.to_pin)
                                              for request in own if request.status is S.STAGING)
            queued = {request.number: request for request in own if request.status is S.QUEUED}
            most = policy.quota(tape, staging)
            for number in policy.to_stage(map(self._waiting, queued.values()), most, staging):
                self._start(queued[number], tape, config)

    def _waiting(self, request: Request) -> policy.Waiting:
        """A queued request with the first in order of its tasks."""
        tasks, order = self.control.arrays.tasks, self.control.arrays.share_order.tolist()
        rank, less, share = min(policy.claim(share, order.index(share), *priorities) for share, *priorities in (
            (int(tasks["share"][row]), int(tasks["priority"][row]), int(tasks["taskpriority"][row]))
            for row in self.book.live_tasks(request)))
        request.share = share
        word = self.control.world.vocabularies["shares"][share]
        return policy.Waiting(request.number, share, rank, -less, request.files,
                              self.book.draw(request.dataset, word), request.to_pin)

    def _start(self, request: Request, tape: TapeConfig, config: Config) -> None:
        """Make the rule of a request; without a destination it stays queued."""
        world, now = self.control.world, self.control.now
        if not request.to_pin:
            name = policy.destination(self._endpoints(request), tape.destination_expression,
                                      config.excluded_destinations)
            if name is None:
                return
            request.destination = world.vocabularies["storages"].index(name)
        request.status, request.started_s = S.STAGING, now
        keep_until_of(self.control.arrays, self._made_replica(request), now + policy.STAGING_S)
        if self._part(request) < COMPLETE and not self._is_under_way(request):
            self._begin(request)

    def _endpoints(self, request: Request) -> list[policy.Endpoint]:
        """Disks that take what is moved to their sites, as destinations of a request."""
        arrays, grid, names = self.control.arrays, self.control.world.scenario.grid, []
        source = self._site(request.source)
        for number, (name, storage) in enumerate(grid.storages.items()):
            row, site = arrays.storages[number], self._site(number)
            link = arrays.links[source * len(arrays.sites) + site]
            open_ = site == source or link["closeness"] != CLOSENESS_BLOCKED
            if not storage.tape and arrays.sites["storage"][site] == number:
                names.append(policy.Endpoint(
                    name, storage.type, grid.sites[storage.site].nucleus, float(row["free_bytes"]),
                    bool(open_ and row["read_wan_off"] != IS_OFF and row["write_wan_off"] != IS_OFF),
                    self.book.draw(request.dataset, name)))
        return names

    def _begin(self, request: Request) -> None:
        """Let a request wait for a drive."""
        request.reading = True
        self.control.env.process(self._read(request))

    def _read(self, request: Request) -> Process:
        """Mount the tape of a request as soon as a drive is free, and read what is missing at its destination."""
        env = self.control.env
        with self.drives[request.source].request() as turn:
            yield turn
            if self._is_readable(request):
                request.mounting_s = env.now if np.isnan(request.mounting_s) else request.mounting_s
                mount(self.control.world, request.source)
                yield from self._read_portions(request)
                unmount(self.control.world, request.source)
                request.read_s = env.now if self._is_readable(request) else request.read_s
        request.reading = False

    def _read_portions(self, request: Request) -> Process:
        """Read what is missing of a dataset, portion by portion, while the request lasts and its tape has it."""
        env, storage = self.control.env, self.storages[request.source]
        yield from self._until_open(request)
        yield env.timeout(storage.mount_time)
        missing = 1.0 - self._part(request)
        files = max(1, round(request.files * missing))
        for number, some in enumerate(policy.portions(files)):
            size = request.bytes * missing * some / files
            yield from self._until_open(request)
            yield env.timeout(size / storage.drive_rate)
            if not self._is_readable(request):
                return
            request.read_bytes += size
            read_from_tape(self.control.world, request.source, size)
            yield from self._deliver(request, number, size, some)

    def _until_open(self, request: Request) -> Process:
        """Wait while the site of the tape is down, or an endpoint is switched off, of a request that is not over."""
        while self._is_readable(request) and not self._is_open(request):
            yield self.control.env.timeout(self.control.periods.data_carousel)

    def _is_readable(self, request: Request) -> bool:
        """True if a request is not over, and its tape has the whole dataset."""
        return request.status is S.STAGING and self._is_on_tape(request)

    def _is_on_tape(self, request: Request) -> bool:
        """True if the tape of a request has the whole dataset."""
        return self.control.world.vocabularies["storages"][request.source] in self.book.tapes_of(request.dataset)

    def _is_open(self, request: Request) -> bool:
        """True if the site of the tape is up, the tape readable over WAN, and a disk at its site writable."""
        arrays, source, destination = self.control.arrays, request.source, request.destination
        storages, site = arrays.storages, self._site(source)
        is_stopped = site == self._site(destination) and storages["write_wan_off"][destination] == IS_OFF
        return bool(arrays.sites["down"][site] == 0 and storages["read_wan_off"][source] != IS_OFF and not is_stopped)

    def _deliver(self, request: Request, number: int, size: float, files: int) -> Process:
        """Bring a portion from the drive to the destination: at its own site at once, else over the link."""
        control, source, site = self.control, self._site(request.source), self._site(request.destination)
        if source != site:
            key = int(luck.keys(self.book.key(request.dataset), np.array([number]))[0])
            shipment = Shipment(request.dataset, source, site, request.tasks[0], key, size, files)
            self.book.sent.setdefault(request.dataset, []).append(control.fabric.send_staged(shipment, control.now))
        else:
            while not take_space_of(control.arrays, request.destination, size):
                yield control.env.timeout(NO_SPACE_WAIT_S)
                if not self._is_readable(request):
                    let_go(control.world, request.source, size, passed=False)
                    return
            grow_replica_of(control.arrays, self._made_replica(request), size)
        let_go(control.world, request.source, size, passed=True)

    def _made_replica(self, request: Request) -> int:
        """Row of the replica at the destination of a request; a new one is secondary, and has no files."""
        row = self._replica(request)
        if row < 0:
            self.control.world.make_room()
            row = add_staged_replica(self.control.arrays, request.dataset, self._site(request.destination),
                                     self.control.now + policy.STAGING_S)
        return row

    def _replica(self, request: Request) -> int:
        """Row of the replica on disk at the destination of a request, -1 = there is none."""
        if request.destination < 0:
            return -1
        return int(replica_on_disk_of(self.control.arrays, request.dataset, self._site(request.destination)))

    def _part(self, request: Request) -> float:
        row = self._replica(request)
        return float(self.control.arrays.replicas["part"][row]) if row >= 0 else 0.0

    def _site(self, storage: int) -> int:
        return int(self.control.arrays.storages["site"][storage])

    def _is_under_way(self, request: Request) -> bool:
        """True if files that were read are on their way to the destination."""
        return self.book.is_under_way(request.dataset, self._site(request.destination))

    def _keep_alive(self, request: Request) -> None:
        """Extend the lifetime of the rule of an active task."""
        row, now = self._replica(request), self.control.now
        if row < 0 or not self.book.live_tasks(request):
            return
        left_s = float(self.control.arrays.replicas["expires_s"][row]) - now
        if policy.is_refreshed(left_s):
            keep_until_of(self.control.arrays, row,
                          now + (policy.DONE_S if request.status is S.DONE else policy.STAGING_S))
