"""The task parameter `architecture`: platform, base image, CPU and GPU that a task asks for, as a string or JSON.

Sources: PanDA brokerage documentation, checks for CPU and GPU hardware; brokerage reference, sections 5.1 and 5.2.
Nothing here raises: text that PanDA ignores is ignored, and a field that makes PanDA fail is kept as `unreadable`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from simgrid_broker.policy.software.comparisons import TERMS, BadPattern, constraint, pattern

WILDCARD = "*"
SHORTHAND = {"model": "model", "vram": "vram", "cuda": "version", "driver": "driver_version",
             "uarch": "microarchitecture"}
"""Keys of the GPU shorthand and the attributes of `gpu_spec` that they set."""
CONSTRAINTS = ("version", "vram", "driver_version")
"""Attributes of a GPU that are compared with an operator."""

KINDS = {
    "text": lambda value: isinstance(value, str),
    "an object": lambda value: isinstance(value, dict),
    "text or an object": lambda value: isinstance(value, str | dict),
    "a list of objects": lambda value: isinstance(value, list) and all(isinstance(each, dict) for each in value),
    "text or a list of texts": lambda value: isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, str) for each in value)),
    "anything": lambda value: True,
}
KEYS = {
    "": {"sw_platform": "text", "base_platform": "text", "cpu_specs": "a list of objects", "gpu_spec": "an object",
         "cpu_pref": "an object", "encoded_platform": "text"},
    "cpu_specs": {"arch": "text", "instr": "text", "type": "anything", "vendor": "text"},
    "gpu_spec": {"vendor": "text", "model": "text or an object", "version": "text", "vram": "text",
                 "microarchitecture": "text or a list of texts", "driver_version": "text"},
    "gpu_spec.model": {"pattern": "text", "excl": "anything"},
    "cpu_pref": {"preferred_architecture_level": "text"},
}
"""Keys of each object of the JSON form and the kind of value that PanDA can work with; source: PanDA brokerage
documentation; brokerage reference, 5.1."""

_GPU_FIELD = re.compile(r"(\w+)(==|>=|<=|!=|=|>|<)(.+)", re.DOTALL)
"""A field of the GPU shorthand: key, operator, value."""
_END_OF_PLATFORM, _BASE = re.compile(r"[@#&]"), re.compile(r"@([^#&]*)")
_CPU, _GPU = re.compile(r"#([^@&^]*)"), re.compile(r"&([^@#^]*)")
_SIGN = re.compile(r"[@#&^]")


@dataclass(frozen=True)
class CpuSpec:
    """One alternative of CPU. arch: regular expression, None = not given; vendor, instr: `*` = any."""

    arch: str | None
    vendor: str = WILDCARD
    instr: str = WILDCARD


@dataclass(frozen=True)
class GpuSpec:
    """Requirements on GPUs.

    vendor, model: regular expressions, `*` = any; excl: `model` must not be present; version (CUDA), vram (MB),
    driver_version: constraints with their operator, None = any; microarchitecture: names, one will do, () = any.
    """

    vendor: str = WILDCARD
    model: str = WILDCARD
    excl: bool = False
    version: str | None = None
    vram: str | None = None
    microarchitecture: tuple[str, ...] = ()
    driver_version: str | None = None


@dataclass(frozen=True)
class Architecture:
    """Requirements of an architecture parameter; "" and () = nothing.

    sw_platform: platform or a regular expression for it; base_platform: with a container image after `+`, which the
    brokerage ignores; cpu_specs: alternatives; preferred_level: CPU level that gets more jobs; unreadable: first field
    that is missing or has the wrong type, so that PanDA fails at every queue.
    """

    sw_platform: str = ""
    base_platform: str = ""
    cpu_specs: tuple[CpuSpec, ...] = ()
    gpu_spec: GpuSpec | None = None
    preferred_level: str = ""
    unreadable: str = ""


class MalformedArchitecture(ValueError):
    """Part of a text that does not do what it says; field: as in JSON, "" = the whole; position: character from 0."""

    def __init__(self, field: str, position: int, reason: str):
        super().__init__(field, position, reason)
        self.field, self.position, self.reason = field, position, reason

    def __str__(self) -> str:
        return f"character {self.position + 1}{f', {self.field}' if self.field else ''}: {self.reason}"


def parse_architecture(text: str, edition: str = "deployed") -> Architecture:
    """Meaning of `text` to an edition; never raises.

    `deployed` drops wildcards when it turns a string into JSON, so that `#&*` asks for nothing, and takes all text up
    to the first dash as CPU if there is no `#`; `documented` takes the string literally.
    """
    return _read(text, edition)[0]


def check_architecture(text: str, edition: str = "documented") -> tuple[MalformedArchitecture, ...]:
    """Everything in `text` that PanDA would ignore, fail on or never match, in the order of the text."""
    return _read(text, edition)[1]


@lru_cache(maxsize=4096)
def _read(text: str, edition: str) -> tuple[Architecture, tuple[MalformedArchitecture, ...]]:
    """Requirements of `text`, and its problems; one for each place and field."""
    values, no_json = _json(text)
    if values is None:
        literal, problems = _of_string(text, edition)
        asked = _converted(literal, edition)
        if text.lstrip()[:1] in ("{", "'", '"', "["):
            return asked, (no_json,)
    else:
        asked, problems = _of_json(values, text, edition)
    problems += _of_meaning(asked, text, edition, is_json=values is not None)
    once = {(problem.field, problem.position): problem for problem in reversed(problems)}
    return asked, tuple(sorted(once.values(), key=lambda problem: problem.position))


def _json(text: str) -> tuple[dict | None, Any]:
    """The object that `text` is in JSON, or why it is not one."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        return None, MalformedArchitecture("", error.pos, f"this is not JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return None, MalformedArchitecture("", 0, f"this is not JSON: {error}")
    if isinstance(values, dict):
        return values, None
    return None, MalformedArchitecture("", 0, "expected a JSON object in braces")


