"""Moves that are nearly right: a legal move's XML with one or two things changed, whatever the game is."""

import random
from collections import defaultdict

from lxml import etree


class AlteredMoves:
    """Changes moves of one game, with what it has seen in other moves. `rng` draws what is changed, and how."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._words: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._children: dict[str, list[bytes]] = defaultdict(list)

    def learn(self, move: str) -> None:
        """Remember which values and elements this move has."""
        for element in etree.fromstring(move).iter():
            for name, value in element.attrib.items():
                self._words[str(element.tag), str(name)].add(str(value))
            if element.text:
                self._words[str(element.tag), ""].add(element.text)
            kept = self._children[str(element.tag)]
            for child in element:
                text = etree.tostring(child)
                if text not in kept:
                    kept.append(text)
                    del kept[:-200]

    def altered(self, move: str) -> str:
        """The move with one change, now and then with two."""
        root = etree.fromstring(move)
        for _ in range(self._rng.choice([1, 1, 1, 2])):
            change = self._change_value if self._rng.random() < 0.6 else self._change_list
            change(root)
        return etree.tostring(root, encoding="unicode")

    def _change_value(self, root: etree._Element) -> None:
        places = [(element, str(name)) for element in root.iter() for name in element.attrib if element is not root]
        places += [(element, "") for element in root.iter() if element.text]
        if not places:
            return
        element, name = self._rng.choice(places)
        old = str(element.attrib[name]) if name else element.text or ""
        new = self._other_value(old, self._words[str(element.tag), name])
        if not name:
            element.text = new
        elif new is None:
            del element.attrib[name]
        else:
            element.attrib[name] = new

    def _other_value(self, old: str, seen: set[str]) -> str | None:
        if self._rng.random() < 0.05:
            return self._rng.choice([None, "", "UNKNOWN", "1.5", "99999999999"])
        if old.lstrip("-").isdecimal():
            number = int(old)
            return str(self._rng.choice([number + 1, number - 1, number + 2, number - 2, -number, 0, number + 100]))
        return self._rng.choice(sorted(seen - {old}) or ["UNKNOWN"])

    def _change_list(self, root: etree._Element) -> None:
        parents = [element for element in root.iter() if len(element)]
        if not parents:
            return
        parent = self._rng.choice(parents)
        children = list(parent)
        chosen = self._rng.randrange(len(children))
        match self._rng.randrange(7):
            case 0:
                parent.remove(children[chosen])
            case 1:
                parent.insert(chosen, etree.fromstring(etree.tostring(children[chosen])))
            case 2:
                parent[:] = reversed(children)
            case 3:
                parent[:] = self._rng.sample(children, len(children))
            case 4:
                parent[:] = []
            case _:
                known = self._children[str(parent.tag)]
                if known:
                    parent.insert(self._rng.randrange(len(children) + 1), etree.fromstring(self._rng.choice(known)))
