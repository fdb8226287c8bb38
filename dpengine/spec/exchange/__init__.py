"""Codebooks in the formats of other houses: CSVW-EO, Table Schema of a Data Package, DDI Codebook."""
