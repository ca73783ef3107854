#!/usr/bin/env bash
# Evaluate on several devices; see dist_train.sh.
#   tools/dist_test.sh CONFIG CHECKPOINT DEVICES [arguments of tools/test.py]
set -euo pipefail
config=$1
checkpoint=$2
devices=$3
shift 3
torchrun --nnodes "${NNODES:-1}" --node_rank "${NODE_RANK:-0}" \
  --nproc_per_node "$devices" --master_addr "${MASTER_ADDR:-127.0.0.1}" \
  --master_port "${MASTER_PORT:-29500}" \
  "$(dirname "$0")/test.py" "$config" "$checkpoint" --launcher pytorch "$@"
