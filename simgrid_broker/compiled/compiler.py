"""The own compiler: a function called from Python is compiled in one piece with all that it calls.

Numba would optimise, translate and keep every called function by itself, in a variant for each width of whole numbers;
here these are translated as parts of the functions that Python calls, which takes a fifth of the time. This depends on
Numba's internals; with a version that has changed them stock Numba compiles instead (`stock`).
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from types import CodeType
from typing import Any

import numba
from llvmlite import binding
from numba import _dispatcher
from numba.core import cgutils, types
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typeconv.rules import default_type_manager
from numba.core.types.misc import unliteral
from numba.core.typing.templates import make_concrete_template

from simgrid_broker.compiled.kept_code import KeptCode, announce
from simgrid_broker.compiled.passes import WIDER, Target, Typing, plain_passes, view
from simgrid_broker.compiled.stock import OPTIONS, fall_back, is_in_use, is_of_function, stock

LEVEL, LONGEST_INLINED = 1, 100
"""Level of LLVM's work for quick code, up to 3, and LLVM's cost up to which it inlines parts with several callers, by
default 225: the code is as quick so, and takes a third less to optimise."""
COMPILE = CPUDispatcher._compile_for_args
"""Numba's method that is called for new types, without which a failure could not be caught."""


class Compiled(CPUDispatcher):
    """A compiled function, called from Python as a whole, and from compiled code as a part of its caller.

    Only what a call from Python reads is set at first. The rest, which takes Numba ten times as long, follows when it
    is asked for: most functions are parts, which a run with compiled code at hand never needs.
    """

    _is_whole = True

    def __init__(self, function: Callable):
        update_wrapper(self, function)
        self._is_whole, self.py_func = False, function
        self._parts: dict[tuple, Any] = {}
        code = function.__code__
        names = code.co_varnames[:code.co_argcount]
        defaults = tuple(map(OmittedArg, function.__defaults__ or ()))
        _dispatcher.Dispatcher.__init__(self, default_type_manager.get_pointer(), len(names), self._fold_args, names,
                                        defaults, False, False, False)

    def __getattr__(self, name: str):
        """An attribute that is set no sooner than it is asked for."""
        if self._is_whole:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._is_whole = True
        super().__init__(self.py_func, targetoptions=OPTIONS | dict(nopython=True), pipeline_class=WholeCompiler)
        self._cache = KeptCode(self.py_func, WholeCompiler.__name__)
        return getattr(self, name)

    def _compilation_chain_init_hook(self):
        """Called by Numba for new types: nothing, as its extensions are loaded where no code is kept (`KeptCode`)."""

    def _compile_for_args(self, *args, **kws):
        """Called by Numba for arguments of new types: compiled code for these, or stock Numba's function if that fails.
        """
        try:
            return COMPILE(self, *args, **kws)
        except Exception as error:
            if is_of_function(error):
                raise
            fall_back(error)
        return stock(self.py_func)

    @property
    def _numba_type_(self):                              # by this name Numba looks for it in a caller's code
        return stock(self.py_func)._numba_type_ if is_in_use() else types.Dispatcher(self)

    def get_call_template(self, args, kws):
        """Called by Numba for a call in compiled code: the signature of the part that fits the arguments."""
        signature, args = self.fold_argument_types(args, kws)
        args = tuple(WIDER.get(kind, kind) for kind in map(unliteral, args))
        if args not in self._parts:
            self._parts[args] = self._part(args)
        template = make_concrete_template(self.__name__, self.__name__, [self._parts[args].signature])
        return template, signature, args, {}

    def get_overload(self, sig):
        """Called by Numba for a call in compiled code: the key of a part among the functions that can be called."""
        return self._parts[tuple(normalize_signature(sig)[0])].library

    def _part(self, args: tuple):
        flags = Known()
        self.targetdescr.options.parse_as_flags(flags, OPTIONS | dict(no_cpython_wrapper=True))
        flags.no_compile = True
        result = compile_extra(self.typingctx, self.targetctx, self.py_func, args, None, flags, {},
                               pipeline_class=PlainCompiler,
                               library=Part(self.targetctx.codegen(), self.py_func.__qualname__))
        self.targetctx.insert_user_function(result.library, result.fndesc, [result.library])
        return result


