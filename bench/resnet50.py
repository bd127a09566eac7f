"""Our training step of ResNet-50 against the plain loop of a textbook, on the CPU, in samples per second.

Needs a Python that has PyTorch, and nothing else:

python bench/resnet50.py --batch 16 --image-size 64

The two take turns. The plain loop has a ResNet-50 of its own, written as tutorials write it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workloads" / name) for name in ("resnet50", "common")]
import torch  # noqa: E402
import turns  # noqa: E402
from torch import nn  # noqa: E402


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


def plain_step(batch: int, image_size: int) -> turns.Step:
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


def our_step(batch: int, image_size: int) -> turns.Step:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--image-size", type=int, default=64)
    turns.add_options(parser)
    options = parser.parse_args()
    sizes = (options.batch, options.image_size)
    shape = f"batch {options.batch}, {options.image_size} px, {options.threads} threads"
    print(f"ResNet-50, {shape}, PyTorch {torch.__version__}:")
    makers = {"plain": partial(plain_step, *sizes), "ours": partial(our_step, *sizes)}
    found = turns.measure(makers, options)
    for name, seconds in found.items():
        rates = [options.batch / one for one in seconds]
        print(f"  {name:6} {statistics.median(rates):8.2f} samples/s   {' '.join(f'{rate:.1f}' for rate in rates)}")
    print(f"  ours is {turns.ratios(found['ours'], found['plain'])} times as fast")


if __name__ == "__main__":
    main()
