"""Compiled code that is kept between runs: its folder, and in it a file for each function, found by a digest of what
it is made of: its code, and all that it names, through all that it calls. A wheel may bring such files as well, for
each processor that has the instructions of x86-64-v3 (`scripts/make_kept_code.py`)."""

import atexit
import grp
import io
import json
import os
import pickle
import platform
import pwd
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from enum import EnumMeta
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba import types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.entrypoints import init_all
from numba.core.environment import Environment, lookup_environment
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.typing import signature


@cache
def cache_folder() -> Path:
    """Folder of compiled code, created if missing; a temporary one if none is kept."""
    kept = kept_folder()
    if kept is not None:
        return kept
    temporary = Path(tempfile.mkdtemp(prefix="simgrid_broker-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


def kept_folder() -> Path | None:
    """Folder in which compiled code is kept between runs, created if missing.

    It is the folder that the environment variable SIMGRID_BROKER_CACHE names, else one in the user's `.cache`. None if
    there is no home folder (a container with an unknown user), nothing can be written, or another user can write there
    or replace one of the folders above.
    """
    try:
        named = os.environ.get("SIMGRID_BROKER_CACHE")
        folder = Path(named or Path.home() / ".cache" / "simgrid_broker")
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        if not named:
            folder.chmod(PRIVATE)
        if not is_own(folder.stat()) or not all(map(is_safe_above, folder.resolve().parents)):
            return None
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


PRIVATE = 0o700
"""Mode of the folder: only its owner reads or writes."""


def is_own(status: os.stat_result) -> bool:
    """True if a file or folder belongs to the user of this process, and no other user may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_safe_above(folder: Path) -> bool:
    """True if no other user but root can replace what lies in a folder.

    Where others may write, its sticky bit, as that of /tmp, keeps them from what is not theirs.
    """
    status = folder.stat()
    if status.st_uid not in (os.geteuid(), 0):
        return False
    others = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid))
    return not others or bool(status.st_mode & stat.S_ISVTX)


def _is_private(gid: int) -> bool:
    """True for root's group, and one of the user alone, as many systems give each user one of the same name."""
    try:
        name, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return gid == 0
    return gid == 0 or (group.gr_name == name and not set(group.gr_mem) - {name})


INSTALLED = frozenset({"numba", "llvmlite", "numpy", *sys.stdlib_module_names})
"""Packages that are the same as long as their versions are, and that of Python."""
VERSIONS = (f"{sys.implementation.name} {platform.python_version()}, numba {numba.__version__}, "
            f"llvmlite {llvmlite.__version__}, numpy {np.__version__}")


def fingerprint(function: Callable) -> str:
    """Digest of a function, compiled or plain, that changes with its code, with constants, and with what it calls."""
    return _of_function(getattr(function, "py_func", function))


@cache
def _of_function(function: FunctionType) -> str:
    closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in closure}
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    named = {name: function.__globals__[name] for name in names if name in function.__globals__}
    values = {"": function.__defaults__} | held | named
    return digest(*map(_of_code, _codes(function.__code__)), *(
        f"{name}={_of_value(values[name], function, names)}" for name in sorted(values)))


def _codes(code: CodeType) -> Iterable[CodeType]:
    """The code of a function and of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _of_code(code: CodeType) -> str:
    constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    return f"{code.co_code!r} {constants} {code.co_names} {code.co_varnames}"


def _of_value(value: object, user: FunctionType, names: set[str]) -> str:
    """Text of a value that a function names, or that a module holds whose attributes have the names of the function."""
    plain = getattr(value, "py_func", None)
    if plain is user:
        return "itself"
    if plain is not None:
        return _of_function(plain)
    if isinstance(value, ModuleType):
        held = {} if _is_installed(value.__name__) else vars(value)
        return " ".join((value.__name__, *(f"{name}={_of_value(held[name], user, names)}"
                                           for name in sorted(names & held.keys())
                                           if not isinstance(held[name], ModuleType))))
    if isinstance(value, tuple | list):
        return f"({', '.join(_of_value(item, user, names) for item in value)})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {digest(value.tobytes())}"
    if isinstance(value, EnumMeta):
        return repr([(name, value[name].value) for name in value.__members__])
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
        return repr(value)
    kind = value if isinstance(value, type | FunctionType) else type(value)
    return f"{kind.__qualname__} {_of_file(kind.__module__)}"


def _of_file(module: str) -> str:
    """Name of a module, and a digest of its file unless it belongs to an installed package."""
    file = None if _is_installed(module) else getattr(sys.modules.get(module), "__file__", None)
    return f"{module} {digest(Path(file).read_bytes()) if file else ''}"


def _is_installed(module: str) -> bool:
    return module.partition(".")[0] in INSTALLED


DIGITS = 16
"""Length of a digest, hexadecimal digits."""


def digest(*contents: str | bytes) -> str:
    """16 hexadecimal digits that change with any of the contents and with the versions of Python, Numba and NumPy."""
    found = sha256(VERSIONS.encode())
    for content in contents:
        found.update(content.encode() if isinstance(content, str) else content)
        found.update(b"\0")
    return found.hexdigest()[:DIGITS]


PACKAGE = f"{__name__.partition('.')[0]}."

_watchers: list[Callable[[str], None]] = []


@contextmanager
def watched(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call `watcher` with the name of each function before it is compiled for Python."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def announce(function: Callable) -> None:
    """Tell the watchers that a function is about to be compiled."""
    for watcher in _watchers:
        watcher(f"{function.__module__}.{function.__name__}".removeprefix(PACKAGE))


MACHINERY = (*Path(__file__).parent.glob("*.py"), Path(__file__).parents[1] / "bundle.py")
"""Files that determine how functions are compiled."""


class KeptCode(_Cache):
    """The files of one function, as Numba asks for them; one for each types of its arguments.

    Numba's own files would be found by the time and the size of the one source file in which the function is, and hold
    the types of the arguments, which the caller knows, and an environment for each part, most without constants.
    """

    cache_path = None

    def __init__(self, function: Callable, compiler: str):
        self.function, self.compiler = function, compiler

    def load_overload(self, sig, target_context):
        """Compiled code for arguments of some types; None if there is none."""
        codegen = target_context.codegen()
        content = read_own(self._file(sig, codegen)) or read_shipped(
            [self._name(sig, _processor(codegen)), self._name(sig, generic(codegen))])
        if content is None:                            # compiling needs Numba's extensions and rules of types
            init_all()
            target_context.refresh()
            return None
        library, described, environment, returned, init, environments = _Content(io.BytesIO(content)).load()
        described.argtypes, described.restype = normalize_signature(sig)[0], returned
        return CompileResult._rebuild(target_context, library, described, environment,
                                      signature(returned, *described.argtypes), False, (), "", init, environments)

    def save_overload(self, sig, data):
        """Keep compiled code for arguments of some types, unless it cannot be written."""
        library, described, environment, typed, _, _, _, init, environments = data._reduce()
        described = copy(described)
        described.argtypes = described.restype = None
        content = library, described, environment, typed.return_type, init, [one for one in environments if one.consts]
        with suppress(OSError), tempfile.TemporaryDirectory(dir=cache_folder(), prefix="draft-") as draft:
            written = Path(draft) / "code"
            written.touch(mode=0o600)                  # whatever a umask leaves to a group
            written.write_bytes(with_digest(dumps(content)))
            os.replace(written, self._file(sig, data.target_context.codegen()))    # others see all of it or nothing

    def _file(self, sig, codegen) -> Path:
        return cache_folder() / self._name(sig, _processor(codegen))

    def _name(self, sig, processor: str) -> str:
        """Name of the file for arguments of some types on a processor."""
        kinds = normalize_signature(sig)[0]
        known = digest(_machinery(), self.compiler, fingerprint(self.function), str(sig), *map(fields_of, kinds),
                       processor)
        return f"{self.function.__module__}.{self.function.__qualname__}-{known}.code"

    def enable(self):
        """Nothing: it is always in use."""

    def disable(self):
        """Nothing: it is always in use."""

    def flush(self):
        """Nothing: what a file holds never changes."""


def with_digest(content: bytes) -> bytes:
    """Content of a file behind its digest, by which `read_own` sees that it is whole."""
    return digest(content).encode() + content


def read_own(path: Path) -> bytes | None:
    """Content of a file of compiled code; None if it is missing, damaged, another user's, or another user can write it.

    Code that is loaded is run, so the owner of the opened file counts, not that of a name that could be exchanged.
    """
    try:
        with open(path, "rb") as file:
            written = file.read() if is_own(os.fstat(file.fileno())) else b""
    except OSError:
        return None
    content = written[DIGITS:]
    return content if written[:DIGITS] == digest(content).encode() else None


GENERIC = "x86-64-v3"
"""Processor for which a wheel brings code, by LLVM's name."""
NEEDED = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf", "avx", "avx2", "bmi", "bmi2", "f16c", "fma",
          "lzcnt", "movbe", "xsave")
