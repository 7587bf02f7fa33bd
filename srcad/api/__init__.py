"""The public functions, a file for each kind; each calls the pipeline."""

from srcad.rules.registry import add_file

add_file("srcad.frontend.prelude.solvers", f"{__name__}.solvers")
add_file("srcad.frontend.prelude.trajectories", f"{__name__}.trajectories")
