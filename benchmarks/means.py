"""Compare errors of means by group with those of peers at the same ε, and of a question for each group.

    for peer in diffprivlib opendp smartnoise tumult; do
        python -m venv venvs/$peer && venvs/$peer/bin/pip install -r benchmarks/peers/$peer.txt
    done                                             # Tumult needs Java as well
    python benchmarks/means.py venvs                 # all; status 1 if a limit is passed
    python benchmarks/means.py venvs opendp tumult   # those named alone
    python benchmarks/means.py rows                  # alone: how long 10⁷ rows take, beside counts without means

Pure ε, one row a person, added or removed; groups and bounds are declared. Each peer does it in the way that its own
documentation shows, in an environment of its own. Shown is the root mean square of (mean − true mean) over groups and
runs, as a part of the range; a mean outside the bounds counts as the bound, and none at all as the middle. The tables:
weeks worked by schooling in the census sample of `data`, and two that are simulated: 20 groups of 188 to 3,029 people
with skewed incomes, and 50 groups of 20 to 4,000 people of whom one in ten has the highest value and the rest nothing.

It also prints how often intervals hold, for groups of 30 to 30,000 people, and names the worst; with the word `pairs`
alone, those of a standard deviation, and of covariance, correlation and slope of two amounts. Of these, intervals of
groups that are too small for their noise reach over all that is possible, and so always hold: limits are for the
others, and for all together. Errors of a standard deviation are compared with those of the usual way, which spends a
third of ε each on the count, the sum and the sum of squares around the middle of the range.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from peers.mean_task import MeanTask

from dpengine import Category, Condition, Grid, Mean, Plan, Question, ask, open_table, release
from dpengine.estimate.amounts import mean_intervals
from dpengine.estimate.associations import associations
from dpengine.estimate.estimates import derive_estimates
from dpengine.measure.strategy import decide
from dpengine.spec.numeric.association import limit_of, unit_of

SCRIPTS, DATA = Path(__file__).parent / "peers", Path(__file__).parent.parent / "data"
PEERS = ("diffprivlib", "opendp", "smartnoise", "tumult")
EPSILONS, RUNS, FEWER = ("0.1", "1", "3"), 40, 12
BEST, SINGLE = 0.75, 1 / 25  # of the error of the best peer, and of a question for each group
SLOWER = 1.5  # times as long as the counts alone
COVERED, DRAWS = (0.945, 0.97), 1500
PAIR_MOST, PAIR_DRAWS = 0.99, 600
SPREAD = {"standard_deviation": ["pay"]}
PAIRS = (
    SPREAD,
    {"covariance": [["pay", "hours"]]},
    {"correlation": [["pay", "hours"]]},
    {"slope": [{"of": "pay", "on": "hours"}]},
)
MEANS = [{"columns": ["grp"], "mean": ["amount"]}]


@dataclass(frozen=True)
class Table:
    """A table of groups and amounts, with the declared bounds."""

    name: str
    frame: pd.DataFrame
    groups: list[str]
    low: float
    high: float

    def true(self) -> np.ndarray:
        """Return the mean of each group, bounded as declared."""
        bounded = self.frame.assign(amount=self.frame.amount.clip(self.low, self.high))
        return bounded.groupby("grp").amount.mean()[self.groups].to_numpy()

    def plan(self, epsilon: str) -> Plan:
        """Return the plan that publishes the means."""
        columns = [
            {"name": "grp", "kind": "category", "values": self.groups, "other": False, "missing": False},
            {"name": "amount", "kind": "amount", "from": self.low, "to": self.high, "missing": False},
        ]
        return Plan(dataset=self.name, epsilon=epsilon, columns=columns, tables=MEANS)


def tables() -> list[Table]:
    """Return the tables of the comparison; the simulated ones are always the same."""
    census = pd.read_parquet(DATA / "census.parquet", columns=["education", "weeks_worked"])
    census = census.rename(columns={"education": "grp", "weeks_worked": "amount"}).dropna()
    rng = np.random.default_rng(2026)
    sizes = np.round(np.geomspace(188, 3029, 20)).astype(int)
    groups = np.repeat(np.arange(20), sizes)
    incomes = np.round(rng.lognormal(10.2 + rng.normal(0, 0.2, 20)[groups], 0.7))
    many = np.repeat(np.arange(50), np.round(np.geomspace(20, 4000, 50)).astype(int))
    return [
        Table("weeks by schooling", census, sorted(census.grp.unique()), 0, 52),
        Table("skewed incomes", _frame(groups, incomes), [f"g{k}" for k in range(20)], 0, 200_000),
        Table(
            "one in ten", _frame(many, 1000.0 * (rng.random(many.size) < 0.1)), [f"g{k}" for k in range(50)], 0, 1000
        ),
    ]


def _frame(groups: np.ndarray, amounts: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"grp": [f"g{k}" for k in groups], "amount": amounts})


def ours(table: Table, epsilon: str, runs: int) -> np.ndarray:
    """Return the means of some releases."""
    plan = table.plan(epsilon)
    return np.array([release(table.frame, plan).tables["grp",].mean_amount.to_numpy() for _ in range(runs)])


def questions(table: Table, epsilon: str, runs: int) -> np.ndarray:
    """Return the means of a question for each group, which has its part of ε."""
    found = np.empty((runs, len(table.groups)))
    each = str(Fraction(epsilon) / len(table.groups))
    with open_table(table.frame) as opened:
        for run, (place, name) in product(range(runs), enumerate(table.groups)):
            group = Category(name="grp", values=table.groups, other=False, missing=False)
            question = Question(
                dataset="d", epsilon=each, where=[Condition(column=group, labels=[name])],
                statistic=Mean(of=Grid(name="amount", low=table.low, high=table.high)),
            )  # fmt: skip
            found[run, place] = ask(opened, question).value
    return found


def peer(name: str, python: Path, table: Table, path: Path, epsilon: str, runs: int) -> np.ndarray:
    """Return the means that a peer publishes."""
    task = MeanTask(str(path), "grp", table.groups, "amount", table.low, table.high, float(epsilon), runs)
    command = [str(python), str(SCRIPTS / f"mean_{name}.py"), json.dumps(asdict(task))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr[-2000:]}")
    return np.array([json.loads(line) for line in done.stdout.splitlines()])


def error(table: Table, means: np.ndarray) -> float:
    """Return the root mean square error as a part of the range."""
    wide = table.high - table.low
    bounded = np.clip(np.nan_to_num(means, nan=(table.low + table.high) / 2), table.low, table.high)
    return float(np.sqrt(np.mean(((bounded - table.true()) / wide) ** 2)))


def coverage() -> list[str]:
    """Print how often intervals hold the true mean, by ε and kind of values, and for the worst size of group."""
    faults, sizes = [], [30, 100, 300, 1000, 3000, 10_000, 30_000]
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    kinds = {"skewed": rng.lognormal(5, 0.9, groups.size), "two values": 1000.0 * (rng.random(groups.size) < 0.1)}
    for kind, epsilon in product(kinds, ("0.1", "1", "10")):
        amounts = np.clip(np.round(kinds[kind]), 0, 1000).astype(np.int64)
        plan = Table(kind, _frame(groups, amounts), [f"g{k}" for k in range(len(sizes))], 0, 1000).plan(epsilon)
        true, amount = np.bincount(groups, amounts) / sizes / 1000, plan.amount("amount")
        high = np.bincount(groups, amounts).astype(np.int64)
        exact = np.stack([amount.grain * np.array(sizes) - high, high])  # amount × grp, as it is measured
        held, strategy = np.zeros(len(sizes)), decide(plan)
        for _ in range(DRAWS):
            estimates = derive_estimates(strategy.plan, strategy.measure(lambda marginals, exact=exact: [exact]))
            low, top = mean_intervals(amount, ("grp",), estimates.soft)
            held += (low <= true) & (true <= top)
        worst = int(held.argmin())
        mean = float(held.mean()) / DRAWS
        print(f"{kind}, ε = {epsilon}: {mean:.1%} held; worst groups of {sizes[worst]:,}: {held[worst] / DRAWS:.1%}")
        if not COVERED[0] <= mean <= COVERED[1]:
            faults.append(f"intervals hold in {mean:.1%} of cases for {kind} at ε = {epsilon}")
    return faults


def pair_coverage() -> list[str]:
    """Print how often intervals hold for standard deviation, covariance, correlation and slope, each measured alone."""
    faults, sizes = [], [30, 100, 300, 1000, 3000, 10_000, 30_000]
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    hours = {
        "even": rng.normal(40, 12, groups.size),
        "two values": 100.0 * (rng.random(groups.size) < 0.1),
        "skewed": rng.exponential(15, groups.size),
    }
    for (kind, values), epsilon, asked in product(hours.items(), ("0.1", "1", "10"), PAIRS):
        x = np.clip(np.round(values), 0, 100).astype(np.int64)
        extra = rng.lognormal(4, 0.9, groups.size)
        y = np.clip(np.round((extra + 5 * x) / 5), 0, 200).astype(np.int64)
        plan = _pair_plan(epsilon, asked, len(sizes))
        strategy, of, on = decide(plan), plan.amount("pay"), plan.amount("hours")
        (columns,) = strategy.marginals
        exact = np.zeros(plan.shape(columns), dtype=np.int64)
        (pair,) = plan.associations(("grp",))
        shared = on.corners(*on.split(x)) if pair.kind != "standard_deviation" else [(x, np.ones_like(x))]
        for (cells, units), (others, more) in product(of.corners(*of.split(y)), shared):
            where = {"grp": groups, "pay": cells, "hours": others}
            np.add.at(exact, tuple(where[name] for name in columns), units * more)
        both = [np.cov(5 * y[groups == g], x[groups == g], ddof=0) for g in range(len(sizes))]
        divided = {"slope": (0, 2), "correlation": (1, 1)}.get(pair.kind, (0, 0))
        true = np.array([each[0, 1] / np.prod(np.sqrt(np.diag(each)) ** divided) for each in both])
        if pair.kind == "standard_deviation":
            true = np.array([np.sqrt(each[0, 0]) for each in both])
        held, whole, off = np.zeros(len(sizes)), np.zeros(len(sizes)), []
        for _ in range(PAIR_DRAWS):
            soft = derive_estimates(strategy.plan, strategy.measure(lambda marginals, exact=exact: [exact])).soft
            middle, low, high = associations(pair, of, on, ("grp",), soft)
            held += (low <= true) & (true <= high)
            whole += high - low == limit_of(pair, on) * unit_of(pair, of, on) * len(pair.amounts)
            off.append(middle - true)
        known = PAIR_DRAWS - whole
        worst = int(np.where(known > PAIR_DRAWS / 4, held / PAIR_DRAWS, 2.0).argmin())
        share = float((held - whole).sum() / known.sum())
        print(
            f"{pair.kind}, {kind}, ε = {epsilon}: {share:.1%} held, {held.mean() / PAIR_DRAWS:.1%} with those "
            f"of groups too small; worst groups of {sizes[worst]:,}: {held[worst] / PAIR_DRAWS:.1%}",
            flush=True,
        )
        if pair.kind == "standard_deviation":
            error = np.sqrt(np.mean(np.square(off), axis=0))
            times = error / _usual_deviation_error(5 * y, groups, epsilon, true)
            print(f"  error, of that of the usual way: {', '.join(f'{each:.2f}' for each in times)} by size of group")
        if share < COVERED[0] <= held.mean() / PAIR_DRAWS <= PAIR_MOST:
            faults.append(f"intervals of the {pair.kind} hold in {share:.1%} of cases for {kind} at ε = {epsilon}")
    return faults


def _usual_deviation_error(pay: np.ndarray, groups: np.ndarray, epsilon: str, true: np.ndarray) -> np.ndarray:
    """Return the error of standard deviations from noisy counts, sums and sums of squares, by group."""
    centred, scale = pay - 500.0, 3 / float(epsilon)
    exact = [np.bincount(groups, centred**power) for power in range(3)]
    rng, off = np.random.default_rng(11), []
    for _ in range(PAIR_DRAWS):
        people, sums, squares = (
            each + rng.laplace(scale=scale * 500.0**power, size=len(each)) for power, each in enumerate(exact)
        )
        mean = np.clip(sums / np.maximum(people, 1), -500, 500)
        off.append(np.sqrt(np.clip(squares / np.maximum(people, 1) - mean**2, 0, 500.0**2)) - true)
    return np.sqrt(np.mean(np.square(off), axis=0))


def _pair_plan(epsilon: str, asked: dict, groups: int) -> Plan:
    """Return the plan that publishes one number of a pair of amounts."""
    columns = [
        {
            "name": "grp",
            "kind": "category",
            "values": [f"g{k}" for k in range(groups)],
            "other": False,
            "missing": False,
        },
        {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "step": 5, "missing": False},
        {"name": "hours", "kind": "amount", "from": 0, "to": 100, "missing": False},
    ]
    return Plan(dataset="pairs", epsilon=epsilon, columns=columns, tables=[{"columns": ["grp"]} | asked])


def large() -> list[str]:
    """Print how long a mean by 20 groups of 10⁷ rows of Parquet takes, beside the counts alone, in turn."""
    columns = [
        {"name": "grp", "kind": "category", "values": [f"g{k}" for k in range(20)]},
        {"name": "pay", "kind": "amount", "from": 0, "to": 1000, "step": 5},
    ]
    plans = {
        "counts": Plan(dataset="rows", epsilon=1, columns=columns[:1], tables=[["grp"]]),
        "means": Plan(dataset="rows", epsilon=1, columns=columns, tables=[{"columns": ["grp"], "mean": ["pay"]}]),
    }
    with tempfile.TemporaryDirectory() as folder:
        path, rng = Path(folder) / "rows.parquet", np.random.default_rng(5)
        groups = rng.choice([f"g{k}" for k in range(20)], 10**7)
        pd.DataFrame({"grp": groups, "pay": rng.integers(0, 1001, 10**7)}).to_parquet(path)
        seconds: dict[str, list[float]] = {name: [] for name in plans}
        for _ in range(5):
            for name, plan in plans.items():
                begun = time.perf_counter()
                with open_table(path) as table:
                    release(table, plan)
                seconds[name].append(time.perf_counter() - begun)
    found = {name: float(np.median(times)) for name, times in seconds.items()}
    ratio = found["means"] / found["counts"]
    print(f"10⁷ rows: counts {found['counts']:.2f} s, with means {found['means']:.2f} s: {ratio:.2f} times")
    return [f"10⁷ rows take {ratio:.2f} times as long with means"] if ratio > SLOWER else []


def main() -> None:
    """Compare, and judge."""
    if sys.argv[1:] == ["rows"]:
        faults = large()
        print("\n".join(faults) or "within all limits")
        sys.exit(bool(faults))
    if sys.argv[1:] == ["pairs"]:
        faults = pair_coverage()
        print("\n".join(faults) or "within all limits")
        sys.exit(bool(faults))
    venvs = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("venvs")
    names = [name for name in PEERS if name in sys.argv[2:] or len(sys.argv) < 3]
    faults = coverage() + pair_coverage()
    with tempfile.TemporaryDirectory() as folder:
        for table, epsilon in product(tables(), EPSILONS):
            path = Path(folder) / f"{table.name}.parquet"
            table.frame.to_parquet(path)
            errors = {"ours": error(table, ours(table, epsilon, RUNS))}
            errors |= {name: error(table, peer(name, venvs / name / "bin" / "python", table, path, epsilon, FEWER))
                       for name in names}  # fmt: skip
            errors["a question each"] = error(table, questions(table, epsilon, 3))
            best = min(errors[name] for name in names) if names else float("nan")
            shown = ", ".join(f"{name} {found:.5f}" for name, found in errors.items())
            print(
                f"{table.name}, ε = {epsilon}: {shown}; ours is {errors['ours'] / best:.2f} of the best peer",
                flush=True,
            )
            if errors["ours"] > BEST * best:
                faults.append(f"{table.name} at ε = {epsilon}: {errors['ours'] / best:.2f} of the best peer's error")
            if errors["ours"] > SINGLE * errors["a question each"]:
                part = errors["ours"] / errors["a question each"]
                faults.append(f"{table.name} at ε = {epsilon}: {part:.3f} of the error of a question each")
    print("\n".join(faults) or "within all limits")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
