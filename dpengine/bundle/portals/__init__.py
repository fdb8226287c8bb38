"""The files of a bundle that open in other programs: Parquet tables, and descriptions for data portals."""
