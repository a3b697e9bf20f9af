"""From a request that was received to the one that is sent on, and back for its response (RFC 9110 section 7.6)."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.digits import read_digits
from flare.http.message.fields import Fields, ListElements
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request, Version
from flare.http.proxy.rules.client_facts import ClientFacts, is_other_fact
from flare.http.proxy.rules.hop_by_hop import (
    ConnectionOptions,
    ForwardedKind,
    is_one_variable,
    names_token,
    request_field_kind,
    response_field_kind,
)
from flare.http.proxy.rules.response_rewriting import (
    ResponseRewriting,
    UpstreamNames,
)
from flare.http.proxy.rules.target_path import PathPrefixes, has_dot_segment
from flare.net.ip import IpNetwork, any_contains

comptime OWN_NAMES_MAX = 8
"""How often our own name may stand in Via before a request is taken for one
that goes round in a loop (RFC 9110 section 7.6.3)."""

comptime DEFAULT_VIA = StaticString("flare")
"""The pseudonym that Via shows unless there is another."""

comptime FINAL_RECIPIENT = 0
"""In the place of a status: the gateway itself is to answer, with 200, since
Max-Forwards ends here (RFC 9110 section 7.6.2)."""

comptime _FORWARDS_DIGITS_MAX = 9
comptime _QUESTION_MARK: UInt8 = 63
comptime _BAD_REQUEST = 400
comptime _NOT_FOUND = 404
comptime _NOT_IMPLEMENTED = 501
comptime _LOOP_DETECTED = 508
comptime _FIELDS_TOO_LARGE = 431


@fieldwise_init
struct HostRule(Equatable, TrivialRegisterPassable):
    """Which Host an upstream is asked for."""

    var code: UInt8
    """A small number, distinct for each rule."""

    comptime PASS_ON = HostRule(0)
    """The one that the client asked for."""
    comptime UPSTREAM = HostRule(1)
    """The upstream's own."""
    comptime FIXED = HostRule(2)
    """`ForwardingRules.fixed_host`."""


@fieldwise_init
struct ClientFields(Equatable, TrivialRegisterPassable):
    """By which fields an upstream is told of the client."""

    var code: UInt8
    """A bit for each family."""

    comptime NONE = ClientFields(0)
    """By none."""
    comptime X_FORWARDED = ClientFields(1)
    """X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host."""
    comptime FORWARDED = ClientFields(2)
    """Forwarded (RFC 7239)."""
    comptime BOTH = ClientFields(3)
    """By both families."""

    def has(self, family: Self) -> Bool:
        """Tells whether a family is among them.

        Args:
            family: X_FORWARDED or FORWARDED.
        """
        return (self.code & family.code) != 0


@fieldwise_init
struct ForwardingError(Copyable, Movable, Writable):
    """Why a request is not sent on; the client's fault."""

    var status: Int
    """What to answer with."""
    var reason: StaticString
    """What was wrong, without anything that the client has sent."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason."""
        writer.write_string("not forwarded: ")
        writer.write_string(self.reason)


struct ForwardedRequest(Movable):
    """What is sent to an upstream, but for the framing of its content.

    Made once and filled again for each request, it allocates nothing in the
    long run.
    """

    var headers: HeaderMap
    """The fields, without Host, Connection, Upgrade, TE, Expect and framing,
    which are the connection's to write."""
    var upgrade: String
    """The protocol that is asked for, to be sent as Upgrade with `Connection:
    upgrade`; empty if there is none, or it is not passed on."""
    var accepts_trailers: Bool
    """True if the client has said `TE: trailers`."""
    var expects_continue: Bool
    """True if the client waits for 100 (Continue)."""
    var _target: Buffer
    var _host: Buffer
    var _scratch: Buffer

    def __init__(out self):
        """Makes an empty one."""
        self.headers = HeaderMap()
        self.upgrade = String()
        self.accepts_trailers = False
        self.expects_continue = False
        self._target = Buffer(0)
        self._host = Buffer(0)
        self._scratch = Buffer(0)

    @no_inline
    def __deinit__(deinit self):
        return

    def target(self) -> StringSpan[ImmOrigin(origin_of(self._target))]:
        """Lends the request target: path and query, or `*`."""
        return StringSpan(unsafe_from_utf8=self._target.span())

    def host(self) -> StringSpan[ImmOrigin(origin_of(self._host))]:
        """Lends host and optional port: the value of Host, or of `:authority`."""
        return StringSpan(unsafe_from_utf8=self._host.span())

    def _clear(mut self):
        self.headers.clear()
        self.upgrade = String()
        self.accepts_trailers = False
        self.expects_continue = False
        self._target.clear()
        self._host.clear()


