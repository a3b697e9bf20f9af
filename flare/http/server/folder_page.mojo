"""The page that lists a folder."""

from flare.http.message.percent import COMPONENT_SET, percent_encode


def folder_page(folder: StringSpan, names: List[String]) -> String:
    """Writes the page.

    Args:
        folder: The folder's path, decoded; empty for the root.
        names: What is in it; folders with a slash behind them.

    Returns:
        HTML, in which no name can be markup.
    """
    var page = String(
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>/'
    )
    _write_text(folder, page)
    page.write("</title>\n<h1>/")
    _write_text(folder, page)
    page.write("</h1>\n<ul>\n")
    if folder.byte_length() > 0:
        page.write('<li><a href="../">../</a></li>\n')
    for ref name in names:
        page.write('<li><a href="./')
        _write_link(name, page)
        page.write('">')
        _write_text(name, page)
        page.write("</a></li>\n")
    page.write("</ul>\n</html>\n")
    return page^


def _write_link(name: String, mut page: String):
    var octets = name.as_bytes()
    var is_folder = len(octets) > 0 and octets[len(octets) - 1] == 47
    var end = len(octets) - 1 if is_folder else len(octets)
    var encoded = List[UInt8]()
    percent_encode[COMPONENT_SET](octets[:end], encoded)
    # An apostrophe is the one quote that the set leaves; it ends no value here.
    page.write(StringSpan(unsafe_from_utf8=encoded))
    if is_folder:
        page.write("/")


def _write_text(text: StringSpan, mut page: String):
    page.write(
        String(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
    )
