"""The code that a teacher gives to a helper's PC: its secret, and the fingerprint of the league's certificate.

Whoever has the code can check the league's certificate, so none has to be installed, and can prove to be that PC. The
league keeps only the hash of the secret. A secret has 80 random bits, so a plain hash is enough, and strangers with a
wrong one are turned away at no cost.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from typing import Final

import msgspec

from spielleiter.common.errors import SetupError

SECRET_SIZE: Final = 10
FINGERPRINT_SIZE: Final = 16
"""Bytes of the fingerprint that a code contains: nobody can make another certificate with the same 128 bits."""
_CHECKSUM_SIZE: Final = 2
_GROUP: Final = 5  # letters
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The letters of a code (Crockford's Base32), none of which looks like another one."""
_STANDARD: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_TO_CODE: Final = str.maketrans(_STANDARD, _ALPHABET)
_FROM_CODE: Final = str.maketrans(_ALPHABET, _STANDARD)
_MISREAD: Final = str.maketrans("OIL", "011")
_IGNORED: Final = re.compile(r"[\s\-]+")


def new_secret() -> str:
    """Return a new secret: 80 random bits, as 16 letters."""
    return _encode(secrets.token_bytes(SECRET_SIZE))


def secret_hash(secret: str) -> str:
    """Return what the league keeps of a secret: its SHA-256, in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


class HelperCode(msgspec.Struct, frozen=True):
    """The parts of a code."""

    secret: str
    """As `new_secret` returns it."""
    fingerprint: bytes
    """The first FINGERPRINT_SIZE bytes of the SHA-256 of the league's certificate."""

    @property
    def text(self) -> str:
        """The code as it is handed out, in groups of five letters."""
        data = _decode(self.secret) + self.fingerprint
        letters = _encode(data + _checksum(data))
        return "-".join(letters[start : start + _GROUP] for start in range(0, len(letters), _GROUP))

    @classmethod
    def parse(cls, text: str) -> HelperCode:
        """Read a code as a person has typed it. Raises SetupError if that cannot be one."""
        letters = _IGNORED.sub("", text).upper().translate(_MISREAD)
        try:
            data = _decode(letters)
        except ValueError:
            data = b""
        content, checksum = data[:-_CHECKSUM_SIZE], data[-_CHECKSUM_SIZE:]
        if len(content) != SECRET_SIZE + FINGERPRINT_SIZE or checksum != _checksum(content):
            raise SetupError("this is not the code of a helper's PC; copy it again from the page of the league")
        return cls(_encode(content[:SECRET_SIZE]), content[SECRET_SIZE:])


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_CHECKSUM_SIZE]


def _encode(data: bytes) -> str:
    return base64.b32encode(data).decode("ascii").rstrip("=").translate(_TO_CODE)


def _decode(letters: str) -> bytes:
    """Raises ValueError."""
    if not set(letters) <= set(_ALPHABET):
        raise ValueError(letters)
    return base64.b32decode(letters.translate(_FROM_CODE) + "=" * (-len(letters) % 8))
