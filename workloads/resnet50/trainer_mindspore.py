"""The network in MindSpore, and what one rank does with a batch: a training step, or counting what it gets right."""

from __future__ import annotations

from typing import Iterable

import devices_mindspore as devices
import mindspore
import numpy as np
from flags import Flags
from images import DEVIATION, MEAN
from mindspore import Tensor, amp, nn, ops
from model_mindspore import ResNet50
from ranks import Ranks

LEARNING_RATE = 0.01
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4
# Without scaling, small gradients vanish in fp16. The optimizer takes the scale out again.
LOSS_SCALES = {"fp32": None, "fp16": 1024.0, "bf16": None}


class Trainer:
    def __init__(self, flags: Flags, ranks: Ranks, classes: int) -> None:
        mindspore.set_seed(flags.seed)
        self.ranks = ranks
        self.network = _with_precision(Pixels(ResNet50(classes)), flags.precision)
        scale = LOSS_SCALES[flags.precision]
        optimizer = nn.Momentum(
            self.network.trainable_params(), LEARNING_RATE, MOMENTUM, WEIGHT_DECAY, loss_scale=scale or 1.0
        )
        self.step = nn.TrainOneStepCell(TrainingLoss(self.network), optimizer, sens=scale)
        self._counts = Counts(self.network)

    def evaluate(self, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> tuple[int, float, float]:
        """Images seen by all ranks, the share of them whose class was found, and their mean loss."""
        self._average_statistics()
        self._counts.set_train(False)
        sums = np.zeros(3)
        for pixels, labels, present in batches:
            sums += [float(count.asnumpy()) for count in self._counts(pixels, labels, present)]
        self.step.set_train(True)
        seen, correct, loss = devices.total(sums.tolist(), self.ranks)
        return round(seen), correct / seen, loss / seen

    def state(self) -> dict[str, Tensor]:
        self._average_statistics()
        return dict(self.step.parameters_dict())

    def restore(self, state: dict[str, Tensor]) -> None:
        mindspore.load_param_into_net(self.step, state, strict_load=True)

    def _average_statistics(self) -> None:
        """Every rank keeps its own running statistics of batch norm; what is evaluated or kept is their mean."""
        if self.ranks.alone:
            return
        statistics = [parameter for parameter in self.network.get_parameters() if not parameter.requires_grad]
        together = np.concatenate([statistic.asnumpy().ravel() for statistic in statistics])
        means = devices.sum_over_ranks(Tensor(together)).asnumpy() / self.ranks.world_size
        ends = np.cumsum([statistic.size for statistic in statistics])[:-1]
        for statistic, mean in zip(statistics, np.split(means, ends)):
            statistic.set_data(Tensor(mean.reshape(statistic.shape)))


class Pixels(nn.Cell):
    """The network on batches as they come: pixels of decoded images (uint8, RGB last), or synthetic values."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.mean = Tensor(np.array(MEAN, np.float32).reshape(1, 3, 1, 1))
        self.deviation = Tensor(np.array(DEVIATION, np.float32).reshape(1, 3, 1, 1))

    def construct(self, pixels: Tensor) -> Tensor:
        if pixels.dtype == mindspore.uint8:
            # On the device, which a quarter of the bytes have to reach then.
            values = ops.transpose(ops.cast(pixels, mindspore.float32), (0, 3, 1, 2))
            pixels = (values - self.mean) / self.deviation
        return self.network(pixels)


class TrainingLoss(nn.Cell):
    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss = nn.CrossEntropyLoss()

    def construct(self, pixels: Tensor, labels: Tensor) -> Tensor:
        return self.loss(ops.cast(self.network(pixels), mindspore.float32), labels)


class Counts(nn.Cell):
    """Of a batch filled up to its full size: how many images are `present`, how many are right, and their loss."""

    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.loss = nn.CrossEntropyLoss(reduction="none")

    def construct(self, pixels: Tensor, labels: Tensor, present: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores = ops.cast(self.network(pixels), mindspore.float32)
        right = ops.cast(ops.argmax(scores, 1) == labels, mindspore.float32)
        return present.sum(), (right * present).sum(), (self.loss(scores, labels) * present).sum()


def _with_precision(network: nn.Cell, precision: str) -> nn.Cell:
    if precision == "fp32":
        return network
    types = {"fp16": mindspore.float16, "bf16": mindspore.bfloat16}
    return amp.auto_mixed_precision(network, "O2", types[precision])
