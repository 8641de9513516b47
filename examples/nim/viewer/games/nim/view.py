"""The view of Nim: the sticks that are left."""

from __future__ import annotations

from typing import Final

from spielleiter.game.nim import NimState
from spielleiter.viewer.positions.view import Json, View


class NimView(View):
    name = "nim"

    def parts(self, state: NimState) -> Json:
        return {"sticks": state.sticks}


VIEW: Final = NimView()
