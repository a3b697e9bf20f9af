"""The error for a frame that must not be sent."""


@fieldwise_init
struct WsMisuse(Equatable, ImplicitlyCopyable, Writable):
    """Our caller asked for what the rules of WebSocket forbid."""

    var reason: StaticString
    """What was asked for, and what is allowed."""

    comptime CLOSED = WsMisuse(
        "nothing can be sent behind a close frame (RFC 6455 section 5.5.1);"
        " open another connection"
    )
    """A frame behind the close frame."""
    comptime CONTROL_LEN = WsMisuse(
        "a ping or pong holds at most 125 bytes (RFC 6455 section 5.5)"
    )
    """A long control frame."""
    comptime CLOSE_CODE = WsMisuse(
        "this close code must not be sent; use 1000 to 1003, 1007 to 1014, or"
        " 3000 to 4999 for codes of your own (RFC 6455 section 7.4)"
    )
    """A close code that is reserved or none."""
    comptime CLOSE_REASON = WsMisuse(
        "the reason in a close frame holds at most 123 bytes (RFC 6455 section"
        " 5.5)"
    )
    """A long reason."""
    comptime IN_MESSAGE = WsMisuse(
        "a message is being sent in fragments; end it first (RFC 6455 section"
        " 5.4)"
    )
    """A message within another."""
    comptime NOT_IN_MESSAGE = WsMisuse(
        "there is no message to continue; begin one with text or binary"
    )
    """A continuation of nothing."""
    comptime NO_MEMORY = WsMisuse(
        "there is no memory to compress with; switch compression off"
    )
    """The library that compresses failed."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: Where to.
        """
        writer.write(self.reason)
