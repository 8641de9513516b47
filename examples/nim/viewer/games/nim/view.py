"""The view of Nim: the sticks that are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spielleiter.game.api import State
from spielleiter.game.nim import NimState
from spielleiter.viewer.positions.view import Json, View


@dataclass(frozen=True, slots=True)
class NimView(View):
    name: str = "nim"

    def parts(self, state: State) -> Json:
        assert isinstance(state, NimState)
        return {"sticks": state.sticks}


VIEW: Final = NimView()
