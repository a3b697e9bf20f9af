# 10 Content codings: choose one, compress, stream it back, stop a bomb.
#
# Expected output:
#   the client wants gzip most; without it, br
#   20000 bytes are * as gzip
#   deflate: the same again
#   streamed: 20000 bytes in pieces of at most 4096
#   a megabyte of zeros in 1*: gzip: at byte * of the stream, it comes to more than 65536 bytes decompressed; raise the limit to read it, if the sender is to be trusted
#   cut short: gzip: at byte * of the stream, the octets end before the stream does; the transfer was cut short, try it again

from flare.bytes.buffer import Buffer
from flare.compress import (
    CompressErrorKind,
    ContentCoding,
    Decoder,
    Format,
    compress,
    decompress,
    is_available,
)
from flare.http.message import AcceptEncoding


def main() raises:
    # Brotli's library may be missing; gzip is everywhere.
    var offered: List[ContentCoding] = [ContentCoding.GZIP]
    if is_available("br"):
        offered.append(ContentCoding.BR)
    var accepted = AcceptEncoding("gzip, br;q=0.8, *;q=0")
    var other = AcceptEncoding("br, identity;q=0.5")
    print("the client wants", accepted.choose(offered).value(), end=" most; ")
    print("without it,", other.choose(offered).or_else(ContentCoding.BR))

    var page = List[UInt8](length=20_000, fill=97)
    var stream = compress(page, Format.GZIP)
    print(len(page), "bytes are", len(stream), "as gzip")
    var deflate = compress(page, Format.DEFLATE)
    var is_same = decompress(deflate, Format.DEFLATE) == page
    print("deflate:", "the same again" if is_same else "something else")

    # Whoever must bound their memory takes what comes out in bounded pieces.
    var decoder = Decoder(Format.GZIP)
    var output = Buffer()
    var taken = 0
    var total = 0
    while taken < len(stream) or decoder.has_pending():
        taken += decoder.receive_some(Span(stream)[taken:], output, 4_096)
        total += len(output)
        output.clear()
    decoder.finish()
    print("streamed:", total, "bytes in pieces of at most 4096")

    var bomb = compress(List[UInt8](length=1 << 20, fill=0), Format.GZIP)
    try:
        _ = decompress(bomb, Format.GZIP, output_len_max=65_536)
    except error:
        if error.kind == CompressErrorKind.OUTPUT_LIMIT:
            print("a megabyte of zeros in ", len(bomb), ": ", error, sep="")
    try:
        _ = decompress(Span(stream)[:20], Format.GZIP)
    except error:
        print("cut short:", error)
