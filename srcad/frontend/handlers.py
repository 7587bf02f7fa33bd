"""Import every module of the front end that registers handlers with the dispatch.

A handler is registered where it is written, by its decorator; `srcad.frontend.machine.dispatch`
has the decorators.
"""

# ruff: noqa: F401 - the modules are imported for the handlers that they register

from __future__ import annotations

import srcad.frontend.branches.conditional
import srcad.frontend.calls.active_functions
import srcad.frontend.calls.call
import srcad.frontend.calls.known_callee
import srcad.frontend.calls.method_call
import srcad.frontend.control.comprehensions
import srcad.frontend.control.iteration
import srcad.frontend.control.loops
import srcad.frontend.control.try_statement
import srcad.frontend.control.with_statement
import srcad.frontend.functions.generators
import srcad.frontend.library.array_writes
import srcad.frontend.library.builtins
import srcad.frontend.library.caches
import srcad.frontend.library.callbacks
import srcad.frontend.library.conversions
import srcad.frontend.library.distributions
import srcad.frontend.library.getters
import srcad.frontend.library.in_python
import srcad.frontend.library.introspection
import srcad.frontend.library.iterators
import srcad.frontend.library.options
import srcad.frontend.library.ordering
import srcad.frontend.library.polynomials
import srcad.frontend.library.rotations
import srcad.frontend.library.solvers
import srcad.frontend.library.trajectories
import srcad.frontend.library.ufunc_methods
import srcad.frontend.operations.assignment
import srcad.frontend.operations.attributes
import srcad.frontend.operations.closures
import srcad.frontend.operations.comparisons
import srcad.frontend.operations.expressions
import srcad.frontend.operations.indexing
import srcad.frontend.operations.instances
import srcad.frontend.operations.mappings
import srcad.frontend.operations.match
import srcad.frontend.operations.operators
import srcad.frontend.operations.outside_containers
import srcad.frontend.operations.reified_closures
import srcad.frontend.operations.statements
