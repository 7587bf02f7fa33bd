"""Rules for SciPy: a file for each of its modules, read when that module has been imported."""

import scipy

IS_BEFORE_1_18 = tuple(int(part) for part in scipy.__version__.split(".")[:2]) < (1, 18)
