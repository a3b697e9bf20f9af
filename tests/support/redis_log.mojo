"""What a reply parser makes of octets, as text."""

from flare.bytes.ascii import write_escaped
from flare.bytes.buffer import Buffer
from flare.redis.core.parser import ReplyLimits, ReplyParser
from flare.redis.core.reply import RedisReply, Reply, ReplyKind

comptime SMALL = ReplyLimits(300, 12, 4)
"""Limits that short inputs reach."""


def kept_reply(text: StringSpan) raises -> RedisReply:
    """Parses one whole reply.

    Args:
        text: The octets as they are sent.

    Returns:
        The reply.
    """
    var buffer = Buffer(64)
    buffer.append(text.as_bytes())
    var parser = ReplyParser()
    parser.begin(1)
    if not parser.advance(buffer.terminate()):
        raise Error("the reply is not whole")
    var kept = parser.first(buffer.span()).keep()
    _ = parser^
    _ = buffer^
    return kept^


def write_reply(reply: Reply[_], mut log: String) raises:
    """Writes a reply: kind, and content in brackets or as text.

    Args:
        reply: The reply.
        log: Where to.
    """
    var kind = reply.kind()
    log += chr(Int(kind.octet))
    if kind.is_aggregate():
        log += "["
        var items = reply.__iter__()
        var is_first = True
        while items.has_next():
            if not is_first:
                log += " "
            is_first = False
            write_reply(items.next(), log)
        log += "]"
    elif kind == ReplyKind.INTEGER or kind == ReplyKind.BOOLEAN:
        log += String(reply.integer())
    elif kind == ReplyKind.ERROR:
        log += reply.error().message
    elif kind != ReplyKind.NULL:
        write_escaped(reply.octets(), log)


def replies_log(
    input: Span[UInt8, _],
    cuts: List[Int],
    count: Int = 1,
    limits: ReplyLimits = materialize[SMALL](),
    takes_pushes: Bool = False,
) raises -> String:
    """Parses octets that come in pieces.

    Args:
        input: All octets.
        cuts: Where each piece ends.
        count: How many replies are expected each time.
        limits: The parser's limits.
        takes_pushes: True if pushes are replies.

    Returns:
        The replies, `?` where they are not whole, or the kind of the error.
    """
    var parser = ReplyParser(limits)
    parser.takes_pushes = takes_pushes
    parser.begin(count)
    var buffer = Buffer(16)
    var log = String()
    var start = 0
    for end in cuts:
        buffer.append(input[start:end])
        start = end
        while len(buffer) > 0:
            try:
                if not parser.advance(buffer.terminate()):
                    break
            except error:
                return String(log, "<", error.kind, ">")
            write_reply(parser.all(buffer.span()), log)
            buffer.consume(parser.length())
            parser.begin(count)
    if len(buffer) > 0:
        log += "?"
    _ = parser^
    _ = buffer^
    return log^
