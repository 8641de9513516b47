"""Replays of every edition and of the recordings: each ply is the state in the file; bad files give one sentence."""

from __future__ import annotations

import contextlib
import gzip
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree
from msgspec.structs import replace

from spielleiter.game.api import State
from spielleiter.game.blokus import BlokusState
from spielleiter.game.blokus.pieces import Shape
from spielleiter.protocol.messages import Memento
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer import replay_files
from spielleiter.viewer.game_json import describe_game
from spielleiter.viewer.replay_files import MOST_POSITIONS, ReplayFileError, load_replay, read_replay
from tests.example_counts import examples
from tests.protocol.streams import read_streams
from tests.shared import SHARED, needs_shared
from tests.viewer.replay_files import played, record_of, replay_of

TESTS = Path(__file__).parents[1]
TRANSCRIPTS = [] if SHARED is None else sorted((SHARED / "transcripts").rglob("*.txt*"))
SAMPLES = [] if SHARED is None else sorted((SHARED / "samples").rglob("memento*.xml"))
OWN_SAMPLES = sorted((TESTS / "protocol" / "samples").rglob("memento*.xml"))


def assert_every_ply_is_in_the_file(content: bytes) -> int:
    """Compare each position with the element of the file, as another parser reads it."""
    states: list[etree._Element] = []
    texts = [""]
    for element in etree.fromstring(content).iter("state"):
        texts.append(re.sub(r"\s+", " ", etree.tostring(element, encoding="unicode")).strip())
        if texts[-1] != texts[-2]:  # one that repeats the one before is no ply
            states.append(element)
    positions = describe_game(read_replay(content, "file.xml"))["positions"]
    assert [position["ply"] for position in positions] == list(range(len(states)))
    for position, state in zip(positions, states, strict=True):
        # release 21.1.0 counts turns differently once a colour has left
        if "turn" in state.attrib and state.find("orderedColors") is None:
            assert position["turn"] == int(state.get("turn", ""))
        match position["game"]:
            case "blokus":
                assert_equals_blokus(position, state)
            case "hase_und_igel":
                assert_equals_hase_und_igel(position, state)
            case _:  # another game: whatever has the same name in both
                assert [key for key, value in state.attrib.items() if str(position.get(key, value)) != value] == []
    return len(states)


def assert_equals_blokus(position: dict[str, Any], state: etree._Element) -> None:
    cells = ["."] * 400
    for each in state.iterfind("board/field"):
        if (content := each.get("content", "EMPTY")) != "EMPTY":
            cells[20 * int(each.get("y", "")) + int(each.get("x", ""))] = content[0]
    assert position["board"]["cells"] == "".join(cells)
    for entry in position["colors"]:
        shapes = [each.text for each in state.iterfind(f"{entry['name'].lower()}Shapes/shape")]
        assert sorted(entry["remaining"]) == sorted(map(str, shapes))
    if (valid := state.find("validColors")) is not None:
        assert [entry["name"] for entry in position["colors"] if entry["isInGame"]] == [each.text for each in valid]
    if (piece := state.find("lastMove/piece")) is not None:
        move = position["lastMove"]
        assert (move["color"], move["piece"]) == (piece.get("color"), piece.get("kind"))
        corner = piece.find("position")
        assert corner is not None
        assert {"x": f"{min(x for x, _ in move['cells'])}", "y": f"{min(y for _, y in move['cells'])}"} == dict(
            corner.attrib
        )


def assert_equals_hase_und_igel(position: dict[str, Any], state: etree._Element) -> None:
    assert [{"index": f"{field['index']}", "type": field["type"]} for field in position["track"]] == [
        {key: each.get(key) for key in ("index", "type")} for each in state.iterfind("board/fields")
    ]
    for shown, tag in zip(position["players"], ("red", "blue"), strict=True):
        player = state.find(tag)
        assert player is not None
        for key, attribute in (("field", "index"), ("carrots", "carrots"), ("salads", "salads")):
            assert f"{shown[key]}" == player.get(attribute)
        assert shown["cards"] == [each.text for each in player.iterfind("cards/type")]


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITIONS)
def test_a_replay_of_each_edition_is_recognised(name: str) -> None:
    edition = EDITIONS[name]
    states = played(edition)
    content = encode_replay(edition.dialect, "room", record_of(edition, states))
    replay = read_replay(content, "file.xml")
    assert replay.edition.game_type == edition.game_type
    assert encode_replay(replay.edition.dialect, "room", replay.record) == content
    assert assert_every_ply_is_in_the_file(content) == len(states) > 1


