"""Which requests, known in advance, task queues match, CPU time apart: conditions are asked once for each set."""

from collections.abc import Hashable, Sequence

import numpy as np

from simgrid_broker.policy.dirac.conditions import cpu_time, negative_condition
from simgrid_broker.policy.dirac.edition import Edition
from simgrid_broker.policy.dirac.identity import Identity
from simgrid_broker.policy.dirac.request import Request


class Acceptance:
    """The conditions of an edition for requests of several kinds, whose CPU time may change from one to the next."""

    def __init__(self, edition: Edition, requests: Sequence[Request]) -> None:
        self.edition, self.requests = edition, requests
        limited = any(request.bans for request in requests)
        self.conditions = [condition for condition in edition.conditions
                           if condition is not cpu_time and (limited or condition is not negative_condition)]
        self._known: dict[tuple[str, Hashable], np.ndarray] = {}

    def of(self, identity: Identity) -> np.ndarray:
        """Which kinds of requests a task queue matches, if they offer its CPU time, (n_kinds,) bool."""
        fields, found = identity.fields(self.edition), np.ones(len(self.requests), bool)
        for condition in self.conditions:
            key = condition.name, tuple(fields[name] for name in condition.queue)
            if key not in self._known:
                self._known[key] = np.array([condition.met(fields, request) for request in self.requests], bool)
            found &= self._known[key]
        return found
