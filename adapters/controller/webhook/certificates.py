"""Self-signed certificates: an authority, and the certificates it signs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LASTS: Final = timedelta(days=365)
CERTIFICATE_LASTS: Final = timedelta(days=30)
# The API server's clock may be behind ours.
_SKEW: Final = timedelta(hours=1)
# What is in the last third of its life is replaced.
_LAST_SHARE: Final = 3


class UnreadableError(Exception):
    """A certificate and key that cannot be read. The text does not quote them."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key, both PEM. `names` are whom it is for; an authority's are empty."""

    pem: bytes
    key: bytes = field(repr=False)
    names: tuple[str, ...]
    since: datetime
    until: datetime
    issuer: bytes = field(default=b"", repr=False)

    def ended(self, now: datetime) -> bool:
        """True if it has expired."""
        return now >= self.until

    def due(self, now: datetime) -> bool:
        """True if it is time for another: only a third of its life is left, or it has not begun."""
        return now < self.since or now >= self.until - (self.until - self.since) / _LAST_SHARE


def new_authority(now: datetime) -> Certificate:
    """Return a self-signed authority that lasts for a year from `now`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("treenail webhook")
    builder = (
        _begun(name, name, key, now, AUTHORITY_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(_id_of(key), critical=False)
    )
    return _certificate(builder.sign(key, hashes.SHA256()), key, ())


def issued(authority: Certificate, names: tuple[str, ...], now: datetime) -> Certificate:
    """Return a server's certificate for `names` (DNS names or addresses), vouched for by `authority`.

    It lasts for 30 days, and no longer than the authority.
    """
    issuer = x509.load_pem_x509_certificate(authority.pem)
    issuer_key = _loaded_key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _begun(_name(names[0][:64]), issuer.subject, key, now, min(CERTIFICATE_LASTS, authority.until - now))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_id_of(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    return _certificate(builder.sign(issuer_key, hashes.SHA256()), key, names, authority.pem)


def read_authority(pem: bytes, key: bytes) -> Certificate:
    """Return the authority with this certificate and key.

    Raises:
        UnreadableError: they are no such thing, or do not belong together.
    """
    loaded = _loaded_key(key)
    certificate = _loaded(pem)
    if certificate.public_key() != loaded.public_key():
        raise UnreadableError("the key is not the certificate's")
    return _certificate(certificate, loaded, ())


def ends_at(pem: bytes) -> datetime:
    """Return until when a certificate may be trusted; UnreadableError where it is none."""
    return _loaded(pem).not_valid_after_utc


def split(bundle: bytes) -> tuple[bytes, ...]:
    """Return the certificates of a bundle, PEM each; UnreadableError where it holds none."""
    try:
        return tuple(_pem(each) for each in x509.load_pem_x509_certificates(bundle))
    except ValueError:
        raise UnreadableError("there is no certificate") from None


def _begun(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lasts: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lasts)
    )


def _certificate(
    made: x509.Certificate, key: ec.EllipticCurvePrivateKey, names: tuple[str, ...], issuer: bytes = b""
) -> Certificate:
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    since, until = made.not_valid_before_utc, made.not_valid_after_utc
    return Certificate(_pem(made), secret, names, since, until, issuer)


def _loaded(pem: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError:
        raise UnreadableError("there is no certificate") from None


def _loaded_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError):
        raise UnreadableError("there is no private key") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UnreadableError("the private key is of another kind")
    return key


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _id_of(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
