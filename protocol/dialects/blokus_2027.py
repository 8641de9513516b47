"""The dialect of Blokus 2027. Source: packets of release 27.0.4, whose server also decides how packets are read."""

from __future__ import annotations

from typing import Final

from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.state import RULES_2027
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import blokus
from spielleiter.protocol.dialects.release_2022 import TEAM_NAMES, conduct_texts, release_dialect

PACKAGE: Final = "sc.plugin2027"

BLOKUS_2027: Final[Dialect] = release_dialect(
    name="blokus-2027",
    texts=conduct_texts(
        mistake_texts={
            **blokus.MISTAKE_TEXTS,
            BlokusMistake.WRONG_COLOR: "Nur eigene Spielfiguren können gezogen werden",
        },
        mistakes_without_move=blokus.MISTAKES_WITHOUT_MOVE,
        describe_move=blokus.describe_move,
    ),
    points=(m.Fragment("Punkte", m.Aggregation.AVERAGE),),
    moves=blokus.release_move_readers(PACKAGE, "sc.api.plugins.Coordinates"),
    read_memento=blokus.memento_reader(RULES_2027),
    data_writers={
        m.MoveData: blokus.move_writer(PACKAGE, has_hints=False),
        m.Memento: blokus.MementoWriter(
            lambda state: (
                f' startTeam="{TEAM_NAMES[0]}" turn="{state.turn}"'
                f' startPiece="{blokus.SHAPE_NAMES[state.start_shape]}" round="{state.round}"'
            ),
            blokus.last_move(PACKAGE),
            blokus.board,
            blokus.last_move_mono(),
            blokus.shape_lists(),
            blokus.colors("validColors"),
        ),
    },
    plain_forms=(blokus.plain_set_move(PACKAGE),),
    played_on=blokus.played_on,
)
