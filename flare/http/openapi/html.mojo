"""Text within HTML."""


def write_escaped_html(text: StringSpan, mut page: String):
    """Writes text so that HTML takes it for text, also within quotes."""
    var start = 0
    var octets = text.as_bytes()
    for index in range(len(octets)):
        var octet = octets[index]
        var name = StaticString("")
        if octet == 38:
            name = "&amp;"
        elif octet == 60:
            name = "&lt;"
        elif octet == 62:
            name = "&gt;"
        elif octet == 34:
            name = "&quot;"
        elif octet == 39:
            name = "&#39;"
        if name.byte_length() > 0:
            page.write(StringSpan(unsafe_from_utf8=octets[start:index]), name)
            start = index + 1
    page.write(StringSpan(unsafe_from_utf8=octets[start:]))
