"""Functions of NumPy without a rule that are known to return new memory."""

import numpy as np

from srcad.rules.declare import unruled

unruled(np.angle, np.convolve, np.correlate, np.cov, np.i0, np.insert, np.logspace, np.nanprod,
        np.unique, np.unwrap, np.vander, memory="fresh")  # fmt: skip
