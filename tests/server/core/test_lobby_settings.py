"""The operator's settings reach the lobby, and the password is not shown."""

from __future__ import annotations

import pytest

from spielleiter.server.app import _lobby_settings
from spielleiter.server.config import Config


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("delivery_timeout", 0.5),
        ("reservation_timeout", 7.0),
        ("rooms_waiting", 3),
        ("seats_per_connection", 2),
        ("observers_per_room", 5),
    ],
)
def test_each_value_comes_from_its_setting(field: str, value: float) -> None:
    settings = _lobby_settings(Config(**{field: value}))  # type: ignore[arg-type]
    assert getattr(settings, field) == value
    assert getattr(_lobby_settings(Config()), field) == getattr(Config(), field)


def test_the_password_is_never_shown() -> None:
    settings = _lobby_settings(Config(password="a secret of mine"))
    assert settings.password == "a secret of mine"
    assert "a secret of mine" not in repr(settings)
