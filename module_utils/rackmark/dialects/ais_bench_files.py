"""The result files of an ais-bench training: one number each, written by every rank.

    throughput_<rank>.json or throughput_rank_<rank>    what the rank trained per second
    ranksize.json                                       how many ranks there were (on ModelArts only)
    accuracy.json, accuracy_<server>.json, result.log   what was evaluated
    <server>/throughput_<rank>.json                     in single-server mode, where every server trains for itself

ais-bench adds up the files that it finds. Here a rank without its file is a fault.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Mapping, Sequence

from ..logs.json_records import first_record, number, positive
from ..logs.reading import Fault, Reading
from ..logs.series import Window

CARDS_PER_SERVER = 8
RANK_FILE = re.compile(r"throughput_(?:rank_)?(\d{1,6})(?:\.json)?")
_SERVER = re.compile(r"\d{1,5}")
_NUMBER = re.compile(r"\s{0,20}([-+]?\d{1,15}(?:\.\d{0,25})?(?:[eE][-+]?\d{1,3})?)\s{0,20}")
_LARGEST = 4096
_MOST_FILES = 100_000
_SHOWN = 8


def read_rank_files(folder: Path, world_size: int | None = None, cards: int = CARDS_PER_SERVER) -> Reading | None:
    """None where the folder holds no such file. Without ranksize.json somebody has to know the `world_size`, or how
    many `cards` a server has that trained for itself."""
    files = _rank_files(folder)
    servers = {} if files else _servers(folder)
    if not files and not servers:
        return None
    reading = Reading(Window(0, None))
    if files:
        _read_cluster(folder, files, world_size, reading)
    else:
        _read_servers(folder, servers, cards, reading)
    if reading.faults:
        reading.stated.clear()
    return reading


def _read_cluster(folder: Path, files: Mapping[int, list[Path]], world_size: int | None, reading: Reading) -> None:
    named = _rank_size(folder)
    size = named or world_size
    if size is None:
        reading.faults.append(
            Fault("no_log", f"{folder.name} has no ranksize.json: nothing says whether a rank's file is missing.")
        )
        return
    if world_size not in (None, size):
        reading.faults.append(
            Fault("wrong_world_size", f"ranksize.json says {size} ranks, there should be {world_size}.")
        )
    reading.facts["world_size"] = size
    rates = _rates(files, size, folder.name, reading)
    if not reading.faults:
        reading.stated["throughput"] = sum(rates)
    accuracies = [_number(folder / "accuracy.json"), _of_result(folder / "result.log", "accuracy")]
    _take_accuracy([next((found for found in accuracies if found), None)], reading)


def _read_servers(folder: Path, servers: Mapping[int, Mapping[int, list[Path]]], cards: int, reading: Reading) -> None:
    """The throughput is that of one server: the mean of all."""
    missing = [str(number) for number in range(max(servers)) if number not in servers]
    if missing:
        reading.faults.append(Fault("no_log", f"{folder.name} has no files of server {', '.join(missing[:_SHOWN])}."))
    size = _rank_size(folder) or cards
    reading.facts.update(nodes=1, devices_per_node=size)
    rates = [_rates(files, size, f"Server {number}", reading) for number, files in sorted(servers.items())]
    if not reading.faults:
        reading.stated["throughput"] = statistics.mean(map(sum, rates))
    _take_accuracy([_number(folder / f"accuracy_{number}.json") for number in sorted(servers)], reading)


def _rank_size(folder: Path) -> int | None:
    size = _number(folder / "ranksize.json")
    return int(size) if size is not None and 1 <= size <= _MOST_FILES and size.is_integer() else None


def _rates(files: Mapping[int, list[Path]], size: int, where: str, reading: Reading) -> Sequence[float]:
    missing = [str(rank) for rank in range(size) if rank not in files]
    beyond = [str(rank) for rank in sorted(files) if rank >= size]
    twice = [found for found in files.values() if len(found) > 1]
    if missing:
        reason = f"{where} has no throughput file of rank {', '.join(missing[:_SHOWN])}: there were {size} ranks."
        reading.faults.append(Fault("no_log", reason))
    if beyond:
        reason = f"{where} has a throughput file of rank {', '.join(beyond[:_SHOWN])}, but there were {size} ranks."
        reading.faults.append(Fault("wrong_world_size", reason))
    if twice:
        reason = f"{where} has both {twice[0][0].name} and {twice[0][1].name}: they are of more than one training."
        reading.faults.append(Fault("incomplete", reason))
    rates = []
    for _, found in sorted(files.items()):
        rate = positive(_number(found[0]))
        if rate is None:
            reading.faults.append(Fault("no_data", f"{where}: {found[0].name} does not hold a number above zero."))
            break
        rates.append(rate)
    return rates


def _take_accuracy(accuracies: Sequence[float | None], reading: Reading) -> None:
    """ais-bench writes 0 for an accuracy that it could not read."""
    found = [accuracy for accuracy in accuracies if accuracy is not None and 0 < accuracy <= 1]
    if len(found) == len(accuracies):
        reading.stated["accuracy"] = statistics.mean(found)
    else:
        reading.remarks.append("No accuracy is stated, or not that of every server.")


def _servers(folder: Path) -> Mapping[int, Mapping[int, list[Path]]]:
    found = {int(entry.name): _rank_files(entry) for entry in _entries(folder) if _SERVER.fullmatch(entry.name)}
    return {number: files for number, files in found.items() if files}


def _rank_files(folder: Path) -> Mapping[int, list[Path]]:
    files: dict[int, list[Path]] = {}
    for entry in _entries(folder):
        match = RANK_FILE.fullmatch(entry.name)
        if match is not None:
            files.setdefault(int(match[1]), []).append(entry)
    return files


def _entries(folder: Path) -> Sequence[Path]:
    """What a link leads to is not part of the folder."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    entries = [entry for entry, _ in zip(folder.iterdir(), range(_MOST_FILES)) if not entry.is_symlink()]
    return sorted(entries)


def _number(file: Path) -> float | None:
    return number_in(_text(file).decode(errors="replace"))


def number_in(text: str) -> float | None:
    """None where the text is anything but one number."""
    match = _NUMBER.fullmatch(text)
    return None if match is None else number(float(match[1]))


def _of_result(file: Path, name: str) -> float | None:
    """`result.log` is an object on one line."""
    record = first_record(_text(file).lstrip())
    return None if record is None else positive(record.get(name))


def _text(file: Path) -> bytes:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
        return b""
    return file.read_bytes()
