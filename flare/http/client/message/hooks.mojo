"""What a program adds to each attempt of a request, and is told of it."""

from flare.bytes.erased import Erased, ErasedBox
from flare.http.client.connect.error import ClientError
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.status import Status
from flare.sys.clock import monotonic_ns
from flare.url.url import Url
from std.memory import ArcPointer


struct OutgoingAttempt(Movable):
    """An attempt that is about to begin: what it will send, but for what the
    client adds by itself (Host, the framing, cookies, the fields of
    `ClientConfig`)."""

    var number: Int
    """Which attempt of the request it is, 1 for the first; those that follow a
    redirection count, too."""
    var method: String
    """The method."""
    var url: Url
    """Where it goes."""
    var headers: HeaderMap
    """The request's own header fields. What is changed here counts for this
    attempt alone."""
    var content: Body
    """The content, to be read; empty if it comes from a source, or is a form
    with files."""

    def __init__(
        out self, number: Int, method: String, url: Url, var headers: HeaderMap
    ):
        """Makes an attempt without content."""
        self.number = number
        self.method = method
        self.url = url.copy()
        self.headers = headers^
        self.content = Body()


struct AttemptOutcome(Movable):
    """What became of an attempt: a response, whose head is there, or an error.
    The response may yet be followed, repeated, or cut off within its content.
    """

    var number: Int
    """Which attempt of the request it was."""
    var method: String
    """The method."""
    var url: Url
    """Where it went."""
    var status: Status
    """The response's status; 0 if there was none."""
    var headers: HeaderMap
    """The response's header fields."""
    var error: Optional[ClientError]
    """Why there is no response."""
    var elapsed_ns: Int
    """The time since `before_attempt`, in nanoseconds."""

    def __init__(
        out self, number: Int, method: String, url: Url, elapsed_ns: Int
    ):
        """Makes an outcome without response and error."""
        self.number = number
        self.method = method
        self.url = url.copy()
        self.status = 0
        self.headers = HeaderMap()
        self.error = None
        self.elapsed_ns = elapsed_ns


trait ClientHook(Deinitable, Movable):
    """Sees each attempt of a request: the first one, what follows redirections,
    and what is repeated.

        @fieldwise_init
        struct Signer(ClientHook):
            var key: String

            def before_attempt(self, mut attempt: OutgoingAttempt) raises:
                var text = String(attempt.method, attempt.url, self.key)
                attempt.headers.set("X-Signature", String(hash(text)))

    `ClientConfig.hooks` takes it, or `ClientRequest.add_hook`. It owns what it
    needs. The threads of a `SharedClient` call it at the same time: what it changes
    is atomic, or under a lock. Hooks are called in turn, those of the client first,
    and each `before_attempt` is followed by one `after_attempt`.
    """

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        """May add fields, or refuse.

        Args:
            attempt: What is about to be sent. The fields are written now; a
                connection may have to be waited for.

        Raises:
            Error: Ends the request with `HookFailed`: it is not sent, nor
                repeated.
        """
        return

    def after_attempt(self, outcome: AttemptOutcome):
        """Is told what came of an attempt, before the content is read.

        Args:
            outcome: What came of it.
        """
        return


comptime BeforeAttempt = def(mut OutgoingAttempt) raises thin -> None
"""A plain function that is called before each attempt."""

comptime AfterAttempt = def(AttemptOutcome) thin -> None
"""A plain function that is told of each attempt."""


def _call_before[
    H: ClientHook
](hook: Erased, mut attempt: OutgoingAttempt) raises:
    # SAFETY: `_OwnedHook` was made of an H, and keeps it.
    hook.unsafe_bitcast[H]()[].before_attempt(attempt)


def _call_after[H: ClientHook](hook: Erased, outcome: AttemptOutcome):
    # SAFETY: as for `_call_before`.
    hook.unsafe_bitcast[H]()[].after_attempt(outcome)


@fieldwise_init
struct _BeforeFunction(ClientHook):
    var function: BeforeAttempt

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        self.function(attempt)


@fieldwise_init
struct _AfterFunction(ClientHook):
    var function: AfterAttempt

    def after_attempt(self, outcome: AttemptOutcome):
        self.function(outcome)


struct _OwnedHook(Movable):
    # SAFETY: the functions were made for the type of the hook.
    var hook: ErasedBox
    var before: def(Erased, mut OutgoingAttempt) raises thin -> None
    var after: def(Erased, AttemptOutcome) thin -> None

    def __init__[H: ClientHook](out self, var hook: H):
        self.hook = ErasedBox(hook^)
        self.before = _call_before[H]
        self.after = _call_after[H]


struct AnyHook(ImplicitlyCopyable):
    """A hook of any type, or a plain function; copies are the same one."""

    var _owned: ArcPointer[_OwnedHook]

    @implicit
    def __init__[H: ClientHook](out self, var hook: H):
        """Takes a hook.

        Parameters:
            H: Its type.

        Args:
            hook: The hook.
        """
        self._owned = ArcPointer(_OwnedHook(hook^))

    @implicit
    def __init__(out self, function: BeforeAttempt):
        """Takes a plain function that is called before each attempt.

        Args:
            function: `def f(mut attempt: OutgoingAttempt) raises`.
        """
        self = Self(_BeforeFunction(function))

    @implicit
    def __init__(out self, function: AfterAttempt):
        """Takes a plain function that is told of each attempt.

        Args:
            function: `def f(outcome: AttemptOutcome)`.
        """
        self = Self(_AfterFunction(function))

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        """Calls the hook; the rest is as for `ClientHook.before_attempt`."""
        ref owned = self._owned[]
        owned.before(owned.hook.at, attempt)

    def after_attempt(self, outcome: AttemptOutcome):
        """Calls the hook; the rest is as for `ClientHook.after_attempt`."""
        ref owned = self._owned[]
        owned.after(owned.hook.at, outcome)


struct HookRun(Defaultable, Movable):
    """The hooks of one request, and the attempt that they were told of."""

    var hooks: List[AnyHook]
    var number: Int
    """Which attempt it is."""
    var own_headers: Optional[HeaderMap]
    """The request's fields as they were before the hooks, while an attempt has
    those of the hooks."""
    var _start_ns: Int
    var _is_open: Bool

    def begin(mut self, mut attempt: OutgoingAttempt) raises:
        """Calls all hooks before an attempt is sent. Raises if one of them
        refuses."""
        self._is_open = True
        self._start_ns = monotonic_ns()
        for hook in self.hooks:
            hook.before_attempt(attempt)

    def outcome(self, method: String, url: Url) -> AttemptOutcome:
        """Makes what the hooks are told of the attempt, to be completed."""
        return AttemptOutcome(
            self.number, method, url, monotonic_ns() - self._start_ns
        )

    def is_open(self) -> Bool:
        """Tells whether the hooks wait to be told of an attempt: between
        `begin` and `end`."""
        return self._is_open

    def end(mut self, outcome: AttemptOutcome):
        self._is_open = False
        for hook in self.hooks:
            hook.after_attempt(outcome)
