"""Functions of NumPy without a rule that are known to return new memory."""

import numpy as np

from srcad.rules.declare import unruled

unruled(np.angle, np.linalg.cond, np.linalg.eig, np.linalg.eigvals,
        np.linalg.lstsq, np.linalg.multi_dot, np.linalg.qr, memory="fresh")  # fmt: skip
