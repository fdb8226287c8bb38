#!/usr/bin/env bash
# Sets up everything that the tests need, a browser, a database server and Java included, and runs them all.
# Arguments go to pytest: bash tests/run.sh -k ledger
set -euo pipefail
cd "$(dirname "$0")/.."

UV=0.13.9
# Hundreds of tests start Python, which takes half as long with the bytecode that an earlier one has written.
unset PYTHONDONTWRITEBYTECODE

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }
stop() { echo "$1" >&2; exit 1; }

step "Python"
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop "Python 3.11 or later is needed; name one in PYTHON"
wanted=$({ "$python" --version; cat requirements.txt tests/requirements.txt; } | cksum)
if [ "$(cat .venv/.installed 2>/dev/null)" != "$wanted" ]; then
  "$python" -m venv .venv || stop "no environment can be made; on Debian and Ubuntu: apt-get install python3-venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check uv==$UV  # it installs in half the time
  .venv/bin/uv pip install --quiet --python .venv/bin/python -r tests/requirements.txt
  echo "$wanted" > .venv/.installed
fi
.venv/bin/python --version

# What comes from the distribution: the package, and what it is for.
install() {
  local as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
  { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$1"; } >/dev/null ||
    stop "no $2, and apt-get cannot install it: install $1 yourself"
}

step "Chromium"
# The shell draws pages as Chromium does, without the windows around them, which cost a fifth of the time.
find_chromium() {
  local name
  for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v $name && return
  done
  true
}
PRIVATE_RELEASE_CHROMIUM=${PRIVATE_RELEASE_CHROMIUM:-$(find_chromium)}
if [ -z "$PRIVATE_RELEASE_CHROMIUM" ]; then
  install chromium-headless-shell "Chromium (or name one in PRIVATE_RELEASE_CHROMIUM)"
  PRIVATE_RELEASE_CHROMIUM=$(find_chromium)
fi
"$PRIVATE_RELEASE_CHROMIUM" --version || stop "Chromium does not start: $PRIVATE_RELEASE_CHROMIUM"
export PRIVATE_RELEASE_CHROMIUM

step "PostgreSQL"
find_postgres() { ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -1 | grep . || command -v postgres || true; }
[ -n "$(find_postgres)" ] || install postgresql "PostgreSQL"
"$(find_postgres)" --version || stop "PostgreSQL does not start"

step "Java, for Spark"
command -v java >/dev/null || install default-jre-headless "Java"
java -version 2>&1 | head -1

if [ -n "${PRIVATE_RELEASE_NIGHTLY:-}" ]; then
  step "R and polars, which read releases"
  command -v Rscript >/dev/null || install r-base-core "R"
  Rscript -e 'quit(status = !requireNamespace("jsonlite", quietly = TRUE))' || install r-cran-jsonlite "jsonlite for R"
  Rscript --version
  .venv/bin/uv pip install --quiet --python .venv/bin/python polars==2.1.0
  step "systemd, which reads its units"
  command -v systemd-analyze >/dev/null || install systemd "systemd-analyze"
fi

step "Style"
.venv/bin/ruff check .
.venv/bin/ruff format --check .

step "Imports between rooms"
.venv/bin/lint-imports

step "Types, which are checked beside what follows"
.venv/bin/mypy > .venv/types.txt 2>&1 & types=$!
trap 'kill $types 2>/dev/null || true' EXIT

step "Documentation"
NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet  # Material advertises what comes after MkDocs

step "Tests"
# In a new checkout, each worker would compile all tests and what they import, which takes two thirds of collecting them.
if [ -z "$(find tests -name '*-pytest-*.pyc' -print -quit)" ]; then
  .venv/bin/python -m pytest --collect-only --quiet > /dev/null || true  # what is wrong is shown below
fi
.venv/bin/python -m pytest -n 3 --dist loadgroup --timeout 300 --durations 10 "$@"

step "Types"
wait $types || { cat .venv/types.txt; exit 1; }
cat .venv/types.txt

if [ -n "${PRIVATE_RELEASE_NIGHTLY:-}" ]; then
  step "Engines that are heavy, in an environment of their own"
  "$python" -m venv --without-pip .venv/engines
  for file in requirements engines; do
    .venv/bin/uv pip install --quiet --python .venv/engines/bin/python -r "tests/$file.txt"
  done
  PRIVATE_RELEASE_ENGINES=1 .venv/engines/bin/python -m pytest -n 0 --timeout 300 tests/sources/databases/test_copying.py
else
  step "Not run: $(grep -rhoE "mark\.(nightly|engines)" --include="test_*.py" tests | wc -l) tests that take long, and some of the cases of $(grep -rhoE "mark\.by_day" --include="test_*.py" tests | wc -l) more. PRIVATE_RELEASE_NIGHTLY=1 bash tests/run.sh runs them too"
fi
