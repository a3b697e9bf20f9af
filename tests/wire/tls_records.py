"""Records that no library makes: sealed here, with the keys of a session that
Python's ssl has opened."""

import ctypes
import ctypes.util
import hashlib
import hmac
import struct
from pathlib import Path

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION = 20, 21, 22, 23
KEY_UPDATE = b"\x18\x00\x00\x01\x00"
KEY_UPDATE_WANTED = b"\x18\x00\x00\x01\x01"
CLOSE_NOTIFY = b"\x01\x00"
USER_CANCELED = b"\x01\x5a"
INTERNAL_ERROR = b"\x02\x50"
TAG_LEN = 16
HASHES = {
    "TLS_AES_128_GCM_SHA256": (hashlib.sha256, 16),
    "TLS_AES_256_GCM_SHA384": (hashlib.sha384, 32),
}
_GET_TAG = 0x10


def ticket(length: int = 1) -> bytes:
    """A NewSessionTicket (RFC 8446 section 4.6.1)."""
    body = struct.pack(">IIB", 60, 0, 1) + b"n"
    body += struct.pack(">H", length) + b"t" * length + b"\0\0"
    return b"\x04" + struct.pack(">I", len(body))[1:] + body


def plain_record(content_type: int, content: bytes) -> bytes:
    """A record as it is before there are keys."""
    return struct.pack(">BHH", content_type, 0x303, len(content)) + content


class RecordSealer:
    """One direction of a session of TLS 1.3: RFC 8446 sections 5.2, 5.3 and
    7.3."""

    def __init__(self, suite: str, secret: bytes) -> None:
        self._hash, self._key_len = HASHES[suite]
        self._use(secret)

    @classmethod
    def of(cls, tls, key_log: Path, label: str) -> "RecordSealer":
        """Takes over a direction from an ssl object that has not written yet."""
        secrets = dict(
            (line.split()[0], line.split()[2])
            for line in key_log.read_text().splitlines()
            if line and not line.startswith("#")
        )
        return cls(tls.cipher()[0], bytes.fromhex(secrets[label]))

    def seal(
        self, content: bytes, content_type: int = APPLICATION, padding: int = 0
    ) -> bytes:
        inner = content + bytes([content_type]) + bytes(padding)
        head = struct.pack(">BHH", APPLICATION, 0x303, len(inner) + TAG_LEN)
        number = self._number.to_bytes(12, "big")
        nonce = bytes(a ^ b for a, b in zip(self._iv, number))
        self._number += 1
        return head + encrypted(self._key, nonce, inner, head)

    def update(self) -> None:
        """Goes on with the next keys, behind a KeyUpdate of this side."""
        self._use(self._expand(b"traffic upd", self._hash().digest_size))

    def _use(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._key = self._expand(b"key", self._key_len)
        self._iv = self._expand(b"iv", 12)

    def _expand(self, label: bytes, length: int) -> bytes:
        """HKDF-Expand-Label without a context."""
        label = b"tls13 " + label
        info = struct.pack(">HB", length, len(label)) + label + b"\0\1"
        return hmac.digest(self._secret, info, self._hash)[:length]


class OldRecordSealer:
    """A client's direction of a session of TLS 1.2 with AES-128-GCM: RFC 5246
    section 6.3 and RFC 5288. The suite's hash is SHA-256."""

    SUITE = "ECDHE-ECDSA-AES128-GCM-SHA256"

    def __init__(self, key_log: Path, server_hello: bytes) -> None:
        """Takes over from an ssl object that has written its Finished."""
        for line in key_log.read_text().splitlines():
            if line.startswith("CLIENT_RANDOM "):
                client, master = map(bytes.fromhex, line.split()[1:])
        # Behind the heads of record and message, and the version.
        seed = b"key expansion" + server_hello[11:43] + client
        block, link = b"", seed
        while len(block) < 40:
            link = hmac.digest(master, link, hashlib.sha256)
            block += hmac.digest(master, link + seed, hashlib.sha256)
        self._key, self._salt = block[:16], block[32:36]
        self._number = 1

    def seal(self, content: bytes, content_type: int = APPLICATION) -> bytes:
        number = self._number.to_bytes(8, "big")
        self._number += 1
        aad = number + struct.pack(">BHH", content_type, 0x303, len(content))
        sealed = encrypted(self._key, self._salt + number, content, aad)
        return plain_record(content_type, number + sealed)


def encrypted(key: bytes, nonce: bytes, plain: bytes, head: bytes) -> bytes:
    """AES-GCM by way of OpenSSL's own library."""
    name = f"EVP_aes_{len(key) * 8}_gcm"
    context = ctypes.c_void_p(CRYPTO.EVP_CIPHER_CTX_new())
    cipher = ctypes.c_void_p(getattr(CRYPTO, name)())
    out = ctypes.create_string_buffer(len(plain) + TAG_LEN)
    count = ctypes.c_int()
    CRYPTO.EVP_EncryptInit_ex(context, cipher, None, key, nonce)
    CRYPTO.EVP_EncryptUpdate(
        context, None, ctypes.byref(count), head, len(head)
    )
    CRYPTO.EVP_EncryptUpdate(
        context, out, ctypes.byref(count), plain, len(plain)
    )
    end = ctypes.byref(out, count.value)
    CRYPTO.EVP_EncryptFinal_ex(context, end, ctypes.byref(count))
    tag = ctypes.byref(out, len(plain))
    CRYPTO.EVP_CIPHER_CTX_ctrl(context, _GET_TAG, TAG_LEN, tag)
    CRYPTO.EVP_CIPHER_CTX_free(context)
    return out.raw


CRYPTO = ctypes.CDLL(ctypes.util.find_library("crypto"))
CRYPTO.EVP_CIPHER_CTX_new.restype = ctypes.c_void_p
for _name in ("EVP_aes_128_gcm", "EVP_aes_256_gcm"):
    getattr(CRYPTO, _name).restype = ctypes.c_void_p
