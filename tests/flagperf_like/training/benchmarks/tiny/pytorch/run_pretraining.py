"""A benchmark of the shape of those that train with DDP: settings in a file, steps as text, one FINISHED per node."""

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))
record = importlib.import_module("driver.perf_records").record

parser = argparse.ArgumentParser()
for name in ("extern_config_dir", "extern_config_file", "vendor", "data_dir", "extern_module_dir"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("--enable_extern_config", action="store_true", required=True)
asked = parser.parse_args()

sys.path.append(asked.extern_config_dir)
sys.path.append(asked.extern_module_dir)
config = importlib.import_module(asked.extern_config_file[: -len(".py")])
importlib.import_module("trainer_adapter")
rank, world_size, local_rank = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
for name, value in vars(config).items():
    if not name.startswith("_"):
        print(f"SET CONFIG {name} = {value}")

record("INIT_START")
begin = time.perf_counter()
if not Path(asked.data_dir).is_dir():
    raise ValueError(f"data_dir '{asked.data_dir}' not exists.")
print("FROM_SCRIPT is", os.environ.get("FROM_SCRIPT"))
# Some benchmarks write into their checkout, and find what others have written there.
assert not (HERE / "made.txt").exists(), "another rank has been here"
(HERE / "made.txt").write_text(str(rank))
record("INIT_END")
record("TRAIN_START")
for step in range(config.max_steps):
    if step == getattr(config, "_dies_at", None) and rank == world_size - 1:
        sys.exit(7)
    time.sleep(0.05)
    print(f"Train Step {step}/{config.max_steps}, Loss : {getattr(config, '_loss', 6.84 / (step + 1))}", flush=True)
record("TRAIN_END")
if local_rank == 0:
    seconds = time.perf_counter() - begin
    rate = config.train_batch_size * world_size * config.max_steps / seconds
    record(
        "FINISHED",
        {
            "e2e_time": seconds,
            "train_time": seconds,
            "train_no_eval_time": seconds,
            "pure_training_computing_time": seconds,
            "throughput(ips)_raw": rate,
            "throughput(ips)_no_eval": rate,
            "throughput(ips)_pure_compute": rate,
            "converged": config.target_acc1 <= 0.75,
            "final_acc1": 0.75,
        },
    )
