#!/usr/bin/env bash
# Sets up everything that the tests need, a browser included, and runs them all.
# Arguments go to pytest: bash tests/run.sh -k ledger
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }
stop() { echo "$1" >&2; exit 1; }

step "Python"
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop "Python 3.11 or later is needed; name one in PYTHON"
wanted=$({ "$python" --version; cat requirements.txt tests/requirements.txt; } | cksum)
if [ "$(cat .venv/.installed 2>/dev/null)" != "$wanted" ]; then
  "$python" -m venv .venv || stop "no environment can be made; on Debian and Ubuntu: apt-get install python3-venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
  echo "$wanted" > .venv/.installed
fi
.venv/bin/python --version

step "Chromium"
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
PRIVATE_RELEASE_CHROMIUM=${PRIVATE_RELEASE_CHROMIUM:-$(find_chromium)}
if [ -z "$PRIVATE_RELEASE_CHROMIUM" ]; then
  as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
  { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null ||
    stop "no Chromium, and apt-get cannot install it: install it, or name it in PRIVATE_RELEASE_CHROMIUM"
  PRIVATE_RELEASE_CHROMIUM=$(find_chromium)
fi
"$PRIVATE_RELEASE_CHROMIUM" --version || stop "Chromium does not start: $PRIVATE_RELEASE_CHROMIUM"
export PRIVATE_RELEASE_CHROMIUM

step "Style"
.venv/bin/ruff check .
.venv/bin/ruff format --check .

step "Types"
.venv/bin/mypy

step "Tests"
.venv/bin/python -m pytest -n 2 --dist loadgroup --timeout 300 --durations 10 "$@"
