"""What others add: the examples of docs/plugins.md load and run, and none gets past the ledger or to a row."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpengine as dpe
from dpengine.accounting.entry import Kind
from dpengine.charts.figures import release_figure
from dpengine.export import export, published
from dpengine.mechanism import MechanismResult, Noise, reopen, run_mechanism
from tests.command import run
from tests.documents import blocks
from tests.plans import CLINIC

EXAMPLES = Path(__file__).parent.parent / "docs" / "plugins"
PAGE = EXAMPLES.with_suffix(".md").read_text(encoding="utf-8")
PLAN = dpe.Plan(
    dataset="clinic", epsilon="1000", tables=[["region"]],
    columns=[dpe.Category(name="region", values=["North", "South", "=West"], other=False, missing=False)],
)  # fmt: skip
ROWS = pd.DataFrame({"region": ["North"] * 50 + ["South"] * 30 + ["=West"] * 80})


def leaking(self: Any, counts: Mapping[Any, Any], noise: Noise) -> list[dict[str, int]]:
    (cells,) = counts.values()
    return [{"cell": 0, "count": int(cells[0])}]


@pytest.mark.parametrize("leaks", [False, True])
def test_the_audit_in_the_documentation_notices_a_mechanism_that_leaks(
    leaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {}
    code = next(block.text for block in blocks(PAGE) if block.title == "audit_largest_cells.py")
    exec(code.replace("runs=2_000", "runs=200"), names)
    if leaks:
        monkeypatch.setattr(names["LargestCells"], "draw", leaking)
    found = names["audit"](*map(names["answers"], (50, 49)), alpha=1e-9).least_epsilon  # wrong once in 10⁹ runs
    assert (found > 1) == leaks


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An installed package that declares the examples as they say."""
    site = tmp_path_factory.mktemp("site")
    declared = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    for name, text in declared.items():
        (site / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    groups = [line.strip() for name in ("fixed_width", "to_sqlite") for line in declared[name].splitlines()[4:7]]
    about = site / "examples-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: examples\nVersion: 1.0\n")
    text = "\n".join(groups).replace('[project.entry-points."', "[").replace('"]', "]")
    (about / "entry_points.txt").write_text(text.replace('"', ""))
    monkeypatch.syspath_prepend(str(site))


def test_each_example_is_short() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLES.glob("*.py")}
    assert len(lengths) == 4
    assert max(lengths.values()) < 60


def test_a_source_is_found_by_the_ending_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.fixed").write_text("age region visit\n 17 North  2024-01-01\n    South\n", encoding="utf-8")
    with dpe.open_table(tmp_path / "t.fixed") as table:
        assert [field.name for field in table.columns] == ["age", "region", "visit"]
        made = dpe.release(table, dpe.Plan.loads(CLINIC).at(1000))
    counts = made.tables["age", "region"].set_index(["age", "region"])["count"]
    assert (counts["[0, 18)", "North"], counts["(missing)", "South"], counts.sum()) == (1, 1, 2)
    assert "region" in run("columns", tmp_path / "t.fixed").stdout


def test_what_a_source_says_of_a_fault_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.fixed").write_text("a\n", encoding="utf-8")
    for reader, message in ((lambda path: [][7], "failed on it"), (lambda path: "rows", "neither a DataFrame")):
        monkeypatch.setattr(import_module("fixed_width"), "read", reader)
        with pytest.raises(dpe.TableError, match=message) as caught:
            dpe.open_table(tmp_path / "t.fixed")
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_two_packages_of_one_ending_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[private_release.sources]\nfixed = other:read\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "t.fixed").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(dpe.PrivateReleaseError, match="several installed packages offer 'fixed'"):
        dpe.open_table(tmp_path / "t.fixed")


