"""Storages of a nucleus for the output of a task, by storage token; source: brokerage reference, 1.2 (T5)."""

import re
from collections.abc import Iterable, Sequence

DISTRIBUTED, DESTINATION = "ddd:", "dst:"
"""Beginnings of tokens of datasets that stay where they are made, and that go to a storage."""
NO_STORAGE = -1


def wanted(tokens: Iterable[str]) -> tuple[str, ...]:
    """What the output needs of a nucleus: each token once, without those of datasets that stay distributed."""
    return tuple(dict.fromkeys(token.removeprefix(DESTINATION) for token in tokens
                               if not token.startswith(DISTRIBUTED)))


def matching(token: str, storages: Sequence[tuple[str, str]]) -> int:
    """Position of the storage for a token among (name, type) pairs, NO_STORAGE if none fits.

    That is the one of this name, else the first whose name matches the token as a regular expression or whose type is
    the token without ATLAS.
    """
    kind = token.replace("ATLAS", "", 1)
    names = [name for name, _ in storages]
    if token in names:
        return names.index(token)
    return next((place for place, (name, its_type) in enumerate(storages)
                 if re.search(token, name) or its_type == kind), NO_STORAGE)