# ---- the string -----------------------------------------------------------------------------------------------------

def literal_of(text: str) -> Architecture:
    """Requirements of a string, wildcards included, as brokers read it where JEDI has not converted it to JSON."""
    return _of_string(text, "deployed")[0]


def _converted(asked: Architecture, edition: str) -> Architecture:
    """A string's content without its wildcard architectures; the deployed edition drops what are only wildcards."""
    specs = tuple(replace(spec, arch=None) if spec.arch == WILDCARD else spec for spec in asked.cpu_specs)
    if TERMS[edition].keeps_wildcards:
        return replace(asked, cpu_specs=specs)
    return replace(asked, cpu_specs=tuple(spec for spec in specs if spec != CpuSpec(None)),
                   gpu_spec=None if asked.gpu_spec == GpuSpec() else asked.gpu_spec)


def _of_string(text: str, edition: str) -> tuple[Architecture, list[MalformedArchitecture]]:
    """The string form, and problems of its signs."""
    problems = list(_of_signs(text))
    base = _BASE.search(text)
    return Architecture(_END_OF_PLATFORM.split(text, 1)[0], base[1] if base else "", _cpus(text, edition, problems),
                        _gpu(text, edition, problems)), problems


def _of_signs(text: str) -> Iterator[MalformedArchitecture]:
    """Problems of the signs that begin the parts of a string."""
    if text != text.strip():
        yield MalformedArchitecture("", 0 if text[0].isspace() else len(text) - 1, "blanks around it count")
    seen = set()
    for sign in _SIGN.finditer(text):
        if sign[0] == "^":
            yield MalformedArchitecture("", sign.start(), "what follows `^` is ignored")
        elif sign[0] in seen:
            yield MalformedArchitecture("", sign.start(), f"a second `{sign[0]}` is ignored")
        seen.add(sign[0])
        after = text[sign.end():]
        if not after or (_SIGN.match(after) and sign[0] != "#"):
            yield MalformedArchitecture("", sign.start(), f"nothing follows `{sign[0]}`")


def _cpus(text: str, edition: str, problems: list[MalformedArchitecture]) -> tuple[CpuSpec, ...]:
    """Alternatives of CPU: those after `#`, else the first part of the platform; adds their problems."""
    found = _CPU.search(text)
    if found:
        return _listed_cpus(found, edition, problems) if found[1] else ()
    if not text or text[0] in "@&^":
        return ()
    arch = (text if TERMS[edition].open_cpu else _END_OF_PLATFORM.split(text, 1)[0]).split("-")[0]
    if TERMS[edition].open_cpu and _SIGN.search(arch):
        problems.append(MalformedArchitecture("cpu_specs", 0, "without `#` and without a dash in the platform all of "
                                              "this is taken as the CPU; write the CPU after `#`"))
    return (CpuSpec(arch),)


def _listed_cpus(found: re.Match, edition: str, problems: list[MalformedArchitecture]) -> tuple[CpuSpec, ...]:
    """The alternatives `arch[-vendor[-instr]]`."""
    position = found.start(1)
    for text in found[1].split("|"):
        parts = text.strip("()").split("-")
        if not all(parts) or len(parts) > 3:
            problems.append(MalformedArchitecture("cpu_specs", position, "expected arch, arch-vendor or "
                                                  "arch-vendor-instr"))
        position += len(text) + 1
    return tuple(CpuSpec(*text.split("-")[:3]) for text in _alternatives(found[1], edition))


