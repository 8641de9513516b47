"""Reading the text of a status message."""

from __future__ import annotations

import pytest

from spielleiter.client.admin_requests import parsed_status
from spielleiter.client.errors import NoStatusError


def test_a_status_is_a_json_object() -> None:
    assert parsed_status('{"rooms": []}') == {"rooms": []}


@pytest.mark.parametrize("report", ["", "{", "[]", "1", '"text"'])
def test_anything_else_is_an_error(report: str) -> None:
    with pytest.raises(NoStatusError, match="cannot be read"):
        parsed_status(report)
