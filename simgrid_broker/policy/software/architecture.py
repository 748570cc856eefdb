"""The task parameter `architecture`: platform, base image, CPU and GPU that a task asks for, as a string or JSON.

Sources: PanDA brokerage documentation, checks for CPU and GPU hardware; brokerage reference, section 5.1. Nothing here
raises: text that PanDA ignores is ignored, and a field that makes PanDA fail is kept as `unreadable`.
"""

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache

WILDCARD = "*"
SHORTHAND = {"model": "model", "vram": "vram", "cuda": "version", "driver": "driver_version",
             "uarch": "microarchitecture"}
"""Keys of the GPU shorthand, and the attributes of `gpu_spec` that they set."""
CONSTRAINTS = ("version", "vram", "driver_version")
"""Attributes of a GPU that are compared with an operator."""

GPU_FIELD = re.compile(r"(\w+)(==|>=|<=|!=|=|>|<)(.+)", re.DOTALL)
"""A field of the GPU shorthand: key, operator, value."""
_PLATFORM, _BASE = re.compile(r"[^@#&]*"), re.compile(r"@([^#&]*)")
_CPU, _GPU = re.compile(r"#([^@&^]*)"), re.compile(r"&([^@#^]*)")


@dataclass(frozen=True)
class CpuSpec:
    """One alternative of CPU. arch: regular expression, None = not said; vendor, instr: `*` = any."""

    arch: str | None
    vendor: str = WILDCARD
    instr: str = WILDCARD


@dataclass(frozen=True)
class GpuSpec:
    """What is asked of GPUs.

    vendor, model: regular expressions, `*` = any; excl: `model` is what must not be there; version (CUDA), vram (MB),
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
    """What an architecture parameter asks for; "" and () = nothing.

    sw_platform: platform or a regular expression for it; base_platform: with a container image after `+`, which the
    brokerage does not look at; cpu_specs: alternatives; preferred_level: CPU level that gets more jobs; unreadable:
    name of the field that has the wrong type, so that PanDA stumbles at every queue.
    """

    sw_platform: str = ""
    base_platform: str = ""
    cpu_specs: tuple[CpuSpec, ...] = ()
    gpu_spec: GpuSpec | None = None
    preferred_level: str = ""
    unreadable: str = ""


class _WrongType(ValueError):
    """A field of the JSON form has a type that PanDA cannot work with."""


@lru_cache(maxsize=4096)
def parse_architecture(text: str, edition: str = "deployed") -> Architecture:
    """What `text` means to an edition; never raises.

    `deployed` drops wildcards when it turns a string into JSON, so that `#&*` asks for nothing, and takes all text up
    to the first dash as CPU if there is no `#`; `documented` takes the string at its word.
    """
    values = json_object(text)
    if values is None:
        return _of_string(text, edition)
    try:
        return _of_json(values, edition)
    except _WrongType as error:
        return Architecture(unreadable=str(error))


def json_object(text: str) -> dict | None:
    """The object that `text` is in JSON, None if it is anything else."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _of_string(text: str, edition: str) -> Architecture:
    base = _BASE.search(text)
    return Architecture(_PLATFORM.match(text)[0], base[1] if base else "", _cpus_of_string(text, edition),
                        _gpu_of_string(text, edition))


def _cpus_of_string(text: str, edition: str) -> tuple[CpuSpec, ...]:
    """Alternatives of CPU: those after `#`, else the first part of the platform."""
    found = _CPU.search(text)
    if found:
        return _cpus(alternatives(found[1], edition), edition) if found[1] else ()
    if not text or text[0] in "@&^":
        return ()
    source = text if edition == "deployed" else _PLATFORM.match(text)[0]
    return (CpuSpec(source.split("-")[0]),)


def alternatives(text: str, edition: str) -> list[str]:
    """The alternatives in a CPU part; source: brokerage reference, 5.1.

    The code takes off a first and a last parenthesis and splits at every bar; as documented, the architecture itself
    may be a regular expression like `(x86_64|aarch64)`, so bars inside parentheses belong to it.
    """
    if edition == "deployed":
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


