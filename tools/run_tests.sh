#!/usr/bin/env bash
# Run the whole default test lane in the same environment as quickstart.sh.
# Arguments go to pytest: tools/run_tests.sh tests/backbones -k casvit
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/environment.sh

# One thread per worker: two busy workers fill two cores.
workers=$(python -c 'import os; print(os.cpu_count() or 1)')
OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg \
  python -m pytest -n "$workers" --dist worksteal "$@"
