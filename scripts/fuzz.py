#!/usr/bin/env python3
"""Run random scenarios of all features, check them, and reduce what fails to a few lines of YAML.

    scripts/fuzz.py --minutes 10                    as many scenarios as fit into ten minutes, from seed 0 on
    scripts/fuzz.py --seeds 0-999 --keep fuzzed     a thousand scenarios; a folder keeps a log, and those that fail
    scripts/fuzz.py --reduce fuzzed/17.yaml         the smallest scenario that fails in the same way

A scenario is made from the schema: random keys of all parts, incidents and keys of gdpconfig over a small grid with
work, mended by what `check` says until it accepts them. It is run twice with all invariants checked, in two processes
that hash texts differently, of which in one agents look even where nothing that they read has changed, the second time
from what the first resolved; the tables must be the same byte for byte, must not contradict each other, and the report
must be written. What `check` accepts must run; what it refuses must be refused with a sentence. Each seed is made for
three to six lines of a table, printed at the end, which says how often each agent, incident, command, worker mode,
dispatcher, edition, policy, kind of job of event service and key by which slots end early has acted.

The log of a folder lets the same command go on where it ended: seeds that passed are not run again.

Exit status 1 if a scenario failed, or many runs were cut short. A run is cut short at 12 s or 1 GiB and checked as far
as it came; a process that does not answer within 90 s is ended, which is a failure.
"""

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from digest_tables import differences, install_examples
from fuzzing import acts, cases
from fuzzing.cases import Outcome
from fuzzing.reduction import Trial, reduced
from fuzzing.workers import Died, Task, answers
from tqdm import tqdm

from simgrid_broker.engine import STEPS

ROOT = Path(__file__).resolve().parents[1]
REPORTED = 4
"""Of so many scenarios the report of one is written, and all its agents are watched, which takes time; in the others
those agents that the scenario is made for."""
LOG = "log.jsonl"
"""File in the folder that is kept: what is known of a seed in each line, the last of which counts."""
LEAST_WHOLE = 0.8
"""Part of the scenarios that must run to their end within the limits."""
WANTED = 10
"""Acts of everything that can act in a thousand scenarios."""


def tasks_of(seeds: Iterable[int], end: float) -> Iterator[Task]:
    """The first run of each seed until a time."""
    for seed in seeds:
        if time.monotonic() > end:
            return
        yield Task(cases.made, (seed, seed % REPORTED == 0), seed)


def follow(task: Task, answer: Any, worker: int) -> list[Task]:
    """The second run of a scenario that passed the first, by another worker."""
    if task.call is cases.again or isinstance(answer, Died) or answer.failure:
        return []
    return [Task(cases.again, (answer.text, answer.steps), answer, worker)]


def judged(task: Task, answer: Any) -> Outcome | None:
    """The outcome of a scenario once it is known; None while its second run is to come."""
    if task.call is cases.made and isinstance(answer, Outcome) and not answer.failure:
        return None
    before = task.about if isinstance(task.about, Outcome) else Outcome(task.about)
    if isinstance(answer, Died):
        before.failure = before.details = str(answer)
    elif task.call is cases.made:
        return answer
    elif answer.failure:
        before.failure, before.details = f"second run: {answer.failure}", answer.details
    elif unlike := [*differences(before.digests, answer.digests)]:
        before.failure, before.details = f"two runs differ: {unlike[0].partition(':')[0]}", "\n".join(unlike)
    return before


def table_of(counts: Counter[str], number: int) -> Iterator[str]:
    """Lines of what acted how often, with the number of those that are too rare."""
    names = sorted(acts.all_acts(), key=lambda name: (counts[name], name))
    rare = [name for name in names if counts[name] < WANTED]
    yield f"Acts in {number} scenarios (of an agent: at most {acts.ENOUGH} in each)"
    width = max(map(len, names))
    names.sort()
    half = (len(names) + 1) // 2
    for left, right in zip(names[:half], [*names[half:], ""], strict=False):
        yield f"  {left:{width}} {counts[left]:8,}   " + (f"{right:{width}} {counts[right]:8,}" if right else "")
    yield f"{len(rare)} of {len(names)} acted less than {WANTED} times{': ' + ', '.join(rare) if rare else ''}"


