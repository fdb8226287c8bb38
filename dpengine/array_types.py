"""Type aliases: NumPy arrays by the type of their numbers, and tuples of column names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Columns", "Floats", "Ints", "Reals"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Reals = npt.NDArray[np.float32]  # where half of the memory and time matters more than digits
Bools = npt.NDArray[np.bool_]
Columns = tuple[str, ...]
