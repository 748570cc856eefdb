"""Files of recorded cases: a script answers each case and writes the answers, with the same words for every script."""

import argparse
import json
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from simgrid_broker.errors import SimgridBrokerError

Case = dict[str, Any]
FAILURE = "failure"
"""Key of the text of an error in the answer to a case that failed; `error` is what PanDA says of a decision."""


def answered(answer: Callable[[Case], Case], case: Case, **known: Any) -> Case:
    """`known` with the answer to a case, or with the text of its error, which is also printed, if it fails.

    Input that the package refuses is answered as PanDA answers a case in which its code raises.
    """
    try:
        return known | answer(case)
    except SimgridBrokerError as error:
        return known | dict(status="EXCEPTION", error=str(error))
    except Exception as error:
        traceback.print_exc()
        return known | {FAILURE: f"{type(error).__name__}: {error}"}


def main(description: str | None, kinds: Iterable[str], answers: Callable[..., list[Case]],
         releases: Sequence[str] = ()) -> int:
    """Read the kind and the cases that the command line names, write `answers(kind, cases)`; 1 if a case failed.

    releases: of the code that may have answered, the usual one first; the one that is named is a third argument.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("--cases", type=Path, required=True, help="file with the cases")
    parser.add_argument("--out", type=Path, required=True, help="file for the answers")
    if releases:
        parser.add_argument("--release", choices=releases, default=releases[0],
                            help="release of the code that answered, if not %(default)s")
    options = parser.parse_args()
    given = json.loads(options.cases.read_text())
    release = [options.release] if releases else []
    found = answers(options.kind, given["cases"] if isinstance(given, dict) else given, *release)
    options.out.write_text(json.dumps(found))
    return int(any(one.get(FAILURE) for one in found))
