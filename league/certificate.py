"""The league's own certificate, by whose fingerprint the helpers' PCs know that they talk to the league.

No authority signs it, and nothing in it is trusted but its key: a PC compares the fingerprint with that in its code
before it sends anything. So names and dates in it mean nothing, and it does not expire before the league ends.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import ssl
from pathlib import Path
from typing import Final

import msgspec

from spielleiter.common.errors import SetupError
from spielleiter.league.helper_code import FINGERPRINT_SIZE

CERTIFICATE: Final = "helpers.pem"
"""The file with the certificate and its key in the folder of the league."""
_NAME: Final = "spielleiter league"
_BEGIN: Final = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_END: Final = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
"""The date for a certificate that does not expire (RFC 5280)."""


class Certificate(msgspec.Struct, frozen=True):
    """A certificate with its key in one file, which only this user can read."""

    path: Path
    fingerprint: bytes
    """As in `HelperCode`."""

    def server_context(self) -> ssl.SSLContext:
        """Return the settings of a TLS server with this certificate. Raises OSError and ssl.SSLError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.path)
        return context


def fingerprint_of(certificate: bytes) -> bytes:
    """Return the fingerprint of a certificate in DER form."""
    return hashlib.sha256(certificate).digest()[:FINGERPRINT_SIZE]


def client_context() -> ssl.SSLContext:
    """Return the settings of a TLS client, which has to compare the fingerprint before it sends anything."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def open_certificate(folder: Path) -> Certificate:
    """Return the certificate in the folder of a league; the first time it is made. Blocks for a moment.

    Raises SetupError if the file is damaged, and OSError.
    """
    path = folder / CERTIFICATE
    try:
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        text = _new_certificate()
        write_secretly(path, text)
    except UnicodeDecodeError:
        text = ""
    try:
        begin = text.index("-----BEGIN CERTIFICATE-----")
        certificate = Certificate(path, fingerprint_of(ssl.PEM_cert_to_DER_cert(text[begin:])))
        certificate.server_context()
    except (ValueError, ssl.SSLError) as error:
        raise SetupError(
            f"{path}: is damaged ({error}); restore it from a backup, or remove it: then every helper's PC needs a new "
            "code"
        ) from None
    return certificate


def _new_certificate() -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BEGIN)
        .not_valid_after(_END)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return (private + certificate.public_bytes(serialization.Encoding.PEM)).decode("ascii")


def write_secretly(path: Path, text: str) -> None:
    """Write a file that only this user can read, whole or not at all. Raises OSError."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
