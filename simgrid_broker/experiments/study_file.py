"""Files that describe studies: what is varied, how points are chosen, and what is wanted."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from simgrid_broker.errors import Problem, ScenarioError, StudyError, wrong_type
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.scenario.loading.documents import located, read_yaml, text_of
from simgrid_broker.scenario.loading.origins import Draft, Key, Origin, Whole, in_order, problems_of
from simgrid_broker.scenario.loading.validate import validated
from simgrid_broker.schema.part import Part

S = TypeVar("S", bound="StudyFile")
SEEDS_WANTED = "seeds: expected a number of seeds above 0, such as 20, or a range, such as 5-9"
MOST_SEEDS = 100_000
"""Seeds of a study, of which each is a run: a text that names more is a slip."""
MOST_REFUSED = 8
"""Impossible points of a study that a refusal names."""


def seeds_of(text: int | str | Iterable[int]) -> tuple[int, ...]:
    """Seeds written as a number (3 = 1 to 3), a range (`5-9`), several of these with commas between them, or a list.

    Raises ValueError.
    """
    if not isinstance(text, int | str):
        text = ",".join([f"{seed}-{seed}" for seed in text] if isinstance(text, Iterable) else [str(text)])
    chosen: list[int] = []
    parts = str(text).split(",")
    for part in parts:
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise ValueError(SEEDS_WANTED)
        alone = len(parts) == 1 and not dash
        seeds = range(1, int(first) + 1) if alone else range(int(first), int(last or first) + 1)
        if len(chosen) + seeds.stop - seeds.start > MOST_SEEDS:
            raise ValueError(f"seeds: expected at most {MOST_SEEDS:,}")
        chosen += seeds
    if not chosen:
        raise ValueError(SEEDS_WANTED)
    return tuple(dict.fromkeys(chosen))


def _checked_seeds(value: Any) -> str:
    seeds_of(value)
    return str(value)


def _as_axis(value: Any) -> Any:
    return {"values": value} if isinstance(value, (list, tuple)) else value


Seeds = Annotated[str, BeforeValidator(_checked_seeds)]


class Axis(Part):
    """Values over which one setting is varied: a list, or a range of numbers."""

    values: tuple[Any, ...] | None = Field(None, min_length=1, description="The values; a list alone says the same")
    low: float | None = Field(None, alias="from", description="Smallest number of a range")
    high: float | None = Field(None, alias="to", description="Largest number of a range")
    steps: int | None = Field(None, ge=2, le=1000, description="Numbers of a range in a grid; default: 5")
    scale: Literal["linear", "log"] = Field("linear", description="Whether equal steps are equal differences or ratios")
    whole: bool = Field(False, description="Whether the numbers of a range are whole")

    @model_validator(mode="after")
    def one_of_both(self) -> "Axis":
        """Refuse anything but a list of values or a range."""
        if (self.values is None) == (self.low is None or self.high is None):
            raise ValueError("expected a list of values, or a range {from: ..., to: ...}")
        if self.values is not None and (self.low is not None or self.high is not None or self.steps is not None
                                        or self.scale == "log" or self.whole):
            raise ValueError("a list of values has no from, to, steps, scale or whole")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("`from` must be below `to`")
        if self.scale == "log" and not (self.low or 0) > 0:
            raise ValueError("a logarithmic scale begins above 0")
        return self


class Limit(Part):
    """A constraint on a figure."""

    at_least: float | None = Field(None, description="Smallest allowed mean")
    at_most: float | None = Field(None, description="Largest allowed mean")

    @model_validator(mode="after")
    def limits(self) -> "Limit":
        """Refuse a constraint without a limit."""
        if self.at_least is None and self.at_most is None:
            raise ValueError("expected at_least or at_most")
        return self


class StudyFile(Whole):
    """Keys that every study file may have."""

    error = StudyError

    scenario: Path = Field(description="Scenario file, relative to the study file")
    settings: dict[str, Any] = Field(default_factory=dict, alias="set", description="Settings of all points, by dotted "
                                     "key")
    vary: dict[str, Annotated[Axis, BeforeValidator(_as_axis)]] = Field(
        min_length=1, description="Settings that are varied, by dotted key: a list of values, or a range")
    seeds: Seeds = Field("5", description="Seeds of each point: a number (seeds 1 to that), or a range such as 5-9")


class SweepFile(StudyFile):
    """Combinations of settings, each run with several seeds."""

    design: Literal["grid", "list", "latin_hypercube", "sobol"] = Field(
        "grid", description="grid: all combinations; list: the first values together, then the second, ...; "
        "latin_hypercube, sobol: `points` points that fill the space evenly")
    points: int | None = Field(None, ge=1, le=100_000, description="Points of a Latin hypercube or of a Sobol "
                               "sequence, best a power of 2; default: 16")
    figures: tuple[str, ...] = Field((), description="Figures that the report shows; default: the headlines")

    @model_validator(mode="after")
    def points_are_of_a_sample(self) -> "SweepFile":
        """Refuse keys that the design does not read."""
        if self.points is not None and self.design in ("grid", "list"):
            raise ValueError(f"`points` has no effect in a {self.design}: its number of points follows from the values")
        steps = [key for key, axis in self.vary.items() if axis.steps is not None]
        if steps and self.design in ("latin_hypercube", "sobol"):
            raise ValueError(f"`steps` of {steps[0]} has no effect in a sample, which has `points`")
        if self.design == "list":
            lengths = {key: len(axis.values) if axis.values else axis.steps or 5 for key, axis in self.vary.items()}
            if len(set(lengths.values())) > 1:
                raise ValueError("a list needs equally many values of each setting: " + ", ".join(
                    f"{key} has {number}" for key, number in lengths.items()))
        return self


FEWEST_POINTS = {"morris": 8, "sobol": 64}
"""Default trajectories and base samples, and the fewest of which errors are to be trusted: intervals of the indices of
Ishigami's function from 60 samples of 64 hold the known ones in 92 to 98 %, from samples of 8 to 32 in 70 to 100 %."""


