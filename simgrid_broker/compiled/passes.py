"""Passes of the own compiler: Numba's, without those that plain loops do not need, and without work on lifetimes.

Numba works out after each pass where each variable lives, which only reference counting and generators ask for.
"""

from numba.core import postproc, transforms, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.rewrites import rewrite_registry
from numba.core.ssa import reconstruct_ssa

from simgrid_broker.compiled.items import ItemLowering


def order_blocks(listing) -> None:
    """Bring the blocks of a function into the order that Numba expects; lifetimes wait until they are asked for."""
    listing.blocks = transforms.canonicalize_cfg(listing.blocks)
    listing.variable_lifetime = postproc.VariableLifetime(listing.blocks)
    listing.generator_info = None


@register_pass(mutates_CFG=True, analysis_only=False)
class Order(untyped_passes.IRProcessing):
    """Numba's `IRProcessing` without lifetimes."""

    _name = "order"

    def run_pass(self, state):
        """Called by Numba for one function."""
        order_blocks(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class Rewrite(untyped_passes.GenericRewrites):
    """Numba's `GenericRewrites` without lifetimes."""

    _name = "rewrite"

    def run_pass(self, state):
        """Called by Numba for one function."""
        for made in rewrite_registry.rewrites["before-inference"]:
            rewrite = made(state)
            blocks = state.func_ir.blocks
            for key in list(blocks):
                while rewrite.match(state.func_ir, blocks[key], state.typemap, state.calltypes):
                    blocks[key] = rewrite.apply()
        order_blocks(state.func_ir)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class SingleAssignment(untyped_passes.ReconstructSSA):
    """Numba's `ReconstructSSA` without lifetimes."""

    _name = "single_assignment"

    def run_pass(self, state):
        """Called by Numba for one function."""
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        order_blocks(state.func_ir)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class WithoutPhis(typed_passes.PreLowerStripPhis):
    """Numba's `PreLowerStripPhis` without lifetimes."""

    _name = "without_phis"

    def run_pass(self, state):
        """Called by Numba for one function."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        order_blocks(state.func_ir)
        return True


PASSES = (
    untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, Order, untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune, Rewrite, untyped_passes.RewriteDynamicRaises, SingleAssignment,
    typed_passes.NopythonTypeInference, WithoutPhis, ItemLowering, typed_passes.NoPythonBackend)
"""Numba's passes without those for functions within one, loops over literals, `with`, inlining on request, expressions
of arrays, the end of variables (of which reference counting needs to know) and listings of types, which compiled
functions hardly ever have: a tenth of the time of translating."""


class Passes(PassManager):
    """Passes that run one after another; Numba would describe each to its listeners and look for mistakes after it."""

    def _runPass(self, _index, one, state):
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)


def plain_passes() -> Passes:
    """The passes of a function with plain loops."""
    passes = Passes("plain")
    for one in PASSES:
        passes.add_pass(one, one.__name__)
    passes.finalize()
    return passes
