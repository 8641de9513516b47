"""Picks single packets out of recordings of an official server: the shortest one of each kind that it has sent."""

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from tests.protocol.streams import packets

_NAME = re.compile(r"\W+")


def pick_samples(recordings: Path) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the bytes of one packet for each kind of packet in the folder.

    The kind is the tag, the class of the data, which elements and attributes there are, and who has won or lost, and
    why. The packets are as on the wire, except for masked ids.
    """
    found: dict[tuple[str, ...], bytes] = {}
    for path in sorted([*recordings.rglob("*.txt"), *recordings.rglob("*.txt.gz")]):
        for _, packet in packets(path, is_to_server=False):
            kind = _kind(packet)
            if kind not in found or len(packet) < len(found[kind]):
                found[kind] = packet
    counts: dict[str, int] = {}
    for kind in sorted(found):
        counts[kind[0]] = counts.get(kind[0], 0) + 1
        number = f"_{counts[kind[0]]}" if counts[kind[0]] > 1 else ""
        yield f"{kind[0]}{number}", found[kind]


def _kind(packet: bytes) -> tuple[str, ...]:
    root = etree.fromstring(packet)
    data = root.find("data") if root.tag == "room" else None
    name = str(root.tag) if data is None else str(data.get("class"))
    parts = {
        f"{each.getroottree().getpath(each)}@{key}" for each in root.iter() for key in ("", *map(str, each.attrib))
    }
    paths = {re.sub(r"\[\d+\]", "", part) for part in parts}
    scores = [f"{score.get('cause')} {score.findtext('part')}" for score in root.iter("score")]
    return (_NAME.sub("_", name.rpartition(".")[2]), *scores, *sorted(paths))
