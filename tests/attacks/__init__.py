"""Programs that try to get a wrong answer out of srcad.

An *attack* is a function without parameters that makes a world of its own and returns ``f, args``
or ``f, args, seen``: a function, its arguments, and what may be asked afterwards about the world.
The gradient must be right, value and world must be those of the plain call, or there must be a
refusal of srcad's own, or the exception of the plain call.  ``python -m tests.attacks`` lists them.
"""