class Known(Flags):
    """Flags of a compilation, compared by what was set: Numba asks thousands of times whether they are equal."""

    def __hash__(self):
        return hash(Flags)

    def __eq__(self, other):
        return self._values == other._values if isinstance(other, Known) else super().__eq__(other)


class PlainCompiler(CompilerBase):
    """Numba's compiler of a function, with the passes that plain loops need and contexts that have a memory."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(view(typingctx, Typing), view(targetctx, Target), library, args, return_type, flags, locals)

    def define_pipelines(self):
        """Called by Numba for what to do: all of its passes for functions with others within or loops over literals."""
        code = self.state.func_id.code
        if "literal_unroll" in code.co_names or any(isinstance(constant, CodeType) for constant in code.co_consts):
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]
        return [plain_passes()]


class WholeCompiler(PlainCompiler):
    """The compiler of a function that Python calls, with a library that includes all parts."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, Known(flags), locals)

    def compile_extra(self, func):
        """Called by Numba to compile `func`."""
        if is_in_use():
            raise RuntimeError("the own compiler has failed before")
        announce(func)
        self.state.library = Whole(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        with _no_collection():
            return super().compile_extra(func)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection, which finds little among the many objects of a compiler and takes a tenth of it.

    Afterwards they count as old, so that the next of the many searches among new objects is not through them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()


class Part(JITCodeLibrary):
    """Code that becomes a part of others, neither optimised nor translated by itself: a module as it was listed."""

    def __init__(self, codegen, name):
        CodeLibrary.__init__(self, codegen, name)
        self._linking_libraries: list = []
        self._final_module: Any = None

    def add_ir_module(self, ir_module):
        """Called by Numba with the only module; what it defines is kept until all parts of a whole are linked."""
        for function in ir_module.functions:
            if function.blocks and not function.linkage:
                function.linkage = "weak_odr"
        self._final_module = binding.parse_assembly(cgutils.normalize_ir_text(str(ir_module)))

    def finalize(self):
        """Called by Numba once the code is complete."""
        self._finalized = True


class Whole(JITCodeLibrary):
    """Code of a function that Python calls, with all its parts.

    Nothing else can call these, so those with one caller are inlined, however long they are.
    """

    _linking_libraries: list

    def _optimize_functions(self, module):
        """Called by Numba to optimise one function after another, before all of them are."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        """Called by Numba to optimise all; without the round for reference counting, of which there is none.

        Parts lose their names before it: code kept by several processes may have one name for different parts, and LLVM
        would call the part that was loaded first.
        """
        self._hide_parts()
        tuning = binding.create_pipeline_tuning_options(speed_level=min(LEVEL, numba.config.OPT))
        tuning.inlining_threshold = LONGEST_INLINED
        builder = binding.create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)

    def _hide_parts(self):
        """Make the parts private, so that nothing outside of the whole finds them by name."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.linkonce_odr:
                function.linkage = "private"

    def finalize(self):
        """Link each part once, then optimise and translate all."""
        for library in self._linking_libraries:
            self._linking_libraries += [used for used in library._linking_libraries
                                        if used not in self._linking_libraries]
        self._link_parts()
        super().finalize()

    def _link_parts(self):
        """Link all parts, of which the whole then may leave out those that it does not need; others are Numba's own."""
        parts = [library for library in self._linking_libraries if isinstance(library, Part)]
        self._linking_libraries = [library for library in self._linking_libraries if not isinstance(library, Part)]
        if parts:
            for part in parts if hasattr(self, "_reload_init") else ():       # Numba has it since 0.63
                self._reload_init.update(part._reload_init)
            self._final_module.link_in(as_one_module([part._final_module.clone() for part in parts]))
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.weak_odr:
                function.linkage = "linkonce_odr"

    def _get_module_for_linking(self):
        """Called by Numba to keep the names of what Python calls; nothing is ever linked with a whole."""
        return binding.parse_assembly("".join(
            f'define void @"{function.name}"() {{ unreachable }}\n' for function in self.get_defined_functions()
            if function.linkage == binding.Linkage.external))


def as_one_module(modules: list[binding.ModuleRef]) -> binding.ModuleRef:
    """Link modules, which are used up, pair by pair: LLVM walks through all that a module holds whenever it links."""
    while len(modules) > 1:
        for one, other in zip(modules[::2], modules[1::2], strict=False):
            one.link_in(other)
        modules = modules[::2]
    return modules[0]
