"""Compiled code that is kept between runs: a file for each function, found by a digest of what it is made of."""

import io
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

from numba import types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.entrypoints import init_all
from numba.core.environment import Environment, lookup_environment
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.typing import signature

from simgrid_broker.compiled.fingerprint import DIGITS, digest, fingerprint
from simgrid_broker.compiled.folder import cache_folder, is_own

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
        content = read_own(self._file(sig, target_context))
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
            os.replace(written, self._file(sig, data.target_context))      # other processes see all of it or nothing

    def _file(self, sig, target_context) -> Path:
        kinds = normalize_signature(sig)[0]
        known = digest(_machinery(), self.compiler, fingerprint(self.function), str(sig), *map(fields_of, kinds),
                       _processor(target_context.codegen()))
        return cache_folder() / f"{self.function.__module__}.{self.function.__qualname__}-{known}.code"

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
