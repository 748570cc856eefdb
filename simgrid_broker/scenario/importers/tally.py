"""Remarks of an import, counted instead of one line for each case; a remark never stops an import."""

from collections.abc import Iterable

N_EXAMPLES = 3
"""Names that a counted remark shows."""


class Tally:
    """Collects remarks in the order in which they first come up."""

    def __init__(self):
        self._examples: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def say(self, text: str) -> None:
        """Make a remark that is not counted."""
        self._counts.setdefault(text, 0)

    def count(self, what: str, example: object) -> None:
        """Count one case of `what`, a plural such as "queues without storages"."""
        self.count_all(what, (example,))

    def count_all(self, what: str, examples: Iterable[object]) -> None:
        """Count each of `examples` as a case of `what`."""
        for example in examples:
            shown = self._examples.setdefault(what, [])
            self._counts[what] = self._counts.get(what, 0) + 1
            if len(shown) < N_EXAMPLES:
                shown.append(str(example))

    def remarks(self) -> list[str]:
        """One sentence for each remark: "queues without storages: 12, for example A, B, C"."""
        return [self._sentence(what, count) for what, count in self._counts.items()]

    def _sentence(self, what: str, count: int) -> str:
        if count == 0:
            return what
        names = ", ".join(self._examples[what])
        return f"{what}: {count} ({names})" if count <= N_EXAMPLES else f"{what}: {count}, for example {names}"
