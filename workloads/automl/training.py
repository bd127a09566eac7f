"""One training of a network: epochs of training and evaluation, until the last one or until nothing gets better."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Callable, Iterator

import torch
import torch.distributed
import torch.nn.functional as functional
from data import Data, steps_of
from devices import total
from mixed_precision import autocast, gradient_scaler
from momentum import Momentum
from ranks import Ranks

LEAST_GAIN = 0.001  # of the loss of evaluated images, for an epoch to count as a better one


class DivergedError(Exception):
    """A loss that is not a number any more, as a sentence."""


@dataclass(frozen=True)
class Plan:
    """`seed` decides which images are evaluated; `draw` and the epoch's number, too, which ones are trained with."""

    epochs: int
    rate: Callable[[int, int], float]
    patience: int
    smoothing: float
    batch: int
    train_images: int
    eval_images: int
    precision: str
    seed: int
    draw: tuple[int, ...]


@dataclass(frozen=True)
class Epoch:
    """Accuracies are fractions, as exact as logs say them; in `seconds` it trained with `images` and was evaluated."""

    number: int
    steps: int
    loss: float
    accuracy: float
    val_loss: float
    val_accuracy: float
    seconds: float
    images: int


class Training:
    """`beat` is called after each step, on every rank."""

    def __init__(
        self,
        network: torch.nn.Module,
        data: Data,
        plan: Plan,
        ranks: Ranks,
        device: torch.device,
        beat: Callable[[], None],
    ) -> None:
        self._network, self._data, self._plan = network, data, plan
        self._ranks, self._device, self._beat = ranks, device, beat
        if device.type != "npu":
            network.to(memory_format=torch.channels_last)
        self._descent = Momentum(network)
        self._scaler = gradient_scaler(device, plan.precision)
        self._buffers = [buffer for buffer in network.buffers() if buffer.is_floating_point()]

    def epochs(self, begins: Callable[[int], object]) -> Iterator[Epoch]:
        """`begins` is called before each. Raises DivergedError in the middle of one whose loss is not finite."""
        best, since = math.inf, 0
        for number in range(1, self._plan.epochs + 1):
            begins(number)
            epoch = self._epoch(number)
            yield epoch
            since = 0 if epoch.val_loss < best - LEAST_GAIN else since + 1
            best = min(best, epoch.val_loss)
            if since >= self._plan.patience:
                return

    def _epoch(self, number: int) -> Epoch:
        begin = time.perf_counter()
        plan, data = self._plan, self._data
        self._descent.learning_rate = plan.rate(number - 1, plan.epochs)
        draw = (plan.seed, *plan.draw, number)
        steps = steps_of(data.train.order(draw, plan.train_images), plan.batch, self._ranks)
        loss, right, images = self._train(number, data.train.batches(steps, draw))
        self._average_buffers()
        self._descent.check(self._ranks)
        val_loss, val_right, evaluated = self._evaluate()
        loss, right, images, val_loss, val_right, evaluated = total(
            [loss, right, images, val_loss, val_right, evaluated], self._ranks, self._device
        )
        if not math.isfinite(val_loss):
            raise DivergedError(f"the loss of evaluated images is {val_loss} in epoch {number}")
        return Epoch(
            number,
            len(steps),
            loss / images,
            round(right / images, 5),
            val_loss / evaluated,
            round(val_right / evaluated, 5),
            time.perf_counter() - begin,
            int(images),
        )

    def _train(self, number: int, batches: Iterator[tuple[torch.Tensor, torch.Tensor]]) -> tuple[float, float, float]:
        self._network.train()
        sums = torch.zeros(2, device=self._device)
        images = 0
        before = None
        for pixels, labels in batches:
            loss, right = self._step(pixels, labels)
            sums += torch.stack((loss * len(labels), right))
            images += len(labels)
            if not self._ranks.alone:
                torch.distributed.all_reduce(loss)  # so that all give up in the same step
            # A device is busy with this step while the loss of the last one is looked at.
            self._look_at(before, number)
            before = loss
        self._look_at(before, number)
        loss_sum, right_sum = sums.tolist()
        return loss_sum, right_sum, images

    def _step(self, pixels: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inputs, labels = self._data.on(self._device, pixels), labels.to(self._device, non_blocking=True)
        self._descent.clear()
        with autocast(self._device, self._plan.precision):
            outputs = self._network(inputs)
            loss = functional.cross_entropy(outputs, labels, label_smoothing=self._plan.smoothing)
        self._scaler.scale(loss).backward()
        self._descent.average(self._ranks)
        self._scaler.step(self._descent)
        self._scaler.update()
        return loss.detach().float(), (outputs.detach().argmax(1) == labels).sum().float()

    def _look_at(self, loss: torch.Tensor | None, epoch: int) -> None:
        if loss is None:
            return
        value = loss.item()
        self._beat()
        if not math.isfinite(value):
            raise DivergedError(f"the loss of a step is {value} in epoch {epoch}")

    def _evaluate(self) -> tuple[float, float, float]:
        self._network.eval()
        sums = torch.zeros(2, device=self._device)
        images = 0
        data = self._data.validation
        shares = steps_of(data.order((self._plan.seed,), self._plan.eval_images), self._plan.batch, self._ranks)
        with torch.no_grad():
            for pixels, labels in data.batches(shares, (self._plan.seed,)):
                inputs, labels = self._data.on(self._device, pixels), labels.to(self._device, non_blocking=True)
                with autocast(self._device, self._plan.precision):
                    outputs = self._network(inputs)
                    loss = functional.cross_entropy(
                        outputs, labels, label_smoothing=self._plan.smoothing, reduction="sum"
                    )
                sums += torch.stack((loss.float(), (outputs.argmax(1) == labels).sum().float()))
                images += len(labels)
                self._beat()
        loss_sum, right_sum = sums.tolist()
        return loss_sum, right_sum, images

    def _average_buffers(self) -> None:
        """Each rank's normalizations have seen images of their own: what is evaluated and kept is the mean of them."""
        if self._ranks.alone or not self._buffers:
            return
        vector = torch.cat([buffer.flatten() for buffer in self._buffers])
        torch.distributed.all_reduce(vector)
        vector.div_(self._ranks.world_size)
        begin = 0
        for buffer in self._buffers:
            buffer.copy_(vector[begin : begin + buffer.numel()].view_as(buffer))
            begin += buffer.numel()