def test_a_mechanism_is_recorded_before_it_is_shown_and_drawn_once(ledger_url: str) -> None:
    ledger = dpe.Ledger(ledger_url)
    result = run_mechanism(import_module("largest_cells").LargestCells(2), ROWS, PLAN, ledger)
    assert [entry["cell"] for entry in result.value] == [2, 0]
    assert [entry["count"] for entry in result.value] == [80, 50]
    assert run_mechanism(import_module("largest_cells").LargestCells(2), ROWS.sample(frac=1), PLAN, ledger) == result
    (entry,) = ledger.history("clinic")
    assert (entry.kind, entry.epsilon, entry.release_id) == (Kind.MECHANISM, 1000, result.release_id)
    payload = ledger.payload(result.release_id)
    assert payload is not None
    assert reopen(payload) == result
    run_mechanism(import_module("largest_cells").LargestCells(1), ROWS, PLAN, ledger)
    assert ledger.spent("clinic") == 2000, "another name is another draw"


class Wrong:
    """A mechanism that may state or spend another ε than the plan's."""

    name = "wrong"

    def __init__(self, stated: Any, spent: Fraction | None) -> None:
        self.stated, self.spent, self.ran = stated, spent, False

    def charge(self, plan: dpe.Plan) -> Any:
        return self.stated

    def draw(self, counts: Mapping[Any, Any], noise: Noise) -> list[int]:
        self.ran = True
        (cells,) = counts.values()
        if self.spent is None:
            cells[0] = 0  # what it gets cannot be written to
        values: list[int] = noise.laplace(cells, Fraction(self.spent or 1)).tolist()
        return values


@pytest.mark.parametrize(
    ("mechanism", "error", "said", "ran"),
    [
        (Wrong(Fraction(1), Fraction(1000)), dpe.PlanError, "does not state the plan's ε", False),
        (Wrong(1000.0, Fraction(1000)), dpe.PlanError, "does not state the plan's ε", False),
        (Wrong(Fraction(1000), Fraction(1)), dpe.BudgetError, "did not spend exactly", True),
        (Wrong(Fraction(1000), Fraction(2000)), dpe.BudgetError, "did not spend exactly", True),
        (Wrong(Fraction(1000), None), dpe.LedgerError, "failed after noise had been drawn", True),
    ],
)
def test_a_mechanism_that_does_not_keep_its_price_shows_nothing(
    mechanism: Wrong, error: type[Exception], said: str, ran: bool, ledger_url: str
) -> None:
    ledger = dpe.Ledger(ledger_url)
    with pytest.raises(error, match=said):
        run_mechanism(mechanism, ROWS, PLAN, ledger)
    assert mechanism.ran == ran
    assert ledger.history() == []


def test_what_is_no_mechanism_is_told_what_one_is() -> None:
    with pytest.raises(dpe.PlanError, match=r"a name and the methods charge\(plan\) and draw\(counts, noise\)"):
        run_mechanism(object(), ROWS, PLAN, dpe.Ledger.in_memory())  # type: ignore[arg-type]


def test_a_cap_and_an_approval_stand_before_a_mechanism(ledger_url: str) -> None:
    ledger = dpe.Ledger(ledger_url)
    ledger.set_cap("clinic", 999)
    honest = Wrong(Fraction(1000), Fraction(1000))
    with pytest.raises(dpe.BudgetError, match="does not allow"):
        run_mechanism(honest, ROWS, PLAN, ledger)
    ledger.set_cap("clinic", 5000)
    ledger.approvals.set_rule("clinic", needed=True)
    with pytest.raises(dpe.BudgetError, match="approval"):
        run_mechanism(honest, ROWS, PLAN, ledger)
    assert not honest.ran
    assert ledger.history() == []


def test_noise_allows_for_persons_with_several_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    module, scales = import_module("dpengine.mechanism"), []
    monkeypatch.setattr(module, "perturb", lambda values, scale: scales.append(scale) or values)
    monkeypatch.setattr(module, "permute_and_flip", lambda scores, epsilon, moved: scales.append((epsilon, moved)) or 0)
    noise = Noise(Fraction(1), rows_per_person=3)
    noise.laplace([1], Fraction(1, 2), sensitivity=2)
    noise.choose([1, 2], Fraction(1, 4), sensitivity=2)
    assert scales == [12, (Fraction(1, 4), 6)]
    assert noise.spent == Fraction(3, 4)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="above 0"):
            noise.laplace([1], Fraction(1), sensitivity=wrong)
        with pytest.raises(ValueError, match="above 0"):
            noise.choose([1], Fraction(wrong))
    noise.choose([1, 2], Fraction(1, 4), sensitivity=Fraction(3, 2))
    assert scales[2:] == [(Fraction(1, 4), 5)], "rounded up"


