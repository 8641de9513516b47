"""Fixtures for tests of sandboxes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spielleiter.programs.sandbox.sandbox import Sandbox
from tests.programs.sandbox.sandboxes import KINDS, make_sandbox, remove_images


@pytest.fixture(scope="session", autouse=True)
def images() -> Iterator[None]:
    """Remove the container images of these tests at the end."""
    yield
    remove_images()


@pytest.fixture(params=KINDS, scope="session")
def sandbox(request: pytest.FixtureRequest, images: None) -> Sandbox:
    """Each kind of sandbox, one after the other."""
    return make_sandbox(request.param)
