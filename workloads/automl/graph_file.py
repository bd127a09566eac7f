"""AIPerf's model.json: layers with the nodes that they read and write, and the sizes of the nodes."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from layers import LARGEST_SIZE, Layer, Shape
from rackmark.aiperf.flops import flops_per_image

_ANY_KERNEL = 1  # for the check of a file; convolutions from the 176th layer on are counted with that of the trial


class ModelFile(NamedTuple):
    listed: tuple[Layer, ...]
    shapes: Sequence[Shape]  # as written, of the image and of what each layer gives
    kernel_size: int | None
    start_layers: int | None

    @property
    def input_shape(self) -> Shape:
        return self.shapes[0]


def read_file(model: object) -> ModelFile:
    """ValueError: a sentence about what is not as in a model.json."""
    flops_per_image(model, _ANY_KERNEL)  # refuses entries that are not written as layers and nodes are
    assert isinstance(model, dict)
    entries = [entry for _, entry in model["layer_list"]]
    places = _places([entry[2] for entry in entries], len(model["node_list"]))
    shapes = sorted((places[number], tuple(shape)) for number, shape in model["node_list"])
    listed = []
    for kind, inputs, _, *settings in entries:
        nodes = inputs if isinstance(inputs, list) else [inputs]
        listed.append(Layer(kind, tuple(places[node] for node in nodes), tuple(settings)))
    kernel = _number(model, "kernel_size", 1, LARGEST_SIZE)
    if kernel is not None and kernel % 2 == 0:
        raise ValueError(f"The kernel_size of the model is {kernel}: it has to be odd.")
    return ModelFile(
        tuple(listed), [shape for _, shape in shapes], kernel, _number(model, "start_layers", 0, len(listed))
    )


def _places(outputs: Sequence[object], nodes: int) -> dict[int, int]:
    """By number of a node: the place of the layer that writes it, 0 for the image."""
    places: dict[int, int] = {}
    for place, node in enumerate(outputs, start=1):
        if type(node) is not int or not 0 <= node < nodes:
            raise ValueError(f"Layer {place} writes to the node {node!r:.40}, which is not in node_list.")
        if node in places:
            raise ValueError(f"Layers {places[node]} and {place} both write to the node {node}.")
        places[node] = place
    images = [node for node in range(nodes) if node not in places]
    if len(images) != 1:
        raise ValueError(f"One node is the image, which no layer writes to; here these are: {images!r:.80}.")
    return {**places, images[0]: 0}


def _number(model: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
    value = model.get(key)
    if value is not None and (type(value) is not int or not least <= value <= most):
        raise ValueError(
            f"The {key} of the model is {value!r:.40}: it has to be a whole number from {least} to {most}."
        )
    return value


def written(listed: Sequence[Layer], shapes: Sequence[Shape], kernel_size: int, start_layers: int) -> dict[str, Any]:
    reads = [list(layer.inputs) for layer in listed]
    readers: dict[str, list[list[int]]] = {str(node): [] for node in range(len(shapes))}
    sources: dict[str, list[list[int]]] = {str(node): [] for node in range(len(shapes))}
    for number, nodes in enumerate(reads):
        for node in nodes:
            readers[str(node)].append([number + 1, number])
            sources[str(number + 1)].append([node, number])
    return {
        "layer_list": [[number, _entry(number + 1, layer)] for number, layer in enumerate(listed)],
        "node_list": [[node, list(shape)] for node, shape in enumerate(shapes)],
        "input_shape": list(shapes[0]),
        "vis": None,
        "adj_list": readers,
        "reverse_adj_list": sources,
        "layer_id_to_output_node_ids": {str(number): [number + 1] for number in range(len(listed))},
        "layer_id_to_input_node_ids": {str(number): nodes for number, nodes in enumerate(reads)},
        "operation_history": [],
        "weighted": False,
        "kernel_size": kernel_size,
        "start_layers": start_layers,
    }


def _entry(node: int, layer: Layer) -> list[Any]:
    inputs = list(layer.inputs) if len(layer.inputs) > 1 else layer.inputs[0]
    return [layer.kind, inputs, node, *layer.settings]
