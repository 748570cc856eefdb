"""Whole commands as users start them: byte code kept, each in a process of its own; optionally against other sources.

`cpu_seconds` is the time of the process, its threads and its children; `seconds` is wall-clock time.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from benchmark_cases.measures import ATLAS, ROOT

MODULE = ("-m", "simgrid_broker")
SIMULATE = """import sys, simgrid_broker
scenario = simgrid_broker.load_scenario(sys.argv[1], overrides=["duration=18h", "warm_up=0"])
simgrid_broker.simulate(scenario, folder=sys.argv[2])
"""
IMPORTS = """import sys
from simgrid_broker.cli import main
sys.argv = ["simgrid-broker", "run", "--help"]
try:
    main()
except SystemExit:
    import simgrid_broker.advice, simgrid_broker.engine
"""
"""The command line as it sets up its process, and what `run` imports."""
ANSWERS = {"check_minimal": ("check", "scenarios/minimal.yaml"), "check_atlas": ("check", "scenarios/atlas_day.yaml"),
           "broker": ("broker", "scenarios/snapshot.yaml", "--task", "102"), "explain": ("explain", "{run}"),
           "describe": ("describe", "-cap"), "gdpconfig": ("gdpconfig", "cap_rt"), "help": ("--help",),
           "report": ("report", "{run}")}
"""Commands whose answer a user waits for; {run}: one of minimal.yaml."""
MEMBERS = 20
N_RECORDED, SLOTS, LOAD, MEAN_RUNTIME_S, USERS, EXECUTABLES = 10_000, 200, 0.9, 3600.0, 40, 3
ONE_SITE = f"""name: one
duration: 80h
grid:
  sites: {{A: {{tier: 2, cores: {SLOTS}, nucleus: true, failure_rate: 0}}}}
  queues: {{A: {{atlas_site: A, type: unified, corepower: 10, num_slots: {SLOTS}}}}}
  storages: {{A_D: {{site: A, total: 10 PB, free: 10 PB}}}}
