#!/usr/bin/env python3
"""Draw the picture of README.md from a real run: delivered power by share over the ATLAS day.

    scripts/draw_readme_picture.py                             simulate scenarios/atlas_day.yaml and take its picture
    scripts/draw_readme_picture.py results/atlas_day/seed-1    take the picture of a run that is there

What lives here: nothing but the choice of the picture. What does not: its drawing (report).
"""

import sys
import tempfile
from pathlib import Path

import simgrid_broker as sb
from simgrid_broker.records import write_whole

ROOT = Path(__file__).resolve().parents[1]
PICTURE = "shares_stacked.png"


def main(arguments: list[str]) -> None:
    """Take the picture of the run that is named, or of one that is made for it."""
    with tempfile.TemporaryDirectory() as results:
        if arguments:
            run = sb.read_run(arguments[0])
        else:
            run = sb.simulate(sb.load_scenario(ROOT / "scenarios" / "atlas_day.yaml"), out=results)
        picture = sb.write_report(run).parent / "plots" / PICTURE
        print(write_whole(ROOT / "docs" / "img" / "atlas_day_shares.png", picture.read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1:])
