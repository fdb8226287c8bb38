"""diffprivlib's histogram of a column that Arrow reads, for benchmarks/histogram.py, as `histogram_ours` does it."""

from __future__ import annotations

import json
import sys
import time

from diffprivlib.tools import histogram
from pyarrow import csv, parquet

EDGES = [0, *(5000 * k for k in range(1, 20)), 1_000_000]

found = []
for _ in range(int(sys.argv[2])):
    clock, processor = time.perf_counter(), time.process_time()
    read = csv.read_csv if sys.argv[1].endswith(".csv") else parquet.read_table
    histogram(read(sys.argv[1])["income"].to_numpy(), epsilon=1, bins=EDGES, range=(EDGES[0], EDGES[-1]))
    found.append((time.perf_counter() - clock, time.process_time() - processor))
print(json.dumps(found))
