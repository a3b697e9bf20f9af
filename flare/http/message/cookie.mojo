"""Cookies as a client sends them."""

from flare.bytes.ascii import trim_whitespace


@fieldwise_init
struct Cookie(Copyable, Equatable, Movable, Writable):
    """A cookie's name and value (RFC 6265 section 4.1.1)."""

    var name: String
    """The name, case-sensitive."""
    var value: String
    """The value as it was sent; quotes around it are part of it."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes `name=value`.

        Args:
            writer: Where to.
        """
        writer.write(self.name, "=", self.value)


def parse_cookie_header(text: StringSpan) -> List[Cookie]:
    """Reads the value of a Cookie field.

    Source: RFC 6265 section 5.4, read as kindly as browsers write it: pairs
    between semicolons, whitespace around names and values dropped, a pair
    without `=` or without a name left out.

    Args:
        text: The field's value.

    Returns:
        The cookies in the order of the field.
    """
    var cookies = List[Cookie]()
    var octets = text.as_bytes().as_imm()
    var start = 0
    while start < len(octets):
        var end = start
        var equals_sign = -1
        while end < len(octets) and octets[end] != 59:
            if octets[end] == 61 and equals_sign < 0:
                equals_sign = end
            end += 1
        if equals_sign >= 0:
            var name = trim_whitespace(octets[start:equals_sign])
            var value = trim_whitespace(octets[equals_sign + 1 : end])
            if len(name) > 0:
                cookies.append(
                    Cookie(
                        String(StringSpan(unsafe_from_utf8=name)),
                        String(StringSpan(unsafe_from_utf8=value)),
                    )
                )
        start = end + 1
    return cookies^
