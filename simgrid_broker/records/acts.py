"""Acts: how often each rule of the brokers, cause of ends, incident and agent has acted in a run, for the manifest."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from simgrid_broker.names import Cause, DecisionKind

ABOUT_TASKS = DecisionKind.TASK_BROKERAGE


class Acts:
    """Sums over the rows of a run, also of those that are not recorded.

    refused: (n_kinds, n_criteria + 1, 2), candidates that each rule was the first to refuse, the last ones those that
    none did, and decisions in which it kept a task from a pool or a site; ended: attempts by cause, (n_causes,).
    """

    def __init__(self, n_criteria: int):
        self.refused = np.zeros((1 + max(DecisionKind), n_criteria + 1, 2), np.int64)
        self.ended = np.zeros(1 + max(Cause), np.int64)

    def add(self, name: str, rows: np.ndarray) -> None:
        """Count rows of a table."""
        if name == "jobs":
            self.ended += np.bincount(rows["cause"], minlength=len(self.ended))
        elif name == "refusals":
            alone = np.where(rows["kind"] == ABOUT_TASKS, rows["count"], rows["pool_count"])
            n_kinds, n_rules, _ = self.refused.shape                      # the last rule is that of no refusal, -1
            place = rows["kind"].astype(np.int64) * n_rules + rows["criterion"] % n_rules
            for column, counts in enumerate((rows["count"], alone)):
                sums = np.bincount(place, counts, n_kinds * n_rules)
                self.refused[..., column] += sums.reshape(n_kinds, n_rules).astype(np.int64)

    def summary(self, criteria: Mapping[str, Any], words: tuple[str, ...]) -> dict[str, dict]:
        """The figures by name, without rules that were not asked, and causes that ended nothing.

        rules: asked, refused and alone, by broker; ends: attempts. criteria: of each broker, in order of application;
        words: the vocabulary of criteria.
        """
        rules: dict[str, dict[str, list[int]]] = {}
        for kind, steps in criteria.items():
            refused, of_kind = self.refused[DecisionKind.of(kind)], rules.setdefault(kind, {})
            asked = int(refused[:, 0].sum())
            for name in (step["criterion"] for step in steps):
                count, alone = refused[words.index(name)].tolist()
                of_kind |= {name: [asked, count, alone]} if asked else {}
                asked -= count
        ends = {cause.word: int(self.ended[cause]) for cause in Cause if self.ended[cause] and cause is not Cause.NONE}
        return dict(rules=rules, ends=ends)


def incidents_so_far(incidents: Iterable[Mapping], now_s: float) -> dict[str, list[int]]:
    """Incidents of a scenario by kind: planned, and of these those that have begun and ended."""
    found: dict[str, list[int]] = {}
    for each in incidents:
        count = found.setdefault(each["what"], [0, 0, 0])
        for place, moment in enumerate((0.0, each["at"], each.get("until"))):
            count[place] += moment is not None and moment <= now_s
    return found
