"""Codebooks in exchange formats: CSVW-EO, Table Schema of a Data Package, DDI Codebook."""