def _unsettable(name: Span[UInt8, _]) -> StaticString:
    """Says why a field cannot be set on the way to an upstream, and what to do;
    empty if it can."""
    if equals_ignore_case(name, "host".as_bytes()):
        return "; set rules.host, and rules.fixed_host, instead"
    for own in [
        StaticString("content-length"),
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "upgrade",
        "http2-settings",
        "expect",
    ]:
        if equals_ignore_case(name, own.as_bytes()):
            return (
                ", which the gateway writes as each connection needs it; leave"
                " it out"
            )
    return ""


struct ForwardingRules(Copyable, Movable):
    """How requests are changed on their way to an upstream, and responses on
    their way back.

    What is for one connection alone goes in any case: Connection and the
    fields that it names, Keep-Alive, TE, Transfer-Encoding, Upgrade, Proxy-*.
    The request line, Host and the framing are written anew. What clients say of
    where they come from (`Forwarded`, `X-Forwarded-*`, `X-Real-IP`) is passed on
    only if a trusted proxy sends it. Behind a `TrustedProxies` handler the
    fields are made anew from what that found.
    """

    var host: HostRule
    """Which Host the upstream is asked for. Default `HostRule.PASS_ON`."""
    var fixed_host: String
    """The Host of `HostRule.FIXED`."""
    var client_fields: ClientFields
    """By which fields the upstream is told of the client. Default
    `ClientFields.X_FORWARDED`."""
    var trusted_proxies: List[IpNetwork]
    """From where `Forwarded` and `X-Forwarded-*` are believed, and added to;
    not needed behind a `TrustedProxies` handler. Default none."""
    var via: String
    """The pseudonym in Via (RFC 9110 section 7.6.3); a token. Default `flare`.
    """
    var request_fields: HeaderMap
    """Fields that are set on the way to the upstream, in place of the
    client's, also of those with `_` for `-`, which CGI takes for the same, and of
    what `client_fields` would say. Host, which `host` decides, the framing (Content-Length,
    Transfer-Encoding) and what is about one connection (Connection, Keep-Alive,
    TE, Upgrade, Expect ...) are refused when the proxy is made."""
    var removed_request_fields: List[String]
    """Names of fields that are not passed to the upstream, nor told to it by
    `client_fields`; with `_` for `-`, too."""
    var upgrade_protocols: List[String]
    """Which protocols an Upgrade may ask the upstream for, by the names of their
    tokens; any other is left out, as if the client had not asked. `websocket`
    by default. `h2c` would let clients send the upstream requests that nothing
    here has judged."""
    var response: ResponseRewriting
    """What is changed in responses."""
    var paths: PathPrefixes
    """What paths begin with here and there. With `PathPrefixes(strip="/api",
    add="/v2")` is `/api/items?page=1` to the upstream `/v2/items?page=1`;
    nothing else of a target is changed, decoded or encoded anew, and a path
    that begins otherwise is not found."""

    def __init__(out self):
        """Makes the rules of a plain reverse proxy: Host, path and fields pass
        as they are, with X-Forwarded-* and Via."""
        self.host = HostRule.PASS_ON
        self.fixed_host = String()
        self.client_fields = ClientFields.X_FORWARDED
        self.trusted_proxies = []
        self.via = String(DEFAULT_VIA)
        self.request_fields = HeaderMap()
        self.removed_request_fields = []
        self.upgrade_protocols = ["websocket"]
        self.response = ResponseRewriting()
        self.paths = PathPrefixes()

    @no_inline
    def __deinit__(deinit self):
        return

    def check(self) raises:
        """Looks for rules that cannot work.

        Raises:
            Error: If `request_fields` has Host, or a field that is written for
                each connection; it names the field, and what to do.
        """
        for index in range(len(self.request_fields)):
            var name = self.request_fields.name(index)
            var reason = _unsettable(name.as_bytes())
            if reason.byte_length() > 0:
                raise Error(
                    "reverse proxy: rules.request_fields has '",
                    name,
                    "'",
                    reason,
                )

    def leaves(self, name: StringSpan) -> Bool:
        """Tells whether a field of the request is left to whom it comes from:
        it is neither set nor removed here.

        Args:
            name: The field's name, in small letters.
        """
        return not self._gives_way(name.as_bytes())

    def _gives_way(self, name: Span[UInt8, _]) -> Bool:
        """Tells whether a field is set or removed here, or a server could take it
        for one that is."""
        for index in range(len(self.request_fields)):
            if is_one_variable(
                name, self.request_fields.name(index).as_bytes()
            ):
                return True
        for index in range(len(self.removed_request_fields)):
            ref removed = self.removed_request_fields.at(index)
            if is_one_variable(name, removed.as_bytes()):
                return True
        return False

    def forward_request(
        self, req: Request, authority: StringSpan, mut out: ForwardedRequest
    ) raises ForwardingError:
        """Makes the request that is sent on.

        Args:
            req: The request as it was received.
            authority: Host and port of the upstream, for `HostRule.UPSTREAM`.
            out: What to fill; what it held is dropped.

        Raises:
            ForwardingError: If the request must not be sent on.
        """
        out._clear()
        if req.method == Method.CONNECT:
            raise ForwardingError(
                _NOT_IMPLEMENTED, "a gateway makes no tunnels (CONNECT)"
            )
        self._write_target(req, out)
        var host = req.host()
        self._write_host(host, authority, out)
        var forwards_left = _forwards_left(req)
        try:
            self._write_fields(req, host, forwards_left, out)
        except:
            raise ForwardingError(
                _FIELDS_TOO_LARGE, "with the gateway's fields it is too large"
            )
        if self._is_in_a_loop(req.headers):
            raise ForwardingError(
                _LOOP_DETECTED, "it goes in circles: Via names this gateway"
            )

    def _take_upgrade(self, fields: Fields, index: Int, mut upgrade: String):
        """Takes the one protocol of an Upgrade field, if it may pass; a second
        line, or a second protocol, makes it none."""
        var value = fields.value_bytes(index)
        var is_alone = fields.find("upgrade", index + 1) < 0
        is_alone = is_alone and fields.find("upgrade") == index
        if is_alone and _is_among(self.upgrade_protocols, value):
            upgrade = String(StringSpan(unsafe_from_utf8=value))

    def forward_response(
        self, received: Fields, upstream: UpstreamNames, mut out: HeaderMap
    ) raises HeaderError:
        """Makes the fields of the response to the client.

        Args:
            received: The upstream's fields.
            upstream: By which names the upstream goes.
            out: Where to; the fields are added.

        Raises:
            HeaderError: If they are longer than a header block may be.
        """
        self.forward_interim(received, upstream, out)
        self.response.finish(out)

    @always_inline
    def forward_interim(
        self, received: Fields, upstream: UpstreamNames, mut out: HeaderMap
    ) raises HeaderError:
        """Makes the fields of an interim response (RFC 9110 section 15.2): none
        that the rules set, for these are said once, with the final response;
        the rest is as for `forward_response`."""
        var options = ConnectionOptions(received)
        for index in range(len(received)):
            var name = received.name(index)
            var kind = response_field_kind(name.as_bytes())
            if kind != ForwardedKind.END_TO_END:
                continue
            if options.name(name.as_bytes()):
                continue
            var value = StringSpan(unsafe_from_utf8=received.value_bytes(index))
            self.response.append(name, value, self.paths, upstream, out)

    def _write_target(
        self, req: Request, mut out: ForwardedRequest
    ) raises ForwardingError:
        var path = req.path.as_bytes()
        if req.path == "*":
            out._target.append(path)
            return
        if has_dot_segment(path):
            raise ForwardingError(
                _BAD_REQUEST, "the path has a segment that is . or .."
            )
        if not self.paths.append_inward(path, out._target):
            raise ForwardingError(
                _NOT_FOUND, "the path does not begin as the gateway's do"
            )
        var url = req.url.as_bytes()
        var has_query = len(url) > 0 and url.at(len(url) - 1) == _QUESTION_MARK
        if has_query or req.query.byte_length() > 0:
            out._target.append_octet(_QUESTION_MARK)
            out._target.append(req.query.as_bytes())

    def _write_host(
        self, host: StringSpan, authority: StringSpan, mut out: ForwardedRequest
    ):
        if self.host == HostRule.FIXED:
            out._host.append(self.fixed_host.as_bytes())
        elif self.host == HostRule.PASS_ON and host.byte_length() > 0:
            out._host.append(host.as_bytes())
        else:
            out._host.append(authority.as_bytes())

    def _write_fields[
        o: ImmOrigin
    ](
        self,
        req: Request[o],
        host: StringSpan[o],
        forwards_left: Int,
        mut out: ForwardedRequest,
    ) raises HeaderError:
        var options = ConnectionOptions(req.headers)
        var is_trusted = len(self.trusted_proxies) > 0 and any_contains(
            self.trusted_proxies, req.peer.ip
        )
        for index in range(len(req.headers)):
            var name = req.headers.name(index)
            var octets = name.as_bytes()
            var kind = request_field_kind(octets)
            if kind == ForwardedKind.END_TO_END:
                if not (options.name(octets) or self._gives_way(octets)):
                    # SAFETY: the request's own parser or decoder has judged
                    # it.
                    out.headers.unsafe_append_judged(
                        name, _value(req.headers, index)
                    )
            elif kind == ForwardedKind.EXPECT:
                # Of HTTP/1.0 it counts no more than an Upgrade does (RFC 9110
                # section 10.1.1).
                out.expects_continue = not (
                    req.version < Version.HTTP_1_1
                ) and names_token(req.headers, "expect", "100-continue")
            elif kind == ForwardedKind.TE:
                out.accepts_trailers = names_token(
                    req.headers, "te", "trailers"
                )
            elif kind == ForwardedKind.UPGRADE:
                # More than one protocol, none that the connection is asked for,
                # or one of HTTP/1.0, whose client knows no 101: then the request
                # is answered as it stands (RFC 9110 section 7.8).
                if options.has_upgrade and not (req.version < Version.HTTP_1_1):
                    self._take_upgrade(req.headers, index, out.upgrade)
            elif kind == ForwardedKind.CLIENT and is_trusted:
                if (
                    self.client_fields.has(ClientFields.X_FORWARDED)
                    and not options.name(octets)
                    and is_other_fact(octets)
                    and not self._gives_way(octets)
                ):
                    out.headers.append(name, _value(req.headers, index))
        if forwards_left >= 0:
            out._scratch.clear()
            out._scratch.append_decimal(forwards_left)
            out.headers.append("Max-Forwards", _text(out._scratch))
        self._write_via(req.version, out)
        self._write_client(req, host, is_trusted, out)
        for index in range(len(self.removed_request_fields)):
            _drop_fact(self.removed_request_fields.at(index), out.headers)
        for index in range(len(self.request_fields)):
            _drop_fact(self.request_fields.name(index), out.headers)
        for index in range(len(self.request_fields)):
            out.headers.append(
                self.request_fields.name(index),
                self.request_fields.value(index),
            )

    def _write_via(
        self, version: Version, mut out: ForwardedRequest
    ) raises HeaderError:
        ref scratch = out._scratch
        scratch.clear()
        scratch.append_decimal(Int(version.major))
        if version.major < 2:
            scratch.append_octet(46)
            scratch.append_decimal(Int(version.minor))
        scratch.append_octet(32)
        scratch.append(self.via.as_bytes())
        if self.via == DEFAULT_VIA:
            # SAFETY: a number and a token, all ours.
            out.headers.unsafe_append_judged("Via", _text(scratch))
        else:
            out.headers.append("Via", _text(scratch))

    def _write_client[
        o: ImmOrigin
    ](
        self,
        req: Request[o],
        host: StringSpan[o],
        is_trusted: Bool,
        mut out: ForwardedRequest,
    ) raises HeaderError:
        if self.client_fields == ClientFields.NONE:
            return
        var facts = ClientFacts(req, host)
        if self.client_fields.has(ClientFields.X_FORWARDED):
            facts.append_x_forwarded(req, is_trusted, out._scratch, out.headers)
        if self.client_fields.has(ClientFields.FORWARDED):
            facts.append_forwarded(req, is_trusted, out._scratch, out.headers)

    def _is_in_a_loop(self, fields: Fields) -> Bool:
        """Counts our own name in Via; others may go by the same one, so a few
        are let pass."""
        var count = 0
        var index = fields.find("via")
        while index >= 0:
            for element in ListElements(fields.value_bytes(index)):
                var start = 0
                while start < len(element) and element.at(start) != 32:
                    start += 1
                var name = trim_whitespace(element.after(start))
                if equals_ignore_case(name, self.via.as_bytes()):
                    count += 1
            index = fields.find("via", index + 1)
        return count >= OWN_NAMES_MAX