shares: [{{name: All, value: 1}}]
workload: {{trace: {{file: trace.swf}}}}
"""
LATER = ("lost_heartbeats", "stage_out_errors")
"""Keys of sites that the scenario at ATLAS scale sets to 0: they turn off what came after its first figures."""
RATIOS = {"ratio_to_against": "cpu_seconds", "ratio_to_against_by_job": "cpu_us_per_job",
          "ratio_to_against_by_event": "cpu_us_per_event"}
"""Ratios to other sources, and the figures of which they are made."""
Measured = dict[str, float]
"""cpu_seconds, seconds and peak_mib of a command."""


@cache
def _scratch() -> tempfile.TemporaryDirectory:
    """Folder of byte code, and of the compiled code of other sources, as long as the benchmark runs."""
    return tempfile.TemporaryDirectory()


def sources(name: str) -> Path:
    """The folder of other sources: `name` itself, or the commit of that name unpacked, with an environment of its own.

    Raises ValueError if it is neither a folder nor a commit.
    """
    if Path(name).is_dir():
        return Path(name).resolve()
    folder = Path(_scratch().name) / "commit"
    folder.mkdir()
    archive = subprocess.run(["git", "-C", ROOT, "archive", name], capture_output=True)
    if archive.returncode:
        raise ValueError(f"{name} is neither a folder nor a commit: {archive.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    install = "source scripts/environment.sh; make_environment . installed"
    subprocess.run(["bash", "-c", install], cwd=folder, check=True)
    return folder


def interpreter(checkout: Path) -> str:
    """Python of the environment of other sources if they have one, else the one that runs the benchmark."""
    own = checkout / ".venv" / "bin" / "python"
    return str(own) if checkout != ROOT and own.exists() else sys.executable


def command(words: Sequence[str], checkout: Path = ROOT, cache_folder: Path | None = None) -> Measured:
    """Run Python with some words on the sources of a checkout; raises RuntimeError if it fails.

    cache_folder: of compiled code, default the machine's own for these sources. The peak of memory is that of the
    benchmark itself if this was higher before: Linux counts from the moment at which a process is divided.
    """
    kept = Path(_scratch().name)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(kept / "bytecode")}
    if cache_folder or checkout != ROOT:
        variables["SIMGRID_BROKER_CACHE"] = str(cache_folder or kept / "other")
        variables["HOME"] = str(cache_folder or kept)          # older sources keep compiled code there
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen([interpreter(checkout), *words], env=variables, cwd=checkout,
                                   stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        seconds, process.returncode = time.perf_counter() - began, os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{' '.join(words)} in {checkout}: {said.read().decode()[-2000:]}")
    return {"cpu_seconds": used.ru_utime + used.ru_stime, "seconds": seconds, "peak_mib": used.ru_maxrss / 1024}


def _run(scenario: Path | str, out: Path, *more: str) -> tuple[str, ...]:
    return (*MODULE, "run", str(scenario), "--quiet", "--out", str(out), *more)


def alternated(measure: Callable[[Path], Measured], against: Path | None, times: int) -> Measured:
    """Medians of `times` measurements after one that is not counted; with other sources, both in alternation.

    The figures of the other sources begin with `against_`; the ratios to them are those of medians of processor times,
    and where they are known of processor times by ended job and by event. With several pairs the smallest and largest
    ratio of a pair stand beside each.
    """
    measured: dict[Path, list[Measured]] = {checkout: [] for checkout in (ROOT, against) if checkout is not None}
    for _ in range(times + 1):
        for checkout, figures in measured.items():
            figures.append(measure(checkout))
    medians = {checkout: {name: statistics.median(each[name] for each in figures[1:]) for name in figures[0]}
               for checkout, figures in measured.items()}
    if against is None:
        return medians[ROOT]
    ratios: Measured = {}
    for ratio, name in RATIOS.items():
        if name in medians[ROOT]:
            pairs = [ours[name] / theirs[name] for ours, theirs in zip(*measured.values(), strict=True)][1:]
            ratios[ratio] = medians[ROOT][name] / medians[against][name]
            ratios |= {f"{ratio}_from": min(pairs), f"{ratio}_to": max(pairs)} if times > 1 else {}
    return medians[ROOT] | {f"against_{name}": value for name, value in medians[against].items()} | ratios


def atlas_for(checkout: Path, folder: Path) -> Path:
    """The scenario of runs at ATLAS scale as the sources of a checkout know it, if need be written into a folder.

    Keys of `LATER` are left out that those sources do not know: the work is the same.
    """
    known = "".join(file.read_text() for file in (checkout / "simgrid_broker" / "schema").glob("*.py"))
    unknown = [key for key in LATER if key not in known]
    if not unknown:
        return ATLAS
    values = yaml.safe_load(ATLAS.read_text())
    for site in values["grid"]["sites"].values():
        for key in unknown:
            if site.pop(key):
                raise ValueError(f"{checkout} does not know {key}, which is not 0 in {ATLAS}")
    (folder / ATLAS.name).write_text(yaml.safe_dump(values, sort_keys=False))
    return folder / ATLAS.name


def minimal(against: Path | None = None) -> Measured:
    """`run scenarios/minimal.yaml` with compiled code at hand; also without plots, and without a report."""
    with tempfile.TemporaryDirectory() as folder:
        whole = alternated(lambda checkout: command(_run("scenarios/minimal.yaml", Path(folder)), checkout), against, 3)
        parts = {name: alternated(lambda checkout: command(
            _run("scenarios/minimal.yaml", Path(folder), option), checkout), None, 3)["cpu_seconds"]  # noqa: B023
            for name, option in (("cpu_seconds_no_plots", "--no-plots"), ("cpu_seconds_no_report", "--no-report"))}
    return whole | parts


def report() -> Measured:
    """The report of `atlas_day.yaml`: its bytes, the command that writes it, its first curve where a browser is."""
    with tempfile.TemporaryDirectory() as folder:
        command(_run("scenarios/atlas_day.yaml", Path(folder), "--no-report"), ROOT)
        run = Path(folder) / "atlas_day" / "seed-1"
        taken = command((*MODULE, "report", str(run)), ROOT)
        figures = {name: taken[name] for name in ("cpu_seconds", "peak_mib")}
        size = {"megabytes": (run / "report.html").stat().st_size / 1e6}
        return figures | size | _first_curve(run / "report.html")


def _first_curve(page: Path) -> Measured:
    """Seconds until a new tab of an installed Chromium, opened at the first curve, has painted it; median of five."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return {}
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"] * (os.getuid() == 0))
        painted = []
        for _ in range(5):
            tab = chromium.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(f"{page.as_uri()}#shares")
            tab.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            painted.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1e3)
            tab.close()
        chromium.close()
    return {"first_curve_seconds": statistics.median(painted)}


