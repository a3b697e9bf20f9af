"""What is compared: a generator of cases, the parts of an answer, the judges."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import cache_cases
import http1_cases
import http2_cases
import protobuf_cases
import url_cases
import value_cases

ALL = ("Go", "Node", "Python")


@dataclass(frozen=True)
class Subject:
    name: str
    make: Callable[[Random], bytes]
    # Names of the words behind `M` in an answer.
    parts: tuple[str, ...]
    title: str
    # What answers in Python.
    package: str
    judges: tuple[str, ...] = ALL
    # True if only the first part that differs names a difference.
    by_part: bool = False


SUBJECTS = [
    Subject(
        "request",
        http1_cases.request_case,
        ("method", "target", "version", "keep", "fields", "content", "trailers"),
        "Requests of HTTP/1.1",
        "h11",
    ),
    Subject(
        "response",
        http1_cases.response_case,
        ("status", "version", "keep", "fields", "content", "trailers"),
        "Responses of HTTP/1.1",
        "h11",
    ),
    Subject(
        "response-strict",
        http1_cases.response_case,
        ("status", "version", "keep", "fields", "content", "trailers"),
        "Responses of HTTP/1.1, read with `strict=True`",
        "h11",
    ),
    Subject(
        "hpack",
        http2_cases.hpack_case,
        ("fields", "table"),
        "Field blocks of HTTP/2 (HPACK)",
        "hpack",
        ("Python",),
    ),
    Subject(
        "http2",
        http2_cases.http2_case,
        ("event", "stream", "detail"),
        "Frames of HTTP/2, as a server reads them",
        "h2",
        ("Python",),
    ),
    Subject(
        "url",
        url_cases.url_case,
        (
            *("href", "protocol", "username", "password", "host", "hostname"),
            *("port", "pathname", "search", "hash"),
        ),
        "URLs",
        "",
        ("Node",),
    ),
    Subject("json", value_cases.json_case, ("value",), "JSON texts", "json", ("Go", "Python")),
    Subject(
        "set-cookie",
        value_cases.set_cookie_case,
        (
            *("name", "value", "path", "domain", "max-age", "expires", "secure"),
            *("http-only", "same-site", "partitioned"),
        ),
        "Set-Cookie",
        "",
        ("Go",),
        True,
    ),
    Subject("cookie", value_cases.cookie_case, ("pairs",), "Cookie", "", ("Go",)),
    Subject("date", value_cases.date_case, ("seconds",), "Dates", "", ("Go",)),
    Subject(
        "multipart",
        value_cases.multipart_case,
        ("name", "filename", "content"),
        "Forms with files",
        "",
        ("Go",),
        True,
    ),
    Subject(
        "cache",
        cache_cases.cache_case,
        ("event", "lifetime", "age", "reuse"),
        "Caches, beside `http-cache-semantics`",
        "",
        ("Node",),
        True,
    ),
    Subject(
        "protobuf",
        protobuf_cases.octets_case,
        ("octets", "json", "entry", "number"),
        "Messages of Protocol Buffers",
        "protobuf",
        ("Python",),
    ),
    Subject(
        "protobuf-json",
        protobuf_cases.text_case,
        ("octets", "json", "entry", "number"),
        "Messages of Protocol Buffers in JSON",
        "protobuf",
        ("Python",),
    ),
]
