"""Our player at a table of an official server, and recordings of one replayed against ours."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.server.editions import EDITIONS
from tools.season.compare import compare
from tools.season.our_player import OurPlayer

PIRANHAS = EDITIONS["piranhas-2026"]
RECORDINGS = Path(__file__).parents[1] / "server" / "recordings"


def test_it_answers_a_position_with_a_move_as_on_the_wire() -> None:
    state = PIRANHAS.game.new_state(random.Random(1))
    text = PIRANHAS.dialect.encode(RoomMessage("x", Memento(state))).decode()
    shown = text[text.index("<state") : text.index("</data>")]
    move = OurPlayer(PIRANHAS, "random", 1).move(shown)
    assert re.fullmatch(r'<data class="move"><from x="\d" y="\d"/><direction>\w+</direction></data>', move)
    assert move == OurPlayer(PIRANHAS, "random", 1).move(shown)


def test_a_changed_answer_of_a_recording_is_a_difference(tmp_path: Path) -> None:
    text = (RECORDINGS / "blokus-2027" / "auth_wrong_password.txt").read_text("utf-8")
    (tmp_path / "same.txt").write_text(text, "utf-8")
    (tmp_path / "changed.txt.gz").write_bytes(gzip.compress(text.replace("errorpacket", "otherpacket").encode()))
    *differences, numbers = compare(EDITIONS["blokus-2027"], tmp_path)
    assert [line.partition(":")[0] for line in differences] == ["changed.txt.gz"]
    assert numbers == "2 conversations with 0 positions, 1 of them answered otherwise"