@pytest.mark.parametrize(
    "values", [[0.5], [1.0], np.array([0.5, 2], dtype=object), np.array([Fraction(1, 3)]), [1 + 2j], ["1"], [None]]
)
def test_noise_is_added_to_whole_numbers_alone(values: Any) -> None:
    """Noise is whole: what stands after the point would be published as it is, such as the parity of a halved count."""
    with pytest.raises(TypeError, match="whole numbers"):
        Noise(Fraction(1)).laplace(values, 1)


@pytest.mark.parametrize(
    "values", [[2**53 + 1], np.array([2**64 - 1], dtype=np.uint64), [2**70], [True], [], [[1], [2]]]
)
def test_whole_numbers_of_any_size_get_exact_noise(values: Any) -> None:
    noisy = Noise(Fraction(1)).laplace(values, 10_000)  # at this scale, noise is 0 but for one time in e^10,000
    assert noisy.tolist() == [*map(int, values)] if np.ndim(values) == 1 else noisy.shape == (2, 1)


def test_plans_of_more_than_counts_are_refused() -> None:
    columns = [dpe.YesNo(name="a"), {"name": "pay", "kind": "amount", "from": 0, "to": 9}]
    plan = dpe.Plan(dataset="d", epsilon=1, columns=columns, tables=[{"columns": ["a"], "mean": ["pay"]}])
    with pytest.raises(dpe.PlanError, match="leave means"):
        run_mechanism(Wrong(Fraction(1), Fraction(1)), pd.DataFrame({"a": [], "pay": []}), plan)


def test_an_invalid_result_of_a_mechanism_is_refused() -> None:
    for payload in (b"", b"[]", b"{}", b'{"kind": "answer"}', b'{"kind": "mechanism", "value": 1}'):
        with pytest.raises(dpe.LedgerError, match="not the result of a mechanism"):
            reopen(payload)
    result = MechanismResult("m", [1], "key", "d", "1", "id", "now", "0")
    assert reopen(result.to_bytes()) == result


def test_a_plugin_chart_draws_published_numbers() -> None:
    made = dpe.release(ROWS, PLAN)
    figure = release_figure(made, ("region",), form=import_module("dot_chart").dot_chart)
    assert figure.data[0].x.tolist() == made.tables[("region",)]["count"].tolist()
    assert figure.layout.title.text


def test_an_export_gets_published_numbers_and_nothing_else(tmp_path: Path) -> None:
    bundle, path = tmp_path / "r.zip", tmp_path / "r.sqlite"
    made = dpe.release(ROWS, PLAN, dpe.Ledger(f"sqlite:///{tmp_path}/l.db"))
    made.save(bundle)
    done = run("export", bundle, "--as", "sqlite", "-o", path)
    assert (done.exit_code, done.stdout) == (0, "r.sqlite: r.zip as sqlite\n")
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT region, count FROM region").fetchall()
        facts = dict(database.execute("SELECT * FROM manifest").fetchall())
    database.close()
    assert rows == list(zip(ROWS.region.unique(), made.tables[("region",)]["count"].tolist(), strict=True))
    assert facts["epsilon"] == "1000"
    assert run("export", bundle, "--as", "sqlite", "-o", path).exit_code == 2, "it is there already"
    seen = published(bundle)
    assert set(vars(seen)) <= {"manifest", "plan", "content", "tables"}
    for table, frame in seen.tables.items():
        pd.testing.assert_frame_equal(frame, made.tables[table], check_dtype=False)


def test_an_export_of_a_damaged_bundle_or_in_an_unknown_form_is_refused(tmp_path: Path, bundle: bytes) -> None:
    with pytest.raises(dpe.ReleaseError, match="'sdmx'; there is: xlsx, sqlite"):
        export(bundle, "sdmx", tmp_path / "out")
    with pytest.raises(dpe.ReleaseError):
        export(bundle[:-200], "sqlite", tmp_path / "out")
    with pytest.raises(dpe.ReleaseError, match="cannot be read"):
        export(tmp_path / "gone.zip", "sqlite", tmp_path / "out")
    assert not (tmp_path / "out").exists()
