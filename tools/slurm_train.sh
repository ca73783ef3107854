#!/usr/bin/env bash
# Train under Slurm.
#   [GPUS=8 GPUS_PER_NODE=8 CPUS_PER_TASK=5 SRUN_ARGS=...] \
#     tools/slurm_train.sh PARTITION JOB_NAME CONFIG [arguments of tools/train.py]
set -euo pipefail
partition=$1
job=$2
config=$3
shift 3
gpus=${GPUS:-8}
per_node=${GPUS_PER_NODE:-8}
[ "$gpus" -ge "$per_node" ] || per_node=$gpus
# shellcheck disable=SC2086
srun -p "$partition" --job-name "$job" --gres "gpu:$per_node" --ntasks "$gpus" \
  --ntasks-per-node "$per_node" --cpus-per-task "${CPUS_PER_TASK:-5}" \
  --kill-on-bad-exit=1 ${SRUN_ARGS:-} \
  python -u "$(dirname "$0")/train.py" "$config" --launcher slurm "$@"
