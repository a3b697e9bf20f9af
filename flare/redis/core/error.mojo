"""What may go wrong between a program and a Redis server."""

from flare.bytes.ascii import find_octet, write_escaped
from flare.bytes.checked import *
from flare.bytes.text import Text


comptime OWN_ERROR_MARK = UInt8(0x0A)
"""Begins an error that the client wrote into the replies of a pipeline.

The errors of a server are lines, so none begins with LF.
"""

comptime _USE_CLUSTER = StaticString(
    "this server is a node of a cluster: use RedisCluster"
)


struct RedisErrorKind(Equatable, ImplicitlyCopyable, Writable):
    """What went wrong, for programs: `if error.kind == RedisErrorKind.TIMEOUT`."""

    var name: StaticString
    """The kind's name."""
    var code: StaticString
    """With what the server's error begins; empty for what no server said."""
    var advice: StaticString
    """What to do about it; empty if that hangs on the case."""

    comptime CONNECT_FAILED = Self("ConnectFailed", "", "is this its address?")
    """There is no connection; nothing was sent."""
    comptime CONNECTION_LOST = Self(
        "ConnectionLost", "", "nothing was carried out; try again"
    )
    """The connection ended before the command had left."""
    comptime ANSWER_LOST = Self(
        "AnswerLost",
        "",
        (
            "the command may have been carried out, so it was not repeated;"
            " look, or repeat it if twice does no harm"
        ),
    )
    """The connection ended after the command had left, before its answer."""
    comptime TIMEOUT = Self(
        "Timeout",
        "",
        "a command that was sent may be carried out yet; allow more time?",
    )
    """The time for a command, or for a free connection, is over."""
    comptime PROTOCOL = Self(
        "ProtocolError", "", "does a Redis server listen there?"
    )
    """What came is neither RESP2 nor RESP3."""
    comptime REPLY_TOO_LARGE = Self(
        "ReplyTooLarge", "", "ask for less at once, or raise the limit"
    )
    """A reply is larger than the limits allow."""
    comptime UNEXPECTED_REPLY = Self(
        "UnexpectedReply", "", "ask the reply what it is first"
    )
    """A reply is of another type than was asked for."""
    comptime NOT_TEXT = Self("NotText", "", "read it as octets")
    """A value is no UTF-8."""
    comptime BAD_ARGUMENT = Self("BadArgument", "")
    """What the caller gave cannot be sent."""
    comptime POOL_EXHAUSTED = Self(
        "PoolExhausted",
        "",
        "allow more connections, or give them back sooner",
    )
    """All connections of a pool are lent, and too many callers wait."""
    comptime NO_MASTER = Self(
        "NoMaster", "", "do the sentinels know the name of the master?"
    )
    """No sentinel names a master."""
    comptime CLOSED = Self("Closed", "", "it was closed by its owner")
    """The client was closed."""

    comptime AUTH_REQUIRED = Self("AuthRequired", "NOAUTH", "set a password")
    """The server wants a password, and none was given."""
    comptime AUTH_FAILED = Self(
        "AuthFailed", "WRONGPASS", "check user name and password"
    )
    """User name or password are wrong."""
    comptime NO_PERMISSION = Self("NoPermission", "NOPERM")
    """The user may not do that (ACL)."""
    comptime WRONG_TYPE = Self("WrongType", "WRONGTYPE")
    """The key holds a value of another type."""
    comptime OUT_OF_MEMORY = Self("OutOfMemory", "OOM")
    """The server has no more memory, and may drop no keys."""
    comptime READ_ONLY = Self("ReadOnly", "READONLY")
    """The server is a replica: what was the master is no longer."""
    comptime LOADING = Self("Loading", "LOADING")
    """The server reads its data from disk."""
    comptime BUSY = Self("Busy", "BUSY")
    """A script runs for too long."""
    comptime NO_SCRIPT = Self("NoScript", "NOSCRIPT")
    """The server does not know the script."""
    comptime MOVED = Self("Moved", "MOVED", _USE_CLUSTER)
    """The slot belongs to another node of the cluster."""
    comptime ASK = Self("Ask", "ASK", _USE_CLUSTER)
    """The key is on its way to another node of the cluster."""
    comptime TRY_AGAIN = Self("TryAgain", "TRYAGAIN")
    """The keys of one command are on their way to another node."""
    comptime CLUSTER_DOWN = Self("ClusterDown", "CLUSTERDOWN")
    """The cluster does not cover all slots."""
    comptime CROSS_SLOT = Self(
        "CrossSlot", "CROSSSLOT", "give the keys one hash tag, such as {user1}"
    )
    """The keys of one command are on several nodes."""
    comptime MASTER_DOWN = Self("MasterDown", "MASTERDOWN")
    """The replica has lost its master."""
    comptime EXEC_ABORTED = Self("ExecAborted", "EXECABORT")
    """A command of the transaction was refused, so none was carried out."""
    comptime BUSY_GROUP = Self("BusyGroup", "BUSYGROUP")
    """The consumer group is there already."""
    comptime NO_GROUP = Self("NoGroup", "NOGROUP")
    """There is no such consumer group, or no such stream."""
    comptime NO_PROTOCOL = Self("NoProtocol", "NOPROTO")
    """The server does not speak RESP3."""
    comptime REFUSED = Self("Refused", "ERR")
    """The server refused the command; its text says why."""

    def __init__(
        out self,
        name: StaticString,
        code: StaticString,
        advice: StaticString = "",
    ):
        """Makes a kind; programs use the constants.

        Args:
            code: With what the server's error begins.
            advice: What to do about it.
        """
        self.name = name
        self.code = code
        self.advice = advice

    @staticmethod
    def of_code(code: StringSpan) -> Self:
        """Finds the kind of a server's error; `REFUSED` for a code that has
        none of its own.

        Args:
            code: Its first word.
        """
        comptime known = [
            Self.AUTH_REQUIRED,
            Self.AUTH_FAILED,
            Self.NO_PERMISSION,
            Self.WRONG_TYPE,
            Self.OUT_OF_MEMORY,
            Self.READ_ONLY,
            Self.LOADING,
            Self.BUSY,
            Self.NO_SCRIPT,
            Self.MOVED,
            Self.ASK,
            Self.TRY_AGAIN,
            Self.CLUSTER_DOWN,
            Self.CROSS_SLOT,
            Self.MASTER_DOWN,
            Self.EXEC_ABORTED,
            Self.BUSY_GROUP,
            Self.NO_GROUP,
            Self.NO_PROTOCOL,
        ]
        var kinds = materialize[known]()
        for index in range(len(kinds)):
            if kinds.at(index).code == code:
                return kinds.at(index)
        return materialize[Self.REFUSED]()

    @staticmethod
    def of_name(name: StringSpan) -> Self:
        """Finds a kind that no server says, by its name.

        Args:
            name: The name.

        Returns:
            The kind; `CONNECTION_LOST` if there is none of that name.
        """
        comptime known = [
            Self.CONNECT_FAILED,
            Self.ANSWER_LOST,
            Self.TIMEOUT,
            Self.PROTOCOL,
            Self.REPLY_TOO_LARGE,
            Self.NO_MASTER,
        ]
        var kinds = materialize[known]()
        for index in range(len(kinds)):
            if kinds.at(index).name == name:
                return kinds.at(index)
        return materialize[Self.CONNECTION_LOST]()

    def __eq__(self, other: Self) -> Bool:
        """Compares two kinds.

        Args:
            other: A kind.

        Returns:
            True if they are the same.
        """
        return self.name == other.name

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write_string(self.name)