def _alternatives(text: str, edition: str) -> list[str]:
    """The alternatives in a CPU part; source: brokerage reference, 5.1.

    The deployed edition removes a first and a last parenthesis and splits at every bar; as documented, the architecture
    itself may be a regular expression like `(x86_64|aarch64)`, so bars inside parentheses belong to it.
    """
    if not TERMS[edition].nests:
        return (text[1:-1] if text.startswith("(") and text.endswith(")") else text).split("|")
    if text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1]
    found, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth <= 0:
            found.append("")
        else:
            found[-1] += sign
    return found


def _closing(text: str) -> int:
    """Position of the parenthesis that closes the one at the start, -1 if none does."""
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return position
    return -1


def _gpu(text: str, edition: str, problems: list[MalformedArchitecture]) -> GpuSpec | None:
    """The GPU after `&`: `vendor[-model]` and fields `key op value`; adds its problems."""
    found = _GPU.search(text)
    if not found:
        return None
    first, *fields = found[1].split(":")
    position = found.start(1)
    if _GPU_FIELD.fullmatch(first) or (found[1] and not first):
        problems.append(MalformedArchitecture("gpu_spec.vendor", position, "expected a vendor, or *"))
    vendor, _, model = first.partition("-")
    spec, seen = GpuSpec(vendor or WILDCARD, model or WILDCARD), set[str]()
    position += len(first) + 1
    for field in fields:
        spec = _with_field(spec, field, position, seen, problems)
        position += len(field) + 1
    if not TERMS[edition].keeps_wildcards and (not found[1] or spec == GpuSpec()):
        problems.append(MalformedArchitecture("gpu_spec", found.start(), "PanDA drops a requirement of any GPU; name a "
                                              "vendor"))
    return spec if found[1] else None


def _with_field(spec: GpuSpec, text: str, position: int, seen: set[str],
                problems: list[MalformedArchitecture]) -> GpuSpec:
    """`spec` with one field of the shorthand, unchanged if PanDA ignores it; adds the field's problems."""
    found = _GPU_FIELD.fullmatch(text)
    if found is None or found[1] not in SHORTHAND:
        problems.append(MalformedArchitecture("gpu_spec", position, f"{text!r} is ignored; expected key=value"
                                              if found is None else _unknown(found[1], SHORTHAND)))
        return spec
    key, operator, value = found.groups()
    name, allowed = SHORTHAND[key], {"model": ("=", "==", "!="), "uarch": ("=", "==")}.get(key)
    if key in seen:
        problems.append(MalformedArchitecture(f"gpu_spec.{name}", position, f"{key!r} is given a second time; only "
                                              "the last value counts"))
    if allowed and operator not in allowed:
        problems.append(MalformedArchitecture(f"gpu_spec.{name}", position + len(key),
                                              f"expected one of {' '.join(allowed)}"))
    seen.add(key)
    if key == "model":
        return replace(spec, model=value, excl=operator == "!=")
    if key == "uarch":
        return replace(spec, microarchitecture=(value,))
    limit: dict[str, Any] = {name: ("==" if operator == "=" else operator) + value}
    return replace(spec, **limit)


# ---- JSON -----------------------------------------------------------------------------------------------------------

def _of_json(values: dict, text: str, edition: str) -> tuple[Architecture, list[MalformedArchitecture]]:
    """The JSON form, and its unknown keys and wrong types; `encoded_platform`, a string, fills in base and CPUs."""
    unknown, unreadable = list[tuple[str, str]](), list[tuple[str, str]]()
    known = _known(values, "", unknown, unreadable)
    cpus = [_known(each, "cpu_specs", unknown, unreadable) for each in known.get("cpu_specs", ())]
    gpu = _gpu_of_json(known["gpu_spec"], unknown, unreadable) if "gpu_spec" in known else None
    preference = _known(known.get("cpu_pref", {}), "cpu_pref", unknown, unreadable)
    problems = [MalformedArchitecture(field, _place(text, field), reason) for field, reason in unknown + unreadable]
    if unreadable:
        return Architecture(unreadable=unreadable[0][0]), problems
    filled = _converted(_of_string(known.get("encoded_platform", ""), edition)[0], edition)
    return Architecture(
        known.get("sw_platform", ""), known.get("base_platform") or filled.base_platform,
        tuple(CpuSpec(each.get("arch"), each.get("vendor", WILDCARD), each.get("instr", WILDCARD)) for each in cpus)
        or filled.cpu_specs, gpu, preference.get("preferred_architecture_level", "")), problems