def _cpus(texts: list[str], edition: str) -> tuple[CpuSpec, ...]:
    """The alternatives `arch[-vendor[-instr]]`; the code drops wildcards, and alternatives of nothing else."""
    found = []
    for text in texts:
        parts = text.split("-")
        arch, vendor, instr = (parts + [WILDCARD] * 2)[:3]
        spec = CpuSpec(None if arch == WILDCARD else arch, vendor, instr)
        if edition == "documented" or spec != CpuSpec(None):
            found.append(spec)
    return tuple(found)


def _gpu_of_string(text: str, edition: str) -> GpuSpec | None:
    """The GPU after `&`: `vendor[-model]` and fields `key op value`; what is no such field is passed over."""
    found = _GPU.search(text)
    if not found or not found[1]:
        return None
    first, *fields = found[1].split(":")
    vendor, _, model = first.partition("-")
    spec = GpuSpec(vendor or WILDCARD, model or WILDCARD)
    for field in fields:
        spec = _with_field(spec, GPU_FIELD.fullmatch(field))
    return None if edition == "deployed" and spec == GpuSpec() else spec


def _with_field(spec: GpuSpec, field: re.Match | None) -> GpuSpec:
    """`spec` with one field of the shorthand."""
    if field is None or field[1] not in SHORTHAND:
        return spec
    name, operator, value = SHORTHAND[field[1]], field[2], field[3]
    if name == "model":
        return replace(spec, model=value, excl=operator == "!=")
    if name == "microarchitecture":
        return replace(spec, microarchitecture=(value,))
    return replace(spec, **{name: ("==" if operator == "=" else operator) + value})


def _of_json(values: dict, edition: str) -> Architecture:
    """The JSON form; `encoded_platform`, a string of the other form, fills in a base platform and CPUs."""
    base, cpus = _text(values, "base_platform"), _cpus_of_json(values)
    encoded = _text(values, "encoded_platform")
    if encoded:
        filled = _of_string(encoded, edition)
        base, cpus = base or filled.base_platform, cpus or filled.cpu_specs
    preference = _dict(values, "cpu_pref")
    return Architecture(_text(values, "sw_platform"), base, cpus, _gpu_of_json(values),
                        _text(preference or {}, "preferred_architecture_level", "cpu_pref."))


def _cpus_of_json(values: dict) -> tuple[CpuSpec, ...]:
    listed = values.get("cpu_specs")
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise _WrongType("cpu_specs")
    return tuple(CpuSpec(_text(each, "arch", "cpu_specs.", None), _text(each, "vendor", "cpu_specs.", WILDCARD),
                         _text(each, "instr", "cpu_specs.", WILDCARD)) for each in listed)


def _gpu_of_json(values: dict) -> GpuSpec | None:
    given = _dict(values, "gpu_spec")
    if given is None:
        return None
    model, excl = _model(given)
    kinds = given.get("microarchitecture")
    kinds = () if kinds is None else (kinds,) if isinstance(kinds, str) else kinds
    if not isinstance(kinds, (list, tuple)) or not all(isinstance(kind, str) for kind in kinds):
        raise _WrongType("gpu_spec.microarchitecture")
    constraints = {name: _text(given, name, "gpu_spec.", None) for name in CONSTRAINTS}
    return GpuSpec(_text(given, "vendor", "gpu_spec.", WILDCARD), model, excl, microarchitecture=tuple(kinds),
                   **constraints)


def _model(given: dict) -> tuple[str, bool]:
    """The model of a `gpu_spec`, and whether it is what must not be there."""
    if not isinstance(given.get("model"), dict):
        return _text(given, "model", "gpu_spec.", WILDCARD), False
    wanted = given["model"]
    if "pattern" not in wanted:
        raise _WrongType("gpu_spec.model.pattern")
    return _text(wanted, "pattern", "gpu_spec.model.", WILDCARD), bool(wanted.get("excl"))


def _dict(values: dict, name: str) -> dict | None:
    """An object in `values`, None if it is not there."""
    found = values.get(name)
    if found is not None and not isinstance(found, dict):
        raise _WrongType(name)
    return found


def _text(values: dict, name: str, above: str = "", default: str | None = "") -> str | None:
    """Text in `values`, `default` if it is not there."""
    found = values.get(name)
    if found is None:
        return default
    if not isinstance(found, str):
        raise _WrongType(above + name)
    return found
