"""Forms with files, as the parser reads them."""

from flare.http.multipart.parser import (
    MultipartError,
    MultipartEvent,
    MultipartParser,
)
from tests.differential.quoted import quoted


def answer_multipart(input: Span[UInt8, _]) -> String:
    """Reads a body whose boundary is `b`.

    Returns:
        `M name filename content` for each part; a filename that is not there is
        `-`. Then `E end`, `E partial`, or `E refuse:`.
    """
    var answer = String()
    try:
        _read(input, answer)
    except:
        answer.write("E refuse:")
        return answer^
    return answer^


def _read(input: Span[UInt8, _], mut answer: String) raises MultipartError:
    var parser = MultipartParser("b")
    var content = List[UInt8]()
    parser.receive(input)
    while True:
        var event = parser.next_event()
        if event == MultipartEvent.PART:
            content.clear()
        elif event == MultipartEvent.DATA:
            content.extend(parser.data())
        elif event == MultipartEvent.PART_END:
            ref part = parser.part
            answer.write("M ", quoted(part.name.as_bytes()), " ")
            if part.filename:
                answer.write(quoted(part.filename.value().as_bytes()), " ")
            else:
                answer.write("- ")
            answer.write(quoted(content), " ")
        elif event == MultipartEvent.END:
            answer.write("E end")
            return
        else:
            answer.write("E partial")
            return
