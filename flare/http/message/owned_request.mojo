"""A request that owns its octets, for tests and for work that outlives a call."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer, unsafe_lend, unsafe_lend_text
from flare.bytes.checked import *
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.header_map import HeaderError, HeaderMap, check_field
from flare.http.message.method import Method
from flare.http.message.request import (
    PathParams,
    Request,
    RequestLine,
    TlsPeer,
    Version,
)
from flare.http.message.target import split_target, unsafe_path_without_octets
from flare.net.socket_addr import SocketAddr
from std.memory import OwnedPointer


struct _OwnedFields(Movable):
    """Field lines with octets of their own."""

    var octets: Buffer
    var lines: List[FieldLine]

    def __init__(out self):
        self.octets = Buffer(0)
        self.lines = []

    def add(mut self, name: Span[UInt8, _], value: Span[UInt8, _]):
        var start = len(self.octets)
        self.octets.append(name)
        self.octets.append(value)
        self.lines.append(
            FieldLine(start, len(name), start + len(name), len(value))
        )

    def copy_from(mut self, fields: Fields):
        for index in range(len(fields)):
            self.add(fields.name(index).as_bytes(), fields.value_bytes(index))


struct ReplacedFields(Movable):
    """The header fields of a request with some left out and others added, for
    middleware that asks its inner handler for something else."""

    var _fields: _OwnedFields

    def __init__(out self, fields: Fields, without: Span[StaticString, _]):
        """Copies fields, but for those with some names in lower case."""
        self._fields = _OwnedFields()
        for index in range(len(fields)):
            var name = fields.name(index).as_bytes()
            var is_left_out = False
            for other in without:
                if equals_ignore_case(name, other.as_bytes()):
                    is_left_out = True
            if not is_left_out:
                self._fields.add(name, fields.value_bytes(index))

    def __init__(out self, headers: HeaderMap):
        """Copies fields that a program has set."""
        self._fields = _OwnedFields()
        for index in range(len(headers)):
            self._fields.add(
                headers.name(index).as_bytes(), headers.value(index).as_bytes()
            )

    def add(mut self, name: StringSpan, value: StringSpan) raises HeaderError:
        check_field(name, value)
        self._fields.add(name.as_bytes(), value.as_bytes())

    def lend(ref self) -> Fields[ImmOrigin(origin_of(self))]:
        """Lends the fields while this value lives and does not change."""
        # SAFETY: the fields belong to this value, which is the loan's origin.
        return _unsafe_lend_fields[ImmOrigin(origin_of(self))](self._fields)


struct OwnedRequest(Movable):
    """A request that may be kept; `view` lends it as a `Request`.

    ```mojo
    var owned = OwnedRequest("GET", "/users/7?full=1")
    owned.add_header("Accept", "text/plain")
    var response = router.serve(owned.view())
    ```
    """

    var version: Version
    """The protocol version."""
    var body: List[UInt8]
    """The content."""
    var peer: SocketAddr
    """Where the request came from."""
    var tls: Optional[TlsPeer]
    """What TLS tells about the client; nothing without TLS."""
    var _method: Buffer
    var _url: Buffer
    var _authority: Buffer
    var _headers: _OwnedFields
    var _trailers: _OwnedFields
    var _params: OwnedPointer[PathParams]
    var _names: List[String]

    def __init__(out self, method: StringSpan, url: StringSpan):
        """Makes a request without fields and content.

        Args:
            method: The method's name, a token.
            url: The request target, visible ASCII.
        """
        self.version = Version.HTTP_1_1
        self.body = []
        self.peer = SocketAddr.localhost(0)
        self.tls = None
        self._method = Buffer(0)
        self._method.append(method.as_bytes())
        self._url = Buffer(0)
        self._url.append(url.as_bytes())
        # As `split_target` takes it.
        _ = self._url.terminate()
        self._authority = Buffer(0)
        self._headers = _OwnedFields()
        self._trailers = _OwnedFields()
        self._params = OwnedPointer(PathParams())
        self._names = []

    def __init__(out self, *, copy_of: Request):
        """Copies a request with all its parts.

        Args:
            copy_of: The request.
        """
        self = Self(copy_of.method_name, copy_of.url)
        # Over HTTP/2 neither the target nor a field need hold it.
        self._authority.append(copy_of.host().as_bytes())
        self.version = copy_of.version
        self.body.extend(copy_of.body)
        self.peer = copy_of.peer
        if copy_of.tls_peer():
            self.tls = copy_of.tls_peer().held()[].copy()
        self._headers.copy_from(copy_of.headers)
        self._trailers.copy_from(copy_of.trailers)
        # SAFETY: the names are complete before any is lent, so the list does
        # not move them; the values are kept by the parameters themselves.
        ref params = copy_of.route_params()[]
        self._params[].record.copy_from(params.record)
        for index in range(len(params)):
            self._names.append(String(params.at(index).name))
        for index in range(len(params)):
            _ = self._params[].add_decoded(
                unsafe_lend_text[ImmUntrackedOrigin](
                    self._names[index].unsafe_ptr(),
                    self._names[index].byte_length(),
                ),
                String(params.at(index).value),
            )

    @no_inline
    def __deinit__(deinit self):
        return

    def add_header(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Adds a header field.

        Args:
            name: A token.
            value: The value, without control octets but HTAB.

        Raises:
            HeaderError: If either breaks its rule.
        """
        check_field(name, value)
        self._headers.add(name.as_bytes(), value.as_bytes())

    def view(ref self) -> Request[ImmOrigin(origin_of(self))]:
        """Lends the request, as a view that is good while this value lives. A
        target of none of the forms of RFC 9112 has an empty path."""
        # SAFETY: all parts belong to this value, which is the loan's origin.
        comptime o = ImmOrigin(origin_of(self))
        var method_name = _unsafe_text[o](self._method, 0, len(self._method))
        var url = _unsafe_text[o](self._url, 0, len(self._url))
        var method = Method(method_name)
        var parts = split_target(
            method, self._url.unsafe_base(), 0, len(self._url)
        )
        var path: StringSpan[o]
        if parts.path_offset < 0:
            parts.query_offset = 0
            parts.query_len = 0
            path = _unsafe_text[o](self._url, 0, 0)
        elif parts.path_len == 0:
            path = unsafe_path_without_octets[o](method)
        else:
            path = _unsafe_text[o](self._url, parts.path_offset, parts.path_len)
        var authority = _unsafe_text[o](
            self._authority, 0, len(self._authority)
        )
        if parts.authority_len > 0:
            authority = _unsafe_text[o](
                self._url, parts.authority_offset, parts.authority_len
            )
        var line = RequestLine[o](
            method=method,
            method_name=method_name,
            url=url,
            path=path,
            query=_unsafe_text[o](
                self._url, parts.query_offset, parts.query_len
            ),
            authority=authority,
            version=self.version,
        )
        return Request[o](
            line,
            _unsafe_lend_fields[o](self._headers),
            unsafe_lend[o](self.body.unsafe_ptr(), len(self.body)),
            _unsafe_lend_fields[o](self._trailers),
            peer=self.peer.without_mapping(),
            params=Pointer(to=self._params[])
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            tls=_lend_peer(self.tls),
        )


def _unsafe_text[
    o: ImmOrigin
](buffer: Buffer, offset: Int, length: Int) -> StringSpan[o]:
    # SAFETY: the buffer belongs to the `OwnedRequest` that `o` names.
    return unsafe_lend_text[o](
        buffer.unsafe_base().unsafe_offset(offset), length
    )


def _lend_peer(
    peer: Optional[TlsPeer],
) -> OptionalPointer[TlsPeer, ImmUntrackedOrigin]:
    # SAFETY: the facts belong to the `OwnedRequest` that lends them.
    if not peer:
        return None
    return (
        Pointer(to=peer.held())
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUntrackedOrigin]()
    )


def _unsafe_lend_fields[o: ImmOrigin](fields: _OwnedFields) -> Fields[o]:
    # SAFETY: the fields belong to the `OwnedRequest` that `o` names.
    return Fields(
        unsafe_lend[o](fields.octets.unsafe_base(), len(fields.octets)),
        unsafe_lend[o](fields.lines.unsafe_ptr(), len(fields.lines)),
        False,
    )
