"""Write the notebooks anew: one for each page, made of the texts that the page itself shows, and the worked ones.

A worked notebook is a script beside this one, in cells that begin with `# %%`.

    python docs/notebooks/make.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from pages.parts.shared.code.write import as_notebook, notebook  # noqa: E402  (the folder above is not installed)

WORKED = ("from_pandas", "simulate_first", "analyse_release")
DATA = "../../data"
LEDGER = "sqlite:///notebooks-ledger.db"  # beside the notebooks: what they spend is nobody's budget
SAMPLE = {"options": {}, "sample": False, "folder": "", "database": "", "schema": "", "owner": "", "ledger": LEDGER}
PLAN, TABLE, BUNDLE = f"{DATA}/rand.plan.yaml", f"{DATA}/rand.csv.gz", "rand-release.zip"
VALUES: dict[str, dict[str, Any]] = {
    "publish": {"plan": PLAN, "table": TABLE, "bundle": BUNDLE, "other_people": False, **SAMPLE},
    "accuracy": {"plan": PLAN, "epsilon": "1"},
    "budget": {"dataset": "rand-hie", "owner": "", "ledger": LEDGER},
    "ask": {
        "question": {
            "dataset": "rand-hie",
            "epsilon": "0.1",
            "statistic": {"kind": "count"},
            "where": [{"column": {"name": "site", "kind": "category", "values": ["1", "2", "3", "4", "5", "6"]},
                       "labels": ["1"]}],
            "unit": {"rows": 5, "id": "person_id"},
        },
        "table": TABLE, "other_people": False, **SAMPLE,
    },
    "verify": {"bundle": BUNDLE, "key": None},
    "definition": {"first": 3, "second": 2, "sensitivity": 1, "epsilon": "1"},
    "attacks": {"epsilon": "1", "pairs": 100, "games": 1000},
    "risk": {"form": "FOUR_ANONYMOUS"},
    "survey": {"answers": 4, "people": 10_000, "method": "Randomized response", "epsilon": "1"},
    "choose": {"names": ["North", "South", "West"], "scores": ["120", "95", "130"], "sensitivity": "1",
               "epsilon": "0.1", "mechanism": "permute-and-flip", "monotone": True},
    "learn": {"market": "simulated_market", "rate": "zcdp_rate", "epsilons": ["1", "10"], "delta": "0.000001"},
}  # fmt: skip


def made() -> dict[str, str]:
    """Return the text of each notebook by its file's name."""
    pages = {f"{page}.ipynb": notebook(page, **values) for page, values in VALUES.items()}
    scripts = {name: (HERE / f"{name}.py").read_text(encoding="utf-8") for name in WORKED}
    return pages | {f"{name}.ipynb": as_notebook(script) for name, script in scripts.items()}


if __name__ == "__main__":
    for name, text in made().items():
        (HERE / name).write_text(text, encoding="utf-8")
