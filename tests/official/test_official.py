"""Our server says what the official releases said in the recordings that `python -m tests.official` has made of them.

The recordings hold conversations with unchanged releases. `KNOWN` in `tests/official/conversations.py` names the
differences that are meant.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from spielleiter.server.editions import EDITIONS
from tests.cli.background import background_server
from tests.official.__main__ import Comparison, Official, Pace, main
from tests.official.conversations import (
    CURRENT,
    ENDED,
    KNOWN,
    RELEASES,
    Known,
    Talk,
    compare,
    on_turn,
    read_recording,
    stranger,
    talk_to_ours,
)

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
RECORDINGS = {edition: read_recording(HERE / f"{release}.jsonl.gz") for edition, release in RELEASES.items()}
GROUP_SIZE = 40
OTHER_EDITION = "blokus-2021-21.4.0"
AT_ONCE = Pace(0.001, 0, 0)  # our own server answers questions in their order


def groups() -> list[tuple[str, str, list[Talk]]]:
    """Return the recorded conversations in groups: the edition, a name, and the conversations."""
    found = []
    for edition, talks in RECORDINGS.items():
        for kind, members in groupby(talks, lambda talk: talk.conversation.name.split(":")[0]):
            each = list(members)
            starts = range(0, len(each), GROUP_SIZE)
            found += [(edition, f"{kind} {start}", each[start : start + GROUP_SIZE]) for start in starts]
    return found


@pytest.mark.parametrize(
    ("edition", "talks"),
    [
        # of each kind, the first group is enough for every change
        pytest.param(
            edition, talks, id=f"{edition} {name}", marks=[] if name.endswith(" 0") else [pytest.mark.extended]
        )
        for edition, name, talks in groups()
    ],
)
def test_recorded_conversations(edition: str, talks: list[Talk]) -> None:
    ours = [talk_to_ours(talk.conversation, EDITIONS[edition], talk.start_piece or "PENTO_L") for talk in talks]
    compared = (compare(*pair, edition)[0] for pair in zip(talks, ours, strict=True))
    differences = [str(each) for each in compared if each is not None]
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize(
    "packet",
    [
        "<!DOCTYPE protocol>",
        "<!-- c -- d -->",
        "&#0;",
        '<room roomId="@ID1@"><data class="state"/></room>',
        '<room roomId="@ID1@"><data class="memento"><state class="state" turn="0"/></data></room>',
    ],
)
def test_a_known_difference_needs_its_packet_and_its_answer(packet: str) -> None:
    """Our answer would be a difference after another packet, and if the release also ended the stream."""
    (talk,) = (each for each in RECORDINGS[CURRENT] if each.conversation.name == f"on turn: {packet}")
    place = next(index for index, step in enumerate(talk.conversation.steps) if step.text == packet)
    ours = talk_to_ours(talk.conversation, EDITIONS[CURRENT], talk.start_piece)
    difference, known = compare(talk, ours, CURRENT)
    assert difference is None
    assert known[-1].ends
    for step, exchange in (
        (replace(talk.conversation.steps[place], text="<foo/>"), talk.exchanges[place]),
        (talk.conversation.steps[place], {"p1": [ENDED]}),
    ):
        steps = (*talk.conversation.steps[:place], step, *talk.conversation.steps[place + 1 :])
        exchanges = [*talk.exchanges[:place], exchange, *talk.exchanges[place + 1 :]]
        other = Talk(replace(talk.conversation, steps=steps), talk.start_piece, exchanges)
        assert compare(other, ours, CURRENT)[0] is not None


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.place[:40])
def test_a_deliberate_difference_is_documented(known: Known) -> None:
    document = " ".join((PROJECT / "docs" / "compatibility.md").read_text(encoding="utf-8").split())
    assert known.place in document


def test_the_tool_finds_no_difference_between_our_server_and_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tmp_path / "recording.gz"
    options = ["--packet", "<new/>", "--only", "on turn: <new/>", "--record", str(recording)]
    with background_server() as server:
        assert main([f"127.0.0.1:{server.port}", *options], AT_ONCE) == 0
    assert "1 conversations, 0 differences" in capsys.readouterr().out
    (talk,) = read_recording(recording)
    assert talk.conversation == on_turn("<new/>")
    assert compare(talk, talk_to_ours(talk.conversation, EDITIONS[CURRENT], talk.start_piece), CURRENT) == (None, [])


def test_the_tool_finds_a_planted_difference() -> None:
    """The server plays another edition than the one it is compared with, which cuts off without a word."""
    conversation = stranger("<!-- c -->", "<foo/>")
    with (
        background_server(default_game="swc_2021_blokus") as server,
        Official(("127.0.0.1", server.port), OTHER_EDITION, AT_ONCE) as official,
    ):
        _, difference = Comparison(official, OTHER_EDITION).try_once(conversation)
    assert "is not a packet of this protocol" in str(difference)
