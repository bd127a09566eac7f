"""Our training step of ResNet-50 against the plain loop of a textbook, on the CPU, in samples per second.

Needs a Python that has PyTorch, and nothing else:

python bench/resnet50.py --batch 16 --image-size 64

The two take turns, each in a process of its own so that neither lives with the other's settings. The plain loop has
a ResNet-50 of its own, written as tutorials write it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workloads" / "resnet50"))
import torch  # noqa: E402
from torch import nn  # noqa: E402

Step = Callable[[], float]


class PlainBlock(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * 4, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels != width * 4:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, width * 4, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(width * 4)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        x += identity
        return self.relu(x)


class PlainResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        blocks: list[nn.Module] = []
        channels = 64
        for width, count, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for number in range(count):
                blocks.append(PlainBlock(channels, width, first_stride if number == 0 else 1))
                channels = width * 4
        self.layers = nn.Sequential(*blocks)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layers(x))
        return self.fc(torch.flatten(x, 1))


def plain_step(batch: int, image_size: int) -> Step:
    torch.manual_seed(1)
    model = PlainResNet50()
    images, labels = torch.randn(batch, 3, image_size, image_size), torch.randint(1000, (batch,))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def step() -> float:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def our_step(batch: int, image_size: int) -> Step:
    import devices
    import flags
    import train_pytorch
    from ranks import Ranks
    from trainer import Trainer

    asked = flags.parse("bench", None, ["--device=cpu", f"--batch={batch}", f"--image-size={image_size}"])
    alone, cpu = Ranks(rank=0, local_rank=0, world_size=1), torch.device("cpu")
    devices.prepare(cpu, deterministic=False)
    trainer = Trainer(asked, alone, cpu, train_pytorch.CLASSES)
    images, labels = train_pytorch.synthetic_batch(asked, cpu, rank=0)
    return lambda: trainer.step(images, labels)()


STEPS = {"plain": plain_step, "ours": our_step}


def serve(name: str, options: argparse.Namespace, line: Connection) -> None:
    """Answers every request with the seconds that this many steps took."""
    torch.set_num_threads(options.threads)
    step = STEPS[name](options.batch, options.image_size)
    while steps := line.recv():
        began = time.perf_counter()
        for _ in range(steps):
            step()
        line.send(time.perf_counter() - began)


def measure(options: argparse.Namespace) -> dict[str, list[float]]:
    """Samples per second of each, round by round."""
    spawn = multiprocessing.get_context("spawn")
    lines: dict[str, Connection] = {}
    for name in STEPS:
        lines[name], theirs = spawn.Pipe()
        spawn.Process(target=serve, args=(name, options, theirs), daemon=True).start()
        theirs.close()
    found: dict[str, list[float]] = {name: [] for name in STEPS}
    for number in range(options.rounds + 1):
        for name, line in lines.items():
            line.send(options.steps)
            rate = options.steps * options.batch / line.recv()
            if number:  # the first one warms up
                found[name].append(rate)
    for line in lines.values():
        line.send(0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=8, help="turns of each (default %(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="steps in a turn (default %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    shape = f"batch {options.batch}, {options.image_size} px, {options.threads} threads"
    print(f"ResNet-50, {shape}, PyTorch {torch.__version__}:")
    found = measure(options)
    for name, rates in found.items():
        print(f"  {name:6} {statistics.median(rates):8.2f} samples/s   {' '.join(f'{rate:.1f}' for rate in rates)}")
    ratios = [ours / plain for ours, plain in zip(found["ours"], found["plain"])]
    print(
        f"  ours is {statistics.median(ratios):.3f} times as fast (rounds from {min(ratios):.3f} to {max(ratios):.3f})"
    )


if __name__ == "__main__":
    main()
