"""Functions of NumPy without a rule that are known to return new memory."""

import numpy as np

from srcad.rules.declare import unruled

unruled(np.angle, memory="fresh")