class SensitivityFile(StudyFile):
    """Settings over whose ranges the sensitivity of figures is asked."""

    method: Literal["morris", "sobol"] = Field("morris", description="morris: mean and spread of elementary "
                                               "effects, few runs; sobol: parts of the variance, many runs")
    points: int | None = Field(None, ge=2, le=100_000, description="morris: trajectories, each of one run more than "
                               "there are settings; sobol: base samples, a power of 2, each of two runs more than "
                               "there are settings; default: 8 of morris, 64 of sobol")
    figures: tuple[str, ...] = Field((), description="Figures whose sensitivity is asked; default: the headlines")

    @property
    def n_points(self) -> int:
        """Number of trajectories or base samples."""
        return self.points or FEWEST_POINTS[self.method]

    @model_validator(mode="after")
    def sobol_needs_a_power(self) -> "SensitivityFile":
        """Refuse a number of samples that spoils the balance of a Sobol sequence, and axes of one value."""
        if self.method == "sobol" and self.n_points & (self.n_points - 1):
            raise ValueError(f"`points` of the method sobol must be a power of 2, not {self.points}")
        if short := [key for key, axis in self.vary.items() if axis.values is not None and len(axis.values) < 2]:
            raise ValueError(f"{short[0]} has one value, so nothing can depend on it")
        if steps := [key for key, axis in self.vary.items() if axis.steps is not None]:
            raise ValueError(f"`steps` of {steps[0]} has no effect: the method chooses the values")
        return self


class TuneFile(StudyFile):
    """Settings that are searched, what is to be small or large, and limits."""

    objectives: dict[str, Literal["minimise", "maximise"]] = Field(
        min_length=1, description="Figures to be made small or large, means over the seeds")
    constraints: dict[str, Limit] = Field(default_factory=dict, description="Limits of figures: at_least, at_most")
    trials: int = Field(40, ge=1, le=100_000, description="Points that are tried")
    confirm: Seeds = Field("101-110", description="Seeds with which the winner is compared with today's settings; none "
                           "of them in `seeds`")

    @model_validator(mode="after")
    def fresh_seeds(self) -> "TuneFile":
        """Refuse a confirmation with seeds on which the winner was chosen, and unused keys."""
        if again := set(seeds_of(self.seeds)) & set(seeds_of(self.confirm)):
            raise ValueError(f"`confirm` must have other seeds than `seeds`, not also {min(again)}")
        if steps := [key for key, axis in self.vary.items() if axis.steps is not None]:
            raise ValueError(f"`steps` of {steps[0]} has no effect: the tuner chooses the values")
        return self