"""Instructions of this processor, by LLVM's names. Source: System V ABI for AMD64, levels of the micro-architecture."""
SHIPPED = Path(__file__).parent / "shipped"
"""Folder of the code that came with the package; a checkout has none."""
DIGESTS = "digests.json"
"""File beside it: the versions that it was made for, and the SHA-256 of each file."""
OTHER_VERSIONS = ("note: the compiled code of this package is for {shipped}; this is {here}, so functions are compiled "
                  "when they are first called, and kept")


def generic(codegen: Any) -> str:
    """The processor of the code in a wheel, as a key of files, on the platform of a code generator."""
    return str((codegen.magic_tuple()[0], GENERIC, ""))


@cache
def shipped_digests() -> dict[str, str]:
    """SHA-256 of the files that came with the package, by name; none, with one remark, for other versions."""
    try:
        listed = json.loads((SHIPPED / DIGESTS).read_text())
    except (OSError, ValueError):
        return {}
    has = binding.get_host_cpu_features()
    here = VERSIONS + ("" if all(has.get(name) for name in NEEDED) else f" on a processor without {GENERIC}")
    if listed["versions"] == here:
        return listed["files"]
    print(OTHER_VERSIONS.format(shipped=listed["versions"], here=here), file=sys.stderr)
    return {}


