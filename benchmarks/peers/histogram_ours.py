"""A whole release of one histogram, for benchmarks/histogram.py: prints the seconds of each run."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from dpengine import Plan, release

EDGES = [0, *(5000 * k for k in range(1, 20)), 1_000_000]
PLAN = Plan(
    dataset="pay", epsilon="1", columns=[{"name": "income", "kind": "number", "edges": EDGES}], tables=[["income"]]
)

found = []
for _ in range(int(sys.argv[2])):
    clock, processor = time.perf_counter(), time.process_time()
    release(sys.argv[1], PLAN).counts(("income",))
    found.append((time.perf_counter() - clock, time.process_time() - processor))
print(json.dumps(found))
