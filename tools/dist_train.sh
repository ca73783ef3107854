#!/usr/bin/env bash
# Train on several devices of one machine (or several machines: NNODES, NODE_RANK,
# MASTER_ADDR, MASTER_PORT).
#   tools/dist_train.sh CONFIG DEVICES [arguments of tools/train.py]
set -euo pipefail
config=$1
devices=$2
shift 2
torchrun --nnodes "${NNODES:-1}" --node_rank "${NODE_RANK:-0}" \
  --nproc_per_node "$devices" --master_addr "${MASTER_ADDR:-127.0.0.1}" \
  --master_port "${MASTER_PORT:-29500}" \
  "$(dirname "$0")/train.py" "$config" --launcher pytorch "$@"
