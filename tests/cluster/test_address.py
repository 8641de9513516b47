"""The value of --cluster."""

from __future__ import annotations

import pytest

from spielleiter.cluster.address import MAX_LOCAL_WORKERS, ClusterAddress
from spielleiter.common.errors import SetupError


@pytest.mark.parametrize(
    ("text", "workers", "is_open"),
    [
        ("tcp://pc01:8786", None, True),
        ("tcp://10.0.0.7:8786", None, True),
        ("tcp://localhost:8786", None, False),
        ("tcp://127.0.0.1:8786", None, False),
        ("tls://10.0.0.7:8786", None, False),
        ("tcp://[::1]:8786", None, False),
        ("local:1", 1, False),
        (f"local:{MAX_LOCAL_WORKERS}", MAX_LOCAL_WORKERS, False),
    ],
)
def test_addresses_are_read(text: str, workers: int | None, is_open: bool) -> None:
    address = ClusterAddress.parse(text)
    assert (address.text, address.local_workers, address.is_open) == (text, workers, is_open)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pc01",
        "pc01:8786",
        "http://pc01:8786",
        "tcp://pc01",
        "tcp://:8786",
        "tcp://pc01:0",
        "tcp://pc01:70000",
        "tcp://pc01:8786/x",
        "local",
        "local:0",
        "local:-1",
        "local:257",
        "local:x",
        "tcp://a b:1",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SetupError, match=r"expected tcp://HOST:PORT or tls://HOST:PORT"):
        ClusterAddress.parse(text)