def test_two_editions_with_the_same_packets_are_told_apart_by_their_rules() -> None:
    release, documented = EDITIONS["blokus-2021-21.4.0"], EDITIONS["blokus-2021-r3"]
    before = played(release, plies=8)[-1]
    assert isinstance(before, BlokusState)
    # BLUE has one piece left; by the documents the game ends with the round in which it places that piece
    states: list[State] = [replace(before, remaining_masks=(1 << Shape.MONO, *before.remaining_masks[1:]))]
    while len(states) < 8:
        states.append(states[-1].play(next(iter(states[-1].generate_legal_moves()))))
    replay = read_replay(encode_replay(release.dialect, "room", record_of(release, states)), "")
    assert replay.edition is release
    assert [data.state for data in replay.record if isinstance(data, Memento)] == states
    shorter = read_replay(encode_replay(release.dialect, "room", record_of(release, states[:5])), "")
    assert shorter.edition is documented


@pytest.mark.parametrize("path", OWN_SAMPLES + SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_sample_of_a_position(path: Path) -> None:
    assert assert_every_ply_is_in_the_file(b"<protocol>" + path.read_bytes() + b"</protocol>") == 1


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: f"{path.parents[0].name}-{path.name}")
def test_every_recording_opens_as_a_replay(path: Path) -> None:
    for stream in read_streams(path):
        if stream.is_to_server or b'class="memento"' not in stream.data:
            continue
        content = stream.data[stream.data.index(b"<protocol") :]
        if not content.rstrip().endswith(b"</protocol>"):  # the recording ends before the stream does
            content += b"</protocol>"
        plies = assert_every_ply_is_in_the_file(content)
        assert plies > (30 if "whole_game" in path.name else 0)


def test_a_compressed_file_is_the_same_game(tmp_path: Path) -> None:
    content = replay_of("blokus-2027", plies=8)
    plain, packed = tmp_path / "a.xml", tmp_path / "b.bin"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    assert load_replay(plain).record == load_replay(packed).record
    assert load_replay(packed).source == "b.bin"


def test_packets_outside_of_rooms_and_of_other_rooms_are_skipped() -> None:
    content = replay_of("blokus-2027", plies=5)
    other = content.removeprefix(b"<protocol>").removesuffix(b"\n</protocol>").replace(b'"room"', b'"other"')
    mixed = (
        b'<protocol><prepared roomId="room"/><joined roomId="room"/><left roomId="x"/>'
        + content.removeprefix(b"<protocol>").removesuffix(b"\n</protocol>")
        + other
        + b'<room roomId="room"/></protocol>'
    )
    assert read_replay(mixed, "").record == read_replay(content, "").record


def sentences(content: bytes) -> tuple[str, str]:
    """How the file is refused, in German and in English."""
    with pytest.raises(ReplayFileError) as caught:
        read_replay(content, "file.xml")
    words = caught.value.words
    assert str(caught.value) == words["en"]
    for text in words.values():
        assert "\n" not in text
        assert text.endswith(".")
    return words["de"], words["en"]


@pytest.mark.parametrize("name", EDITIONS)
def test_a_file_that_is_cut_anywhere_is_called_incomplete(name: str) -> None:
    content = replay_of(name, plies=3)
    for size in range(1, len(content), 997):
        assert sentences(content[:size]) == (
            "Die Datei ist nicht vollständig: Ihr Ende fehlt.",
            "The file is incomplete: its end is missing.",
        )


FOREIGN = b"""<protocol><room roomId="r"><data class="memento">
<state class="sc.plugin2019.GameState" turn="0"/></data></room></protocol>"""


GAME = replay_of("blokus-2027", plies=3)
PACKETS = GAME.split(b"</room>")