struct RedisError(Copyable, Movable, Writable):
    """A command could not be carried out, or its answer not be had.

    What the server said is in `message`, with its code in front. Whether the
    command may have been carried out is said by `may_have_run`.
    """

    var kind: RedisErrorKind
    """What went wrong."""
    var message: String
    """The cause in words; the server's own if the server refused."""
    var server: String
    """Which server; empty if none was reached for."""
    var was_sent: Bool
    """True if all of the command had left, or may have."""

    def __init__(out self, kind: RedisErrorKind, var message: String):
        """Makes an error."""
        self.kind = kind
        self.message = message^
        self.server = String()
        self.was_sent = False

    @staticmethod
    def of_reply(text: Span[UInt8, _]) -> Self:
        """Takes a server's error.

        Args:
            text: The error's line, code in front.

        Returns:
            The error; octets that are not printable are escaped.
        """
        if len(text) > 0 and text.at(0) == OWN_ERROR_MARK:
            return Self._of_own(text)
        var message = String()
        write_escaped(text, message)
        var end = find_octet(text, 0x20)
        # A code is upper-case ASCII, so a wrong octet only finds no kind.
        var kind = RedisErrorKind.of_code(
            StringSpan(unsafe_from_utf8=text.before(end))
        )
        return Self(kind, message^)

    @staticmethod
    @no_inline
    def _of_own(text: Span[UInt8, _]) -> Self:
        """Takes an error that the client wrote: mark, name, space, message."""
        var end = find_octet(text, 0x20, 1)
        var message = String()
        write_escaped(text.after(min(end + 1, len(text))), message)
        var kind = RedisErrorKind.of_name(
            StringSpan(unsafe_from_utf8=text.between(1, end))
        )
        var error = Self(kind, message^)
        error.was_sent = (
            kind != RedisErrorKind.CONNECT_FAILED
            and kind != RedisErrorKind.CONNECTION_LOST
            and kind != RedisErrorKind.NO_MASTER
        )
        return error^

    def may_have_run(self) -> Bool:
        """Tells whether the server may have carried the command out: it had
        left and no answer came. False if it did not leave, or the server
        refused it."""
        return self.was_sent and self.kind.code.byte_length() == 0

    def write_to(self, mut writer: Some[Writer]):
        """Writes the server, the cause and what to do."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        var message = Text().add("redis")
        if self.server.byte_length() > 0:
            message = message^.add(" ").add(self.server)
        message = message^.add(": ").add(self.message)
        if self.kind.advice.byte_length() > 0:
            message = message^.add("; ").add(StringSpan(self.kind.advice))
        return message^.end()


@no_inline
def failed_before(error: RedisError) -> RedisError:
    """Says why a command was not sent, by what failed before it, such as a login
    or a map of slots: nothing that the caller wants has left."""
    var failure = error.copy()
    failure.was_sent = False
    if (
        failure.kind == RedisErrorKind.ANSWER_LOST
        or failure.kind == RedisErrorKind.TIMEOUT
    ):
        failure.kind = RedisErrorKind.CONNECT_FAILED
    return failure^


@no_inline
def protocol_error(what: StaticString, octet: UInt8, offset: Int) -> RedisError:
    """Says that what came is no RESP."""
    var message = Text().add("the octet ").add(Int(octet)).add(" at byte ")
    message = message^.add(offset).add(" of the reply is not ")
    return RedisError(
        RedisErrorKind.PROTOCOL, message^.add(StringSpan(what)).end()
    )


@no_inline
def too_large(what: StaticString, limit: Int) -> RedisError:
    """Says that a reply is beyond a limit: what there is too much of, and the
    name of the limit."""
    return RedisError(
        RedisErrorKind.REPLY_TOO_LARGE,
        Text()
        .add("the reply has more than ")
        .add(limit)
        .add(" ")
        .add(StringSpan(what))
        .end(),
    )
