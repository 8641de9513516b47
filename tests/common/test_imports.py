"""What belongs to one game is imported by its name, and may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import spielleiter.common
from spielleiter.common.imports import imported, imported_if_there
from spielleiter.game.blokus import BLOKUS_2027


def test_an_object_is_found_in_its_module() -> None:
    assert imported("game.blokus:BLOKUS_2027") is imported_if_there("game.blokus:BLOKUS_2027") is BLOKUS_2027


@pytest.mark.parametrize("reference", ["game.chess:CHESS", "viewer.games.chess.view:VIEW", "viewer.games..view:VIEW"])
def test_a_module_that_is_not_there_is_none(reference: str) -> None:
    assert imported_if_there(reference) is None


def test_a_mistake_inside_a_module_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.common, "__path__", [*spielleiter.common.__path__, str(tmp_path)])
    (tmp_path / "broken_for_a_test.py").write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        imported_if_there("common.broken_for_a_test:X")
    with pytest.raises(AttributeError):
        imported_if_there("game.blokus:CHESS")
