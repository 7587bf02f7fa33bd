"""Linear algebra of SciPy; the rules are in the files `linalg_*.py`, by topic."""

from srcad.rules.scipy import (  # noqa: F401 - each registers its rules
    linalg_banded,
    linalg_factors,
    linalg_functions,
    linalg_special,
    linalg_spectral,
    linalg_structured,
    linalg_subspaces,
    linalg_systems,
)
