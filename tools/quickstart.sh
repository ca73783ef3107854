#!/usr/bin/env bash
# From nothing to instance masks: installs, draws a data set, trains a small Mask R-CNN
# on this machine's CPU (under ten minutes on two cores), evaluates it, writes pictures.
# Running it again goes on where it stopped, and is quick once everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/environment.sh

config=configs/mini/maskrcnn_casvit.py
work_dir=work_dirs/quickstart

python tools/prepare_data.py shapes
python tools/train.py "$config" --work-dir "$work_dir" --resume
checkpoint=$(cat "$work_dir/last_checkpoint")
if [ ! -f "$work_dir/results/metrics.json" ] ||
  [ "$checkpoint" -nt "$work_dir/results/metrics.json" ]; then
  python tools/test.py "$config" "$checkpoint" --work-dir "$work_dir" \
    --out "$work_dir/results" --show-dir "$work_dir/pictures"
fi

python - "$work_dir" "$checkpoint" <<'PY'
import json, sys
work_dir, checkpoint = sys.argv[1:]
metrics = json.load(open(f'{work_dir}/results/metrics.json'))
print(f'''
bbox AP {metrics['coco/bbox_mAP']:.3f}, segm AP {metrics['coco/segm_mAP']:.3f} on the validation pictures
checkpoint  {checkpoint}
metrics     {work_dir}/results/metrics.json
pictures    {work_dir}/pictures/ (left the truth, right the prediction)
To train anew, move {work_dir} away.''')
PY
