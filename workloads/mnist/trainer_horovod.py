"""The network in TensorFlow, and Horovod's part in its steps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterable

import horovod
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from digits import Batch, Digits
from flags import Flags
from outcome import TrainingError, UsageError
from rackmark_log import processor_name
from ranks import Ranks, device_index

LEARNING_RATE = 0.001  # of one rank; more ranks take larger steps
CHECKPOINTS = Path("checkpoints")
TENSORBOARD = Path("tensorboard")


def prepare(asked: str, ranks: Ranks) -> str:
    """The device that this rank computes with, and nothing else of its kind is touched."""
    gpus = tf.config.list_physical_devices("GPU")
    if asked == "cpu" or (asked == "auto" and not gpus):
        tf.config.set_visible_devices([], "GPU")
        _limit_threads()
        return "cpu"
    if not gpus:
        raise UsageError("--device cuda needs an NVIDIA GPU and a TensorFlow made for it: TensorFlow sees none")
    mine = gpus[device_index(ranks, len(gpus), "cuda")]
    tf.config.set_visible_devices([mine], "GPU")
    tf.config.experimental.set_memory_growth(mine, True)
    # fp32 in a result must mean fp32, not a shorter format that the device would rather compute with.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    return "cuda"


def _limit_threads() -> None:
    """TensorFlow would start as many as there are processors, in each rank."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        tf.config.threading.set_intra_op_parallelism_threads(int(threads))


class HorovodTrainer:
    def __init__(self, flags: Flags, ranks: Ranks, device: str, data: Digits) -> None:
        self.ranks, self.device = ranks, device
        tf.keras.utils.set_random_seed(flags.seed + ranks.rank)  # of the dropout; weights are those of rank 0
        self.network = network(data.size, data.classes)
        self.optimizer = tf.keras.optimizers.Adam(LEARNING_RATE * ranks.world_size)
        self.optimizer.build(self.network.trainable_variables)
        hvd.broadcast_variables(self.network.variables, root_rank=0)
        shape = (None, *data.size, 1)
        signature = [tf.TensorSpec(shape, tf.float32), tf.TensorSpec((None,), tf.int64)]
        self._compiled_step = tf.function(self._step, input_signature=signature)
        self._compiled_scores = tf.function(self._scores, input_signature=signature)

    def facts(self) -> dict[str, object]:
        return {
            "device": self.device,
            "device_name": processor_name() if self.device == "cpu" else _gpu_name(),
            "threads": tf.config.threading.get_intra_op_parallelism_threads() or os.cpu_count(),
            "framework": "horovod",
            "framework_version": horovod.__version__,
            "tensorflow_version": tf.__version__,
        }

    def parameter_count(self) -> int:
        return int(self.network.count_params())

    def step(self, batch: Batch) -> float:
        return float(self._compiled_step(*_tensors(batch)))

    def scores(self, batches: Iterable[Batch]) -> tuple[int, int, float]:
        images, right, loss = 0, 0, 0.0
        for batch in batches:
            found, losses = self._compiled_scores(*_tensors(batch))
            images, right, loss = images + len(batch.labels), right + int(found), loss + float(losses)
        return images, right, loss

    def total(self, numbers: list[float]) -> list[float]:
        sums = hvd.allreduce(tf.constant(numbers, tf.float64), op=hvd.Sum, name="total")
        return [float(number) for number in sums.numpy()]

    def weights(self) -> float:
        return sum(float(variable.numpy().sum(dtype=np.float64)) for variable in self.network.variables)

    def save(self, epoch: int) -> None:
        path = CHECKPOINTS / f"checkpoint-{epoch}.keras"
        try:
            CHECKPOINTS.mkdir(exist_ok=True)
            self.network.save(path)
        except OSError as error:
            raise TrainingError(f"the checkpoint {path.absolute()} cannot be written: {error}") from error

    def _step(self, pixels: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(_losses(self.network(pixels, training=True), labels))
        variables = self.network.trainable_variables
        gradients = hvd.DistributedGradientTape(tape).gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return loss

    def _scores(self, pixels: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = self.network(pixels, training=False)
        right = tf.equal(tf.argmax(found, axis=1), labels)
        return tf.reduce_sum(tf.cast(right, tf.int64)), tf.reduce_sum(_losses(found, labels))


class TensorBoard:
    def __init__(self) -> None:
        self._writer = tf.summary.create_file_writer(str(TENSORBOARD))

    def draw(self, name: str, step: int, number: float) -> None:
        with self._writer.as_default():
            tf.summary.scalar(name, number, step=step)

    def close(self) -> None:
        self._writer.close()


def network(size: tuple[int, int], classes: int) -> Any:  # noqa: ANN401, Keras has no types
    """The network of Keras' and Horovod's own MNIST examples; the softmax is in the loss."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((*size, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(classes),
        ]
    )


def _losses(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)


def _tensors(batch: Batch) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.constant(batch.pixels[..., None]), tf.constant(batch.labels, tf.int64)


def _gpu_name() -> str:
    (gpu,) = tf.config.get_visible_devices("GPU")
    return str(tf.config.experimental.get_device_details(gpu).get("device_name", "NVIDIA GPU"))
