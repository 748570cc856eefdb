"""Regular expressions that tasks contain."""

import re
import warnings
from functools import lru_cache


class BadPattern(ValueError):
    """A text that is no regular expression; `position` counts characters from 0, -1 = unknown."""

    def __init__(self, text: str, reason: str, position: int):
        super().__init__(f"{text!r} is not a regular expression: {reason}")
        self.text, self.reason, self.position = text, reason, position


@lru_cache(maxsize=4096)
def pattern(text: str, ignore_case: bool = False) -> re.Pattern:
    """`text` as a regular expression. Raises BadPattern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")       # what may mean something else in a later Python means this today
        try:
            return re.compile(text, re.IGNORECASE if ignore_case else 0)
        except re.error as error:
            raise BadPattern(text, error.msg, -1 if error.pos is None else error.pos) from None
        except (OverflowError, RecursionError) as error:
            raise BadPattern(text, str(error), -1) from None


def starts(text: str, value: str) -> bool:
    """Whether it matches from the start of `value`, whatever the case (GPU requirements). Raises BadPattern."""
    return pattern(text, True).match(value) is not None


def covers(text: str, value: str) -> bool:
    """Whether the expression matches all of `value`. Raises BadPattern."""
    return pattern(text).fullmatch(value) is not None