def traced_content() -> ForwardingError:
    """Makes the error for a TRACE with content: a client must not send any (RFC
    9110 section 9.3.8), and to the upstream the gateway is one."""
    return ForwardingError(
        _BAD_REQUEST, "a TRACE has no content (RFC 9110 section 9.3.8)"
    )


def _forwards_left(req: Request) raises ForwardingError -> Int:
    """Counts Max-Forwards down (RFC 9110 section 7.6.2); -1 if it does not
    matter."""
    if req.method != Method.OPTIONS and req.method != Method.TRACE:
        return -1
    if req.method == Method.TRACE and (
        len(req.body) > 0 or len(req.trailers) > 0
    ):
        raise traced_content()
    var index = req.headers.find("max-forwards")
    if index < 0:
        return -1
    var value = req.headers.value_bytes(index)
    var count = read_digits(value, _FORWARDS_DIGITS_MAX)
    if count < 0 and len(value) > 0:
        raise ForwardingError(
            _BAD_REQUEST, "Max-Forwards is not a number of at most 9 digits"
        )
    if len(value) == 0 or req.headers.find("max-forwards", index + 1) >= 0:
        raise ForwardingError(
            _BAD_REQUEST, "Max-Forwards is empty, or there twice"
        )
    if count == 0:
        raise ForwardingError(
            FINAL_RECIPIENT,
            "Max-Forwards is 0: it was to come here and no further",
        )
    return count - 1


def _drop_fact(name: StringSpan, mut headers: HeaderMap):
    """Drops what the gateway itself tells of the client by a field."""
    if request_field_kind(name.as_bytes()) == ForwardedKind.CLIENT:
        _ = headers.remove(name)


def _value[o: ImmOrigin](fields: Fields[o], index: Int) -> StringSpan[o]:
    # The octets of a value need not be UTF-8; nothing below looks at more than
    # single octets.
    return StringSpan(unsafe_from_utf8=fields.value_bytes(index))


def _text(buffer: Buffer) -> StringSpan[ImmOrigin(origin_of(buffer))]:
    return StringSpan(unsafe_from_utf8=buffer.span())


def _is_among(names: List[String], name: Span[UInt8, _]) -> Bool:
    for index in range(len(names)):
        if equals_ignore_case(names.at(index).as_bytes(), name):
            return True
    return False