class Log:
    """Outcome of each seed: failure, acts, whether it ran to its end; kept in a folder if there is one."""

    def __init__(self, folder: Path | None):
        self.folder, self.seeds = folder, dict[int, dict[str, Any]]()
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            self.path = folder / LOG
            for line in self.path.read_text().splitlines() if self.path.exists() else ():
                self.seeds[json.loads(line)["seed"]] = json.loads(line)

    def is_to_run(self, seed: int) -> bool:
        """True unless a seed has passed before."""
        return seed not in self.seeds or bool(self.seeds[seed]["failure"])

    def add(self, outcome: Outcome) -> None:
        """Note an outcome; a scenario that failed is written, with the message as a comment."""
        known = dict(seed=outcome.seed, failure=outcome.failure, whole=outcome.steps == STEPS,
                     seconds=round(outcome.seconds, 2), acts={name: int(n) for name, n in outcome.acts.items() if n})
        self.seeds[outcome.seed] = known
        if self.folder:
            with self.path.open("a") as file:
                file.write(json.dumps(known) + "\n")
            if outcome.failure:
                said = "".join(f"# {line}\n" for line in (outcome.failure, *outcome.details.splitlines()))
                (self.folder / f"{outcome.seed}.yaml").write_text(said + outcome.text)

    def print(self) -> bool:
        """Print the table and what failed; returns whether all passed, and so many ran to their end that it means much.
        """
        known = self.seeds.values()
        failures = Counter(one["failure"] for one in known if one["failure"])
        print(*table_of(sum((Counter(one["acts"]) for one in known), Counter()), len(known)), sep="\n")
        whole = sum(one["whole"] for one in known)
        few = ", which are too few: the others were cut short" if whole < LEAST_WHOLE * len(known) else ""
        print(f"{len(known)} scenarios, {sum(failures.values())} failed, {whole} ran to their end{few}")
        for failure, times in failures.most_common():
            print(f"  {times:4}  {failure}")
        return not failures and not few


def fuzz(options: argparse.Namespace, paths: list[str]) -> int:
    """Run the scenarios, until Ctrl-C, and print what failed, and the table."""
    begun, log = time.monotonic(), Log(options.keep)
    end = begun + 60 * options.minutes if options.minutes else float("inf")
    seeds = range(options.seeds[0], options.seeds[1] + 1) if options.seeds else count()
    left = [*filter(log.is_to_run, seeds)] if isinstance(seeds, range) else filter(log.is_to_run, seeds)
    with suppress(KeyboardInterrupt), tqdm(total=len(left) if isinstance(left, list) else None, unit="scenario",
              disable=not sys.stderr.isatty()) as bar:
        for task, answer in answers(tasks_of(left, end), follow, options.workers, paths):
            if (outcome := judged(task, answer)) is not None:
                bar.update()
                log.add(outcome)
                if outcome.failure:
                    bar.write(f"seed {outcome.seed}: {outcome.failure}")
    passed = log.print()
    print(f"{(time.monotonic() - begun) / 60:.1f} min")
    return int(not passed)


def first_and_last(text: str) -> tuple[int, int]:
    """A range of seeds, such as 0-99, or one seed."""
    if not re.fullmatch(r"\d+(-\d+)?", text):
        raise argparse.ArgumentTypeError("expected a seed or a range of seeds, such as 0-99")
    first, _, last = text.partition("-")
    if int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"the last seed, {last}, is before the first, {first}")
    return int(first), int(last or first)


def main() -> int:
    """Fuzz, or reduce one scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=first_and_last, metavar="A-B", help="seeds; default: from 0 on")
    parser.add_argument("--minutes", type=float, metavar="N", help="time after which no scenario is begun")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for the log, and scenarios that fail")
    parser.add_argument("--reduce", type=Path, metavar="FILE", help="reduce a scenario that fails, and print it")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="processes at work at once; default: one a core")
    options = parser.parse_args()
    if not (options.seeds or options.minutes or options.reduce):
        parser.error("give --seeds, --minutes or --reduce")
    with TemporaryDirectory() as folder:
        install_examples(Path(folder))
        paths = [str(ROOT), folder]
        sys.path[:0] = paths
        if options.reduce:
            print(reduced(options.reduce.read_text(), Trial(paths).failure))
            return 0
        return fuzz(options, paths)


if __name__ == "__main__":
    sys.exit(main())