def waiting(against: Path | None = None) -> Measured:
    """The imports of `run`, commands that answer at once, the report of minimal.yaml, and a member of `replicate`."""
    figures: Measured = {}

    def take(name: str, words: Callable[[Path], Sequence[str]], times: int = 5) -> Measured:
        found = alternated(lambda checkout: command(words(checkout), checkout), against, times)
        figures.update({f"{name}_{key}": value for key, value in found.items() if key == "cpu_seconds" or against})
        return found
    with tempfile.TemporaryDirectory() as folder:
        runs = {checkout: Path(folder) / str(place) for place, checkout in enumerate({ROOT, against or ROOT})}
        for checkout, out in runs.items():
            command(_run("scenarios/minimal.yaml", out, "--no-report"), checkout)
        take("imports", lambda checkout: ("-c", IMPORTS))
        for name, words in ANSWERS.items():
            take(name, lambda checkout: [*MODULE, *(                                          # noqa: B023
                word.format(run=runs[checkout] / "minimal" / "seed-1") for word in words)])   # noqa: B023
        figures["member_cpu_seconds"] = take("replicate", lambda checkout: (
            *MODULE, "replicate", "scenarios/quickstart.yaml", "--seeds", str(MEMBERS), "--out",
            tempfile.mkdtemp(dir=folder)), 1)["cpu_seconds"] / MEMBERS
    return figures


def first_run(against: Path | None = None) -> Measured:
    """`run scenarios/minimal.yaml` on a machine that holds no compiled code, but byte code."""
    def measure(checkout: Path) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            return command(_run("scenarios/minimal.yaml", Path(folder) / "out"), checkout, Path(folder))
    return alternated(measure, against, 1)


def one_job_tasks(against: Path | None = None) -> dict[str, float]:
    """10 000 recorded one-core jobs on one site of 200 slots: a task each, grouped into tasks, and without tasks."""
    ways = {"": ["workload.trace.group_by=[record]"], "grouped_": [], "as_jobs_": ["workload.trace.as=jobs"]}
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        scenario = one_site(Path(folder))
        for way, settings in ways.items():
            options = [word for setting in settings for word in ("--set", setting)]
            figures = alternated(lambda checkout: command(
                _run(scenario, Path(folder) / "out", *options), checkout), against, 1)    # noqa: B023
            found |= {way + name: value for name, value in figures.items()}
    return found | {"cpu_us_per_job": found["cpu_seconds"] / N_RECORDED * 1e6}


def one_site(folder: Path) -> Path:
    """Write a trace and its scenario into a folder, and return the path of the scenario."""
    draw = np.random.default_rng(1)
    runtime = np.maximum(1, np.round(draw.lognormal(np.log(MEAN_RUNTIME_S) - 0.5, 1.0, N_RECORDED)))
    last = runtime.sum() / (SLOTS * LOAD)
    submitted = np.sort(np.round(draw.uniform(0, last, N_RECORDED)))
    user, program = draw.integers(1, USERS + 1, N_RECORDED), draw.integers(1, EXECUTABLES + 1, N_RECORDED)
    lines = [f"{k + 1} {submitted[k] - submitted[0]:.0f} 0 {runtime[k]:.0f} 1 -1 -1 1 -1 -1 1 {user[k]} "
             f"{user[k] % 5 + 1} {program[k]} 1 1 -1 -1" for k in range(N_RECORDED)]
    (folder / "trace.swf").write_text("; UnixStartTime: 0\n" + "\n".join(lines) + "\n")
    (folder / "one.yaml").write_text(ONE_SITE)
    return folder / "one.yaml"


def atlas_day(against: Path | None = None) -> Measured:
    """The whole command on the ATLAS day: memory, and time with the report."""
    def measure(checkout: Path) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            return command(_run(atlas_for(checkout, Path(folder)), Path(folder) / "out"), checkout)
    return alternated(measure, against, 1)


def whole_run(against: Path | None = None) -> Measured:
    """18 h at ATLAS scale from loading to closing, without a report; times also by ended attempt, us."""
    def measure(checkout: Path) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            used = command(("-c", SIMULATE, str(atlas_for(checkout, Path(folder))), str(run)), checkout)
            jobs = json.loads((run / "manifest.json").read_text())["counters"]["jobs_ended"]
        return used | {"jobs": jobs, "cpu_us_per_job": used["cpu_seconds"] / jobs * 1e6,
                       "us_per_job": used["seconds"] / jobs * 1e6}
    return alternated(measure, against, 1)
