"""Problems of an architecture parameter: everything that PanDA would ignore, fail on or never match."""

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches

from simgrid_broker.policy.software.architecture import (
    CONSTRAINTS,
    GPU_FIELD,
    SHORTHAND,
    WILDCARD,
    Architecture,
    GpuSpec,
    json_object,
    parse_architecture,
)
from simgrid_broker.policy.software.patterns import BadPattern, pattern
from simgrid_broker.policy.software.versions import UNSUPPORTED, constraint

KEYS = {
    "": ("sw_platform", "base_platform", "cpu_specs", "gpu_spec", "cpu_pref", "encoded_platform"),
    "cpu_specs": ("arch", "instr", "type", "vendor"),
    "gpu_spec": ("vendor", "model", "version", "vram", "microarchitecture", "driver_version"),
    "gpu_spec.model": ("pattern", "excl"),
    "cpu_pref": ("preferred_architecture_level",),
}
"""Keys of each object of the JSON form; source: PanDA brokerage documentation; brokerage reference, 5.1."""

_PART = re.compile(r"[@#&^]")


class MalformedArchitecture(ValueError):
    """Something in an architecture parameter that does not do what it says.

    field: attribute in the words of the JSON form, "" = the whole; position: character, counted from 0.
    """

    def __init__(self, field: str, position: int, reason: str):
        super().__init__(field, position, reason)
        self.field, self.position, self.reason = field, position, reason

    def __str__(self) -> str:
        return f"character {self.position + 1}{f', {self.field}' if self.field else ''}: {self.reason}"


def check_architecture(text: str, edition: str = "documented") -> tuple[MalformedArchitecture, ...]:
    """Everything that is wrong with an architecture parameter, in the order of its text; () = nothing."""
    if not text:
        return ()
    if json_object(text) is not None:
        found = (*_of_json(text), *_of_meaning(text, edition))
    elif text.lstrip()[:1] in ("{", "'", '"', "["):
        found = (_no_json(text),)
    else:
        found = (*_of_string(text, edition), *_of_meaning(text, edition))
    return tuple(sorted(_once(found), key=lambda problem: problem.position))


def _once(found: tuple[MalformedArchitecture, ...]) -> list[MalformedArchitecture]:
    """One problem for each place and field."""
    return list({(problem.field, problem.position): problem for problem in reversed(found)}.values())


