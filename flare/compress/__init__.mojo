"""Compression: gzip, zlib, deflate, brotli and zstd, streaming, with output limits."""

from flare.compress.content_coding import (
    ContentCoding,
    can_decode,
    can_encode,
    is_available,
)
from flare.compress.decoder import Decoder, OUTPUT_LEN_MAX, decompress
from flare.compress.encoder import Encoder, LEVEL_DEFAULT, compress
from flare.compress.error import CompressError, CompressErrorKind
from flare.compress.error import Format