@pytest.mark.parametrize(
    ("content", "german", "english"),
    [
        (b" \n ", "leer", "empty"),
        (b"PK\x03\x04 a zip archive", "enthält kein XML", "holds no XML"),
        ("<protocol/>".encode("utf-16"), "enthält kein XML", "holds no XML"),
        (b"<html><body><p>not a replay</p></body></html>", "ist kein Replay", "is not a replay"),
        (b'<protocol><joined roomId="r"/></protocol>', "enthält keine Stellung", "holds no position"),
        (FOREIGN, "aus einem Spieljahr, das", "of a season that this program does not know"),
        (b"\x1f\x8b\x08\x00nonsense", "gepackte Datei ist beschädigt", "compressed file is damaged"),
        (gzip.compress(b"<protocol></protocol>", mtime=0)[:-9], "oder nicht vollständig", "damaged or incomplete"),
        (b"</room>".join([*PACKETS[:2], b"<room><<<", *PACKETS[2:]]), "Paket 3 lässt sich", "packet 3 cannot be read"),
        (GAME.replace(b'turn="3"', b'turn="x"'), "nach der 3.", "after number 3"),
    ],
)
def test_bad_files(content: bytes, german: str, english: str) -> None:
    found = sentences(content)
    assert german in found[0]
    assert english in found[1]


def test_a_file_that_is_huge_when_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_files, "MOST_BYTES", 2 << 20)
    bomb = gzip.compress(b"<protocol>" + b" " * (8 << 20))
    assert len(bomb) < 20_000
    german, english = sentences(bomb)
    assert "mehr als 2 MiB" in german
    assert "more than 2 MiB" in english
    assert sentences(b"<" * ((2 << 20) + 1)) == (german, english)


def test_a_file_with_too_many_positions() -> None:
    edition = EDITIONS["blokus-2027"]
    states = played(edition, plies=1)
    record = [Memento(states[number % 2]) for number in range(MOST_POSITIONS + 1)]
    assert f"more than {MOST_POSITIONS} positions" in sentences(encode_replay(edition.dialect, "", record))[1]
    read_replay(encode_replay(edition.dialect, "", record[1:]), "")


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ReplayFileError, match="There is no such file"):
        load_replay(tmp_path / "missing.xml")
    with pytest.raises(ReplayFileError, match="This is a folder"):
        load_replay(tmp_path)
    with pytest.raises(ReplayFileError, match="cannot be read"):
        load_replay(Path("a\0b"))


@cache
def seeds() -> list[bytes]:
    """Replays of all editions, and those that once were found by mutating them."""
    found = [path.read_bytes()[1:] for path in sorted((TESTS / "corpus" / "replay").iterdir())]
    return found + [replay_of(name, seed, plies=4) for seed, name in enumerate(EDITIONS)]


NUMBER = re.compile(rb'"-?\d+"')


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A replay with pieces removed, repeated, exchanged or replaced, and with other numbers."""
    content = draw(st.sampled_from(seeds()))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 300)))
        kind = draw(st.sampled_from(["remove", "repeat", "bytes", "number", "word", "cut"]))
        match kind:
            case "remove":
                content = content[:start] + content[end:]
            case "repeat":
                content = content[:end] + content[start:end] + content[end:]
            case "bytes":
                content = content[:start] + draw(st.binary(max_size=8)) + content[end:]
            case "number":
                number = str(draw(st.sampled_from([-(2**31), -1, 0, 1, 2, 63, 64, 99, 10_000, 2**31 - 1]))).encode()
                content = content[:start] + NUMBER.sub(b'"%s"' % number, content[start:], draw(st.integers(1, 5)))
            case "word":
                words = [b"BLUE", b"GREEN", b"PENTO_X", b"MONO", b"HARE", b"GOAL", b"SALAD", b"memento", b"result"]
                old, new = draw(st.sampled_from(words)), draw(st.sampled_from(words))
                content = content[:start] + content[start:].replace(old, new, draw(st.integers(1, 30)))
            case "cut":
                content = content[:start]
    return content


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(mutated())
@example(b"<protocol>" + b"<a>" * 100)
def test_a_mutated_file_is_shown_or_refused_with_a_sentence(content: bytes) -> None:
    with contextlib.suppress(ReplayFileError):
        assert describe_game(read_replay(content, "file.xml"))["positions"]