def _no_json(text: str) -> MalformedArchitecture:
    """Problems of text that looks like JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return MalformedArchitecture("", error.pos, f"this is not JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        return MalformedArchitecture("", 0, f"this is not JSON: {error}")
    return MalformedArchitecture("", 0, "expected a JSON object in braces")


# ---- the string -----------------------------------------------------------------------------------------------------

def _of_string(text: str, edition: str) -> Iterator[MalformedArchitecture]:
    """Problems of the signs of the string form."""
    if text != text.strip():
        yield MalformedArchitecture("", 0 if text[0].isspace() else len(text) - 1, "blanks around the text count")
    seen = set()
    for sign in _PART.finditer(text):
        if sign[0] == "^":
            yield MalformedArchitecture("", sign.start(), "what follows `^` is passed over")
        elif sign[0] in seen:
            yield MalformedArchitecture("", sign.start(), f"a second `{sign[0]}` is passed over")
        seen.add(sign[0])
        after = text[sign.end():]
        if (not after or after[0] in "@#&^") and not (sign[0] == "#" and after):
            yield MalformedArchitecture("", sign.start(), f"nothing follows `{sign[0]}`")
    if "#" in text:
        yield from _cpu_dashes(text)
    elif edition == "deployed" and text[0] not in "@&^" and _PART.search(text.split("-")[0]):
        yield MalformedArchitecture("cpu_specs", 0, "without `#` and without a dash in the platform all of this is "
                                    "taken for a CPU; write the CPU after `#`")
    if "&" in text:
        yield from _gpu_fields(text)
    if edition == "deployed" and "&" in text and parse_architecture(text, edition).gpu_spec is None:
        yield MalformedArchitecture("gpu_spec", text.index("&"), "PanDA drops a requirement of any GPU; name a vendor")


def _cpu_dashes(text: str) -> Iterator[MalformedArchitecture]:
    """CPU alternatives with empty or too many parts."""
    start = text.index("#") + 1
    part = re.match(r"[^@&^]*", text[start:])[0]
    for alternative in re.finditer(r"[^|]+|(?<=\|)(?=\||\)?$)|^(?=\|)", part):
        pieces = alternative[0].strip("()").split("-")
        if not all(pieces) or len(pieces) > 3:
            yield MalformedArchitecture("cpu_specs", start + alternative.start(),
                                        "expected arch, arch-vendor or arch-vendor-instr")


def _gpu_fields(text: str) -> Iterator[MalformedArchitecture]:
    """Fields of the GPU shorthand that are passed over or say something else than they seem to."""
    start = text.index("&") + 1
    part = re.match(r"[^@#^]*", text[start:])[0]
    position, seen = start, set()
    for number, field in enumerate(part.split(":")):
        found = GPU_FIELD.fullmatch(field)
        if number == 0:
            if found or not field and part:
                yield MalformedArchitecture("gpu_spec.vendor", position, "expected a vendor, or *")
        elif found is None:
            yield MalformedArchitecture("gpu_spec", position, f"{field!r} is passed over; expected key=value")
        elif found[1] not in SHORTHAND:
            yield MalformedArchitecture("gpu_spec", position, f"unknown key {found[1]!r}" + _meant(found[1], SHORTHAND))
        else:
            yield from _gpu_field(found, position, seen)
            seen.add(found[1])
        position += len(field) + 1


def _gpu_field(found: re.Match, position: int, seen: set[str]) -> Iterator[MalformedArchitecture]:
    """One known field of the shorthand."""
    name = f"gpu_spec.{SHORTHAND[found[1]]}"
    allowed = {"model": ("=", "==", "!="), "uarch": ("=", "==")}.get(found[1])
    if found[1] in seen:
        yield MalformedArchitecture(name, position, f"{found[1]!r} stands here a second time; only the last one counts")
    if allowed and found[2] not in allowed:
        yield MalformedArchitecture(name, position + len(found[1]), f"expected one of {' '.join(allowed)}")


# ---- JSON -----------------------------------------------------------------------------------------------------------

def _of_json(text: str) -> Iterator[MalformedArchitecture]:
    """Unknown keys and wrong types of the JSON form."""
    values = json_object(text)
    yield from _unknown_keys(text, values, "")
    for above, parts in (("cpu_specs", values.get("cpu_specs")), ("gpu_spec", [values.get("gpu_spec")]),
                         ("cpu_pref", [values.get("cpu_pref")])):
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                yield from _unknown_keys(text, part, above)
                if isinstance(part.get("model"), dict):
                    yield from _unknown_keys(text, part["model"], "gpu_spec.model")
    unreadable = parse_architecture(text).unreadable
    if unreadable:
        yield MalformedArchitecture(unreadable, place(text, unreadable), "is missing or has the wrong type; expected "
                                    + {"cpu_specs": "a list of objects", "gpu_spec": "an object", "cpu_pref":
                                       "an object", "gpu_spec.microarchitecture": "text or a list of texts"}.get(
                                           unreadable, "text"))


def _unknown_keys(text: str, values: dict, above: str) -> Iterator[MalformedArchitecture]:
    """Keys that PanDA does not look at; `pattern` and `excl` beside the model are among them."""
    for key in values:
        if key not in KEYS[above]:
            field = f"{above}.{key}" if above else key
            yield MalformedArchitecture(field, place(text, field), f"unknown key {key!r}" + _meant(key, KEYS[above]))


def place(text: str, field: str) -> int:
    """Position of a dotted key in JSON text, 0 if it is not spelled there as it is."""
    position = 0
    for step in field.split("."):
        found = text.find(json.dumps(step), position)
        if found < 0:
            return position
        position = found
    return position


def _meant(word: str, known) -> str:
    """The names that a word may have been meant for, as the end of a sentence."""
    near = get_close_matches(word.casefold(), known, n=2)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else f"; known are {', '.join(known)}"


# ---- both -----------------------------------------------------------------------------------------------------------

def _of_meaning(text: str, edition: str) -> Iterator[MalformedArchitecture]:
    """Values that can never match: bad regular expressions, versions and operators."""
    asked = parse_architecture(text, edition)
    for field, value, start in _patterns(text, asked):
        try:
            pattern(value)
        except BadPattern as error:
            yield MalformedArchitecture(field, start + max(error.position, 0), str(error))
    for spec in asked.cpu_specs:
        if edition == "deployed" and spec.arch is None:
            yield MalformedArchitecture("cpu_specs.arch", _found(text, "arch", "cpu_specs"), "PanDA needs the "
                                        "architecture of each alternative, and not a wildcard")
    for name in CONSTRAINTS:
        value = getattr(asked.gpu_spec or GpuSpec(), name)
        if value is not None:
            yield from _constraint(text, name, value, edition)


def _patterns(text: str, asked: Architecture) -> Iterator[tuple[str, str, int]]:
    """Field, regular expression and position of everything that is matched as one."""
    if asked.sw_platform:
        yield "sw_platform", asked.sw_platform, _found(text, asked.sw_platform, "sw_platform")
    for spec in asked.cpu_specs:
        if spec.arch not in (None, WILDCARD):
            yield "cpu_specs.arch", spec.arch, _found(text, spec.arch, "cpu_specs")
    gpu = asked.gpu_spec or GpuSpec()
    if gpu.vendor != WILDCARD:
        yield "gpu_spec.vendor", gpu.vendor, _found(text, gpu.vendor, "gpu_spec")
    if gpu.model != WILDCARD or gpu.excl:
        yield "gpu_spec.model", gpu.model, _found(text, gpu.model, "gpu_spec")


def _constraint(text: str, name: str, value: str, edition: str) -> Iterator[MalformedArchitecture]:
    """One constraint that nothing can meet."""
    field, read = f"gpu_spec.{name}", constraint(value)
    position = _found(text, value.lstrip("=<>!"), field)
    if read is None:
        yield MalformedArchitecture(field, position, f"expected operator and version, such as >=12.0, not {value!r}")
    elif read[0] in UNSUPPORTED[edition]:
        yield MalformedArchitecture(field, position, f"with {read[0]} the production code refuses every queue")


def _found(text: str, value: str, field: str) -> int:
    """Position of a value: behind its key in JSON, behind the sign of its part in a string."""
    if json_object(text) is not None:
        start = place(text, field)
    else:
        start = max(text.find({"cpu_specs": "#", "gpu_spec": "&"}.get(field.split(".")[0], "\0")), 0)
    return max(text.find(value, start), start)
