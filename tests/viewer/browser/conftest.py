"""One browser and one server for all tests of the page; one visit for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.viewer.browser.browsers import Visit, started_browser
from tests.viewer.browser.served import Served, started_server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="session")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    # after the browser: without one, no server is needed
    with started_server(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Callable[..., Visit]]:
    """A function that opens a browser window of its own; its arguments are those of playwright's `new_context`."""
    visits: list[Visit] = []

    def start(base: str = f"{served.url}/", **settings: Any) -> Visit:
        # transitions are a tenth of the frames that are drawn
        usual = {"viewport": {"width": 1280, "height": 800}, "locale": "en-US", "reduced_motion": "reduce"}
        context = browser.new_context(**{**usual, **settings})
        visits.append(Visit(base, context, context.new_page()))
        return visits[-1]

    yield start
    for each in visits:
        each.close()
