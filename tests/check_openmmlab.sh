#!/usr/bin/env bash
# The classic distributions instead of the OneDL ones: makes an environment of their own
# (6 GB, some minutes), trains the mini Mask R-CNN for one epoch, runs the tests of the
# operators and backbones. Not part of the default lane.
#   tests/check_openmmlab.sh [ENVIRONMENT, default .venv-openmmlab]
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:-.venv-openmmlab}

[ -f "$environment/bin/activate" ] || python3 -m venv "$environment"
. "$environment/bin/activate"
python -m pip install --quiet --disable-pip-version-check -e '.[openmmlab,test]'
python -m pip list 2>/dev/null | grep -E '^(mm|torch)'

python tools/prepare_data.py shapes
python tools/train.py configs/mini/maskrcnn_casvit.py --work-dir work_dirs/openmmlab \
  --cfg-options train_cfg.max_epochs=1
OMP_NUM_THREADS=1 python -m pytest -q -n 2 tests/backbones tests/compat tests/configs
