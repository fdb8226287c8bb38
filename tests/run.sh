#!/usr/bin/env bash
# Sets up everything that the tests need, a browser included, and runs them all.
# Arguments go to pytest: bash tests/run.sh -k ledger
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

step "Python"
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed" >&2; exit 1; }
[ -x .venv/bin/python ] || "$python" -m venv .venv
wanted=$(cat requirements.txt tests/requirements.txt | sha256sum)
if [ "$(cat .venv/.installed 2>/dev/null)" != "$wanted" ]; then
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
  echo "$wanted" > .venv/.installed
fi
.venv/bin/python --version

step "Chromium"
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
PRIVATE_RELEASE_CHROMIUM=${PRIVATE_RELEASE_CHROMIUM:-$(find_chromium)}
if [ -z "$PRIVATE_RELEASE_CHROMIUM" ]; then
  as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq chromium >/dev/null
  PRIVATE_RELEASE_CHROMIUM=$(find_chromium)
fi
[ -n "$PRIVATE_RELEASE_CHROMIUM" ] || { echo "No Chromium: install it, or name it in PRIVATE_RELEASE_CHROMIUM" >&2; exit 1; }
export PRIVATE_RELEASE_CHROMIUM
"$PRIVATE_RELEASE_CHROMIUM" --version

step "Style"
.venv/bin/ruff check .
.venv/bin/ruff format --check .

step "Types"
.venv/bin/mypy

step "Tests"
.venv/bin/python -m pytest -n 2 --dist loadgroup --timeout 300 --durations 10 "$@"