def read_study_file(path: str | Path, model: type[S]) -> S:
    """The study in a YAML file, checked; the scenario's path becomes relative to the working folder.

    Raises StudyError with all problems.
    """
    path = Path(path)
    try:
        document = read_yaml(text_of(path), str(path))
    except ScenarioError as error:
        raise StudyError(error.problems) from None
    if document.problems or not isinstance(document.values, dict):
        raise StudyError(document.problems or [Problem(str(path), 1, "", None, "expected a mapping (lines of "
                                                       "`key: value`)")])
    marks = {(): Origin("file", str(path)), **{key: Origin("file", str(path), line)
                                               for key, line in document.lines.items()}}
    file = study_of(document.values, model, marks)
    moved = file.model_copy(update={"scenario": located(file.scenario, path.parent)})
    moved._origins = file.origins
    return moved


def study_of(values: Mapping[str, Any], model: type[S], marks: Mapping[Key, Origin] | None = None) -> S:
    """The study with these values, checked; marks: where each was written. Raises StudyError with all problems."""
    draft = Draft(dict(values), marks or {})
    checked = validated(draft.values, model)
    if checked.findings or checked.whole is None:
        raise StudyError(in_order(problems_of(draft, checked.findings)))
    checked.whole._origins = draft.origins()
    return checked.whole


def as_study(given: S | str | Path | Mapping[str, Any], model: type[S], what: str) -> tuple[S, str]:
    """A study of a kind, of which the file or its content as a mapping may be given, and its name.

    Raises TypeError for anything else, and StudyError.
    """
    if isinstance(given, str | PathLike):
        return read_study_file(given, model), Path(given).stem
    if isinstance(given, Mapping):
        return study_of(given, model), what
    if not isinstance(given, model):
        raise wrong_type(f"{what}: study", f"the path of a study file, its content as a mapping, or a {model.__name__}",
                         given)
    return given, what


def base_scenario(study: StudyFile) -> Scenario:
    """The scenario of a study file with the settings of all points. Raises ScenarioError, StudyError."""
    scenario = load_scenario(study.scenario)
    return laid_over(scenario, study.settings, study, "set") if study.settings else scenario


def laid_over(scenario: Scenario, values: Mapping[str, Any], study: StudyFile | None, part: str) -> Scenario:
    """The scenario with values set by dotted key; raises StudyError with their lines in the study file."""
    try:
        return scenario.with_values(values)
    except ScenarioError as error:
        raise StudyError([_placed(problem, values, study, part) for problem in error.problems]) from None


def _placed(problem: Problem, values: Mapping[str, Any], study: StudyFile | None, part: str) -> Problem:
    """A problem with a setting of a study, at the line of that setting; the value as it was set."""
    key = next((key for key, value in values.items() if _is_about(problem, key, value)), None)
    if key is None:
        point = ", ".join(f"{name} = {value}" for name, value in values.items())
        return Problem(problem.file, problem.line, problem.key, problem.value, f"{problem.expected} (with {point})",
                       problem.nearest)
    origin = study.origin(f"{part}.{key}") if study is not None else None
    file, line = (origin.file, origin.line) if origin is not None and origin.file else ("command line", None)
    return Problem(file, line, key, values[key], problem.expected, problem.nearest)


def _is_about(problem: Problem, key: str, value: Any) -> bool:
    """True if a problem is with the setting `key`: elements of lists have names in one and positions in the other."""
    here, there = (text.replace("[", ".").replace("]", "").split(".") for text in (problem.key, key))
    same_end = here[0] == there[0] and here[-1] == there[-1] and len(here) == len(there) and problem.value == value
    return here[:len(there)] == there or same_end
