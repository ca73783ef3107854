"""Time and peak memory of operators and backbones, measured in turn in one process.

The first name is what ratios refer to. With several sizes a table shows whether the
costs of a pixel grow.

    python tools/benchmark.py acmix acmix_unfold conv3x3 --size 200 336 --channels 64
    python tools/benchmark.py resnet50 acmix_resnet50 --size 800 1344 --mode forward
    python tools/benchmark.py casvit_xs casvit_m configs/mini/maskrcnn_acmix.py
    python tools/benchmark.py self_attention separable swift additive --mode forward \
        --size 14 14 --size 56 56 --size 200 336 --runs 3
    python tools/benchmark.py attention_tiles attention_flex --size 200 336 \
        --device cuda --dtype float16
"""

import argparse
import json
from functools import partial

import torch
from rich.progress import track

from mmcasvit.analysis.benchmark import Subject, as_json, environment, measure
from mmcasvit.analysis.complexity import add_costs
from mmcasvit.analysis.subjects import Setting, make_subject
from mmcasvit.analysis.table import print_growth, print_results
from mmcasvit.engine.launch import run_tool
from mmcasvit.engine.preflight import PreflightError

DTYPES = dict(float32=torch.float32, bfloat16=torch.bfloat16, float16=torch.float16)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('names', nargs='+', help='operators, backbones, config files')
    parser.add_argument('--size', nargs=2, type=int, action='append', dest='sizes')
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument('--channels', type=int, default=64, help='of operators')
    parser.add_argument('--heads', type=int, default=4, help='of operators')
    parser.add_argument('--mode', choices=['forward', 'train', 'both'], default='both')
    parser.add_argument('--runs', type=int, default=7)
    parser.add_argument('--threads', type=int, help='of the CPU')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--dtype', choices=DTYPES, default='float32')
    parser.add_argument('--out', metavar='FILE', help='write everything as JSON')
    return parser.parse_args()


def make_subjects(
    args: argparse.Namespace, size: tuple[int, int], device: torch.device
) -> list[Subject]:
    dtype = DTYPES[args.dtype]
    setting = Setting(size, args.batch, args.channels, args.heads, device, dtype)
    try:
        return [make_subject(name, setting) for name in args.names]
    except ValueError as error:
        raise PreflightError(str(error)) from error


def main() -> None:
    args = parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True  # sizes are fixed: kernels chosen by trial
    device = torch.device(args.device)
    if device.type == 'cuda' and not torch.cuda.is_available():
        raise PreflightError('--device cuda: PyTorch sees no GPU; leave the option out')
    args.sizes = [tuple(size) for size in args.sizes or [(224, 224)]]
    modes = ['forward', 'train'] if args.mode == 'both' else [args.mode]
    found = vars(args) | environment(device)
    print(
        f'{found["device_name"]} ({device}), {found["threads"]} threads, '
        f'PyTorch {found["torch"]}, {args.dtype}, batch {args.batch}, '
        f'{args.channels} channels (operators), {args.runs} runs in turn'
    )
    for mode in modes:
        found[mode] = []
        for size in args.sizes:
            subjects = make_subjects(args, size, device)
            title = f'{mode}, {size[0]}×{size[1]}'
            results = measure(
                subjects,
                train=mode == 'train',
                runs=args.runs,
                progress=partial(track, description=title, transient=True),
            )
            add_costs(subjects, results)
            print_results(title, results, args.batch)
            found[mode].append(results)
        if len(args.sizes) > 1:
            print_growth(mode, args.sizes, found[mode])
        found[mode] = [as_json(results) for results in found[mode]]
    if args.out:
        with open(args.out, 'w') as file:
            json.dump(found, file, indent=2)


if __name__ == '__main__':
    run_tool(main)
