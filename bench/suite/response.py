"""Takes an answer apart and compares it with what the workload file says."""

from dataclasses import dataclass

from suite.workload import Workload

VARYING = ("connection", "date", "keep-alive", "server")
STATUS_LINE = "HTTP/1.1 200 OK"


@dataclass(frozen=True)
class Answer:
    """An answer as it came."""

    status_line: str
    fields: list[tuple[str, str]]
    body: bytes

    @property
    def status(self) -> int:
        """The status, or 0 if the line has none."""
        words = self.status_line.split(" ")
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def parse_head(head: bytes) -> tuple[str, list[tuple[str, str]]]:
    """Reads a head without the empty line: the status line, and the fields.

    Raises ValueError for a field line without a colon.
    """
    status_line, *lines = head.decode("latin-1").split("\r\n")
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"the field line {line[:40]!r} has no colon")
        fields.append((name.lower(), value.strip(" \t")))
    return status_line, fields


def parse_answer(octets: bytes, has_body: bool = True) -> tuple[Answer, bytes] | None:
    """Reads one answer; gives it with the octets behind it.

    None means that more octets are needed. An answer to HEAD has no body. Only Content-Length frames a body:
    another framing gives no body, and its field differs from the file's.
    Raises ValueError for what is no answer.
    """
    head, end, rest = octets.partition(b"\r\n\r\n")
    if not end:
        return None
    status_line, fields = parse_head(head)
    if not status_line.startswith("HTTP/1."):
        raise ValueError(f"the answer starts with {status_line[:40]!r}")
    length = dict(fields).get("content-length", "0") if has_body else "0"
    if not length.isdigit():
        raise ValueError(f"Content-Length is {length[:40]!r}")
    if len(rest) < int(length):
        return None
    return Answer(status_line, fields, rest[: int(length)]), rest[int(length) :]


def difference(workload: Workload, answer: Answer) -> str | None:
    """Says how an answer differs from the workload file, or gives None."""
    # The reason is for people, and one server writes it in other letters.
    if answer.status_line.lower() != STATUS_LINE.lower():
        return f"its status line is {answer.status_line[:60]!r}, not {STATUS_LINE!r}"
    got = sorted(pair for pair in answer.fields if pair[0] not in VARYING)
    wanted = sorted((name.lower(), value) for name, value in workload.fields.items())
    for name, value in got:
        if (name, value) not in wanted:
            return f"its field {name}: {value[:60]} is not in the workload file"
    for name, value in wanted:
        if (name, value) not in got:
            return f"it has no field {name}: {value}"
    if len(got) != len(wanted):
        return "one of its fields is repeated"
    if answer.body != workload.body:
        return f"its body of {len(answer.body)} octets is not the workload file's"
    return None
