"""Short programs that look at a training from outside, in the Python that it runs in."""

from __future__ import annotations

DRAW_TREE = """
import sys
from pathlib import Path
import numpy
from PIL import Image
chance = numpy.random.default_rng(0)
for part, counts in (("train", (9, 8, 8)), ("val", (4, 4, 3))):
    for channel, (name, count) in enumerate(zip(("blue", "green", "red"), counts)):
        folder = Path(sys.argv[1], part, name)
        folder.mkdir(parents=True)
        for number in range(count):
            pixels = chance.integers(0, 90, (40 + number, 50, 3), dtype=numpy.uint8)
            pixels[..., channel] += 150
            Image.fromarray(pixels).save(folder / f"{number}.{'png' if part == 'val' or number % 2 else 'jpg'}")
"""


# Of each network its parameters, and the billions of multiplications for one image of 224 pixels.
SIZES = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
from model import parameter_count
from torch import nn
from trainer import NETWORKS

def multiplications(network):
    counted = []
    def count(layer, _, y):
        counted.append(y.numel() * layer.weight[0].numel())
    for layer in network.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.register_forward_hook(count)
    network.eval()(torch.zeros(1, 3, 224, 224))
    return round(sum(counted) / 1e9, 3)

with torch.device("meta"):
    made = {name: network(1000) for name, network in NETWORKS.items()}
    print(json.dumps({name: [parameter_count(one), multiplications(one)] for name, one in made.items()}))
"""


# Accuracy and loss of a checkpoint, image by image and without the code under test but for the network.
RECOMPUTE = """
import sys
from pathlib import Path
import numpy, torch
from PIL import Image
sys.path.insert(0, sys.argv[1])
from model import resnet50
network = resnet50(3)
network.load_state_dict(torch.load(Path(sys.argv[2], "resnet50.pt"))["state"]["model"])
network.eval()
right, losses = 0, []
for label, folder in enumerate(sorted(Path(sys.argv[3], "val").iterdir())):
    for path in folder.iterdir():
        image = Image.open(path)
        side = min(image.size) * 224 / 256
        x, y = (image.width - side) / 2, (image.height - side) / 2
        small = numpy.asarray(image.resize((33, 33), Image.BILINEAR, box=(x, y, x + side, y + side))) / 255
        values = (small - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
        with torch.no_grad():
            scores = network(torch.tensor(values, dtype=torch.float32).permute(2, 0, 1)[None])[0]
        right += int(scores.argmax()) == label
        losses.append(float(torch.logsumexp(scores, 0) - scores[label]))
print(right / len(losses), sum(losses) / len(losses), len(losses))
"""


ORDERS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from order import training_order
def order(rank, first):
    return list(training_order(11, seed=1, batch=2, rank=rank, world_size=2, first=first, last=6))
print(json.dumps([order(0, 1), order(1, 1), order(1, 4)]))
"""


DEVICE_INDEX = """
import sys
sys.path.insert(0, sys.argv[1])
from ranks import Ranks, device_index
print(device_index(Ranks(rank=9, local_rank=int(sys.argv[2]), world_size=16), int(sys.argv[3]), "cuda"))
"""