def read_shipped(names: Iterable[str]) -> bytes | None:
    """Content of the first of these files that came with the package; None if none did, or it is not as listed."""
    listed = shipped_digests()
    for name in names:
        if name in listed:
            with suppress(OSError):
                written = (SHIPPED / name).read_bytes()
                return written[DIGITS:] if sha256(written).hexdigest() == listed[name] else None
    return None


def fields_of(kind: types.Type) -> str:
    """Names of the fields of named tuples within a type, in order, which compiled code reads by place."""
    if not isinstance(kind, types.BaseTuple):
        return ""
    return f"{getattr(kind, 'fields', '')}({', '.join(map(fields_of, kind.types))})"


class KeptStockCode(KeptCode):
    """Files of code that stock Numba has compiled, of any version: what cannot be read or written is not kept."""

    def load_overload(self, sig, target_context):
        """Compiled code for arguments of some types; None if there is none, which is then about to be compiled."""
        found = None
        with suppress(Exception):
            found = super().load_overload(sig, target_context)
        if found is None:
            announce(self.function)
        return found

    def save_overload(self, sig, data):
        """Keep compiled code for arguments of some types, if that works."""
        with suppress(Exception):
            super().save_overload(sig, data)


class _Content(pickle.Unpickler):
    """Reads compiled code; Numba would import the modules of all parts, its whole NumPy and with it SciPy."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or function that a name in the file refers to."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list, name: str) -> Environment:
    """The constants of a part; its module's names, which only uncompiled parts look up, if it is imported already."""
    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        found.consts[:], found.env_name = constants, name
        Environment._memo[name] = found
    return found


@cache
def _processor(codegen: Any) -> str:
    """Platform and processor with its features, which LLVM looks up whenever it is asked."""
    return str(codegen.magic_tuple())


@cache
def _machinery() -> str:
    return digest(*(file.read_bytes() for file in sorted(MACHINERY)))
