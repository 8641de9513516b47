"""The codes that teams and the teacher log in with, and the hashes that are kept of them and of passwords.

A code is printed and typed: it has no letters and digits that look alike, and case, spaces and hyphens do not matter.
Its first group is public and finds the row; the other three are 60 random bits.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""32 characters without 0 and O, 1 and I."""
_GROUP: Final = 4
_GROUPS: Final = 4
LONGEST_PASSWORD: Final = 1000
"""Characters; a longer one is not hashed."""

# The second choice of RFC 9106 would take 64 MiB and four threads, beside games whose clocks are running. These are the
# parameters that OWASP recommends where memory is short: 19 MiB and one thread, 20 ms.
_HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@dataclass(frozen=True, slots=True)
class Code:
    """A new code. Only `key` and `hash` are kept."""

    text: str = field(repr=False)
    """What is printed: ``KTMP-7XQ4-M2CD-9RHB``."""
    key: str
    hash: str


def new_code() -> Code:
    """Return a new code."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(_GROUP * _GROUPS))
    text = "-".join(letters[start : start + _GROUP] for start in range(0, len(letters), _GROUP))
    return Code(text, letters[:_GROUP], hash_secret(letters[_GROUP:]))


def split_code(text: str) -> tuple[str, str] | None:
    """Return the key and the secret of a code as somebody typed it; None if it is no code."""
    letters = "".join(each for each in text[:100].upper() if each.isalnum())
    if len(letters) != _GROUP * _GROUPS or any(each not in ALPHABET for each in letters):
        return None
    return letters[:_GROUP], letters[_GROUP:]


def hash_secret(secret: str) -> str:
    """Return what is kept of a password or of the secret of a code. Takes about 20 ms."""
    return _HASHER.hash(secret)


def is_secret(secret: str, hashed: str) -> bool:
    """Return whether `hashed` was made from `secret`. Takes about 20 ms."""
    if len(secret) > LONGEST_PASSWORD:
        return False
    try:
        return _HASHER.verify(hashed, secret)
    except (VerificationError, InvalidHashError):
        return False
