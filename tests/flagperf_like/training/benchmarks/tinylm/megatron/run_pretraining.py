"""A benchmark of the shape of FlagPerf's that start Megatron: one process per node, and lines of text in the end."""

import argparse
import importlib
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("nproc_per_node", "nnodes", "node_rank", "master_port"):
    parser.add_argument("--" + name, type=int, required=True)
for name in ("master_addr", "vendor", "data_dir", "log_dir", "flagperf_config_file"):
    parser.add_argument("--" + name, required=True)
asked = parser.parse_args()
sys.path.append(str(Path(asked.flagperf_config_file).parent))
config = importlib.import_module(Path(asked.flagperf_config_file).stem)
Path(asked.log_dir, "megatron.log.txt").write_text(f"node {asked.node_rank} of {asked.nnodes}\n")
devices = asked.nproc_per_node * asked.nnodes
if asked.node_rank == 0:
    print("System tokens per second: ", 1000.0 * devices)
    print("Tokens/p/s: ", 1000.0)
    print("Theory TFLOPS: ", config.theoryflops / 1e12)
    print("MFU: ", 1000.0 * 6 * 7e9 / config.theoryflops)
