"""Tests for the codes of helpers' PCs and the certificate that they contain the fingerprint of."""

from __future__ import annotations

import re
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.common.errors import SetupError
from spielleiter.league.certificate import CERTIFICATE, client_context, fingerprint_of, open_certificate
from spielleiter.league.helper_code import (
    FINGERPRINT_SIZE,
    HelperCode,
    new_secret,
    secret_hash,
)

FINGERPRINTS = st.binary(min_size=FINGERPRINT_SIZE, max_size=FINGERPRINT_SIZE)


@given(FINGERPRINTS, st.sampled_from(["upper", "lower"]), st.sampled_from(["-", " ", "", " - "]))
def test_a_code_is_read_as_people_type_it(fingerprint: bytes, case: str, separator: str) -> None:
    code = HelperCode(new_secret(), fingerprint)
    typed = getattr(code.text, case)().replace("-", separator)
    assert HelperCode.parse(typed) == code
    assert HelperCode.parse(typed.replace("0", "O").replace("1", "l")) == code
    assert re.fullmatch("([0-9A-HJKMNP-TV-Z]{5}-){8}[0-9A-HJKMNP-TV-Z]{5}", code.text)


@given(FINGERPRINTS, st.integers(0, 44), st.sampled_from("0123456789ABCDEFGHJKMNPQRSTVWXYZ"))
def test_a_code_with_a_wrong_letter_is_noticed(fingerprint: bytes, place: int, letter: str) -> None:
    code = HelperCode(new_secret(), fingerprint)
    letters = list(code.text.replace("-", ""))
    is_changed = letters[place] != letter
    letters[place] = letter
    if not is_changed or place == 44:  # one bit of the last letter means nothing
        return
    try:
        read = HelperCode.parse("".join(letters))
    except SetupError:
        return
    raise AssertionError(f"taken for {read}")


@pytest.mark.parametrize("text", ["", "K", "hello", "ÄÖÜ", "U" * 45, "0" * 45, "0" * 90])
def test_what_is_no_code_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="copy it again"):
        HelperCode.parse(text)


def test_secrets_differ_and_only_their_hash_is_kept() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert secret_hash(first) == secret_hash(first) != secret_hash(second)
    assert first not in secret_hash(first)


def test_the_certificate_stays_the_same_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    first = open_certificate(tmp_path)
    assert open_certificate(tmp_path) == first
    if sys.platform != "win32":
        assert first.path.stat().st_mode & 0o077 == 0
    assert [each.name for each in tmp_path.iterdir()] == [CERTIFICATE]
    other = tmp_path / "other"
    other.mkdir()
    assert open_certificate(other).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_damaged_certificate_is_not_replaced_silently(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CERTIFICATE).write_bytes(content)
    with pytest.raises(SetupError, match="restore it from a backup"):
        open_certificate(tmp_path)
    assert (tmp_path / CERTIFICATE).read_bytes() == content


async def test_a_client_sees_the_fingerprint_before_it_sends_anything(tmp_path: Path) -> None:
    certificate = open_certificate(tmp_path)
    near, far = trio.testing.memory_stream_pair()
    client = trio.SSLStream(near, client_context(), server_hostname=None)
    server = trio.SSLStream(far, certificate.server_context(), server_side=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.do_handshake)
        await client.do_handshake()
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    assert fingerprint_of(shown) == certificate.fingerprint
    assert client.version() == "TLSv1.3"


async def test_an_old_version_of_tls_is_refused(tmp_path: Path) -> None:
    near, far = trio.testing.memory_stream_pair()
    context = client_context()
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    client = trio.SSLStream(near, context, server_hostname=None)
    server = trio.SSLStream(far, open_certificate(tmp_path).server_context(), server_side=True)

    async def shake_hands(stream: trio.SSLStream[Any]) -> None:
        with pytest.raises(trio.BrokenResourceError):
            await stream.do_handshake()
        await trio.aclose_forcefully(stream.transport_stream)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(shake_hands, server)
        nursery.start_soon(shake_hands, client)