def _known(values: dict, above: str, unknown: list[tuple[str, str]], unreadable: list[tuple[str, str]]) -> dict:
    """The values of known keys, without null; adds (field, problem) of the other keys and of wrong types."""
    found = {}
    for key, value in values.items():
        field, kind = f"{above}.{key}" if above else key, KEYS[above].get(key)
        if kind is None:
            unknown.append((field, _unknown(key, KEYS[above])))
        elif value is not None and not KINDS[kind](value):
            unreadable.append((field, f"has the wrong type; expected {kind}"))
        elif value is not None:
            found[key] = value
    return found


def _gpu_of_json(values: dict, unknown: list[tuple[str, str]], unreadable: list[tuple[str, str]]) -> GpuSpec:
    """The GPU of the JSON form; `model` may be an object that also says whether the model is excluded."""
    given = _known(values, "gpu_spec", unknown, unreadable)
    model, kinds = given.get("model"), given.get("microarchitecture", ())
    given["microarchitecture"] = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if isinstance(model, dict):
        if "pattern" not in model:
            unreadable.append(("gpu_spec.model.pattern", "is missing; expected text"))
        wanted = _known(model, "gpu_spec.model", unknown, unreadable)
        given |= {"model": wanted.get("pattern", WILDCARD), "excl": bool(wanted.get("excl"))}
    return GpuSpec(**given)


def _place(text: str, field: str) -> int:
    """Position of a dotted key in JSON text, 0 if it is not spelled there as it is."""
    position = 0
    for step in field.split("."):
        found = text.find(json.dumps(step), position)
        if found < 0:
            return position
        position = found
    return position


def _unknown(word: str, known: dict[str, str]) -> str:
    """The problem of an unknown key, with the keys that may have been meant."""
    near = get_close_matches(word.casefold(), known, n=2)
    return f"unknown key {word!r}; " + (f"did you mean {' or '.join(map(repr, near))}?" if near
                                        else f"known are {', '.join(known)}")


# ---- both -----------------------------------------------------------------------------------------------------------

def _of_meaning(asked: Architecture, text: str, edition: str, is_json: bool) -> Iterator[MalformedArchitecture]:
    """Values that can never match: bad regular expressions, versions and operators."""
    for field, value in _patterns(asked):
        try:
            pattern(value)
        except BadPattern as error:
            start = _found(text, value, field.split(".")[0], is_json)
            yield MalformedArchitecture(field, start + max(error.position, 0), str(error))
    if TERMS[edition].needs_arch and any(spec.arch is None for spec in asked.cpu_specs):
        yield MalformedArchitecture("cpu_specs.arch", _found(text, "arch", "cpu_specs", is_json), "PanDA needs the "
                                    "architecture of each alternative, and not a wildcard")
    for name in CONSTRAINTS:
        value, field = getattr(asked.gpu_spec or GpuSpec(), name), f"gpu_spec.{name}"
        reason = value is not None and _unmet(value, edition)
        if reason:
            yield MalformedArchitecture(field, _found(text, value.lstrip("=<>!"), field, is_json), reason)


def _patterns(asked: Architecture) -> Iterator[tuple[str, str]]:
    """Field and regular expression of everything that is matched as one."""
    if asked.sw_platform:
        yield "sw_platform", asked.sw_platform
    yield from (("cpu_specs.arch", spec.arch) for spec in asked.cpu_specs if spec.arch not in (None, WILDCARD))
    gpu = asked.gpu_spec or GpuSpec()
    if gpu.vendor != WILDCARD:
        yield "gpu_spec.vendor", gpu.vendor
    if gpu.model != WILDCARD or gpu.excl:
        yield "gpu_spec.model", gpu.model


def _unmet(value: str, edition: str) -> str:
    """Why nothing can meet a constraint, "" if something can."""
    read = constraint(value)
    if read is None:
        return f"expected operator and version, such as >=12.0, not {value!r}"
    return f"with {read[0]} the deployed edition refuses every queue" if read[0] in TERMS[edition].unsupported else ""


def _found(text: str, value: str, field: str, is_json: bool) -> int:
    """Position of a value: behind its key in JSON, behind the sign of its part in a string."""
    start = _place(text, field) if is_json else max(
        text.find({"cpu_specs": "#", "gpu_spec": "&"}.get(field.split(".")[0], "\0")), 0)
    return max(text.find(value, start), start)
