"""Replicates: draws from the distribution of a release's errors, for intervals of a reader's own numbers."""

from dpengine.replicates.basis import Basis, basis_of
from dpengine.replicates.draw import DRAWS, MAX_CELLS, fits, replicate
from dpengine.replicates.files import basis_from, draw_replicates, pack

__all__ = ["DRAWS", "MAX_CELLS", "Basis", "basis_from", "basis_of", "draw_replicates", "fits", "pack", "replicate"]
