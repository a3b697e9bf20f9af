"""Which traces are recorded, decided when they begin (head sampling)."""

from flare.trace.core.context import TraceContext

comptime _TWO_TO_64 = Float64(18446744073709551616.0)


struct Sampler(TrivialRegisterPassable):
    """Decides once, where a trace enters the program; its children follow.

    Sampler.parent_based(Sampler.ratio(0.1))
    """

    var _follows_parent: Bool
    var _is_always: Bool
    # Ids whose second half is less are sampled.
    var _bound: UInt64

    def __init__(
        out self, *, _follows_parent: Bool, _is_always: Bool, _bound: UInt64
    ):
        """Makes a sampler; `always` and its neighbours do that.

        Args:
            _follows_parent: Whether a parent decides, if there is one.
            _is_always: Whether all traces are sampled.
            _bound: Below which ids are.
        """
        self._follows_parent = _follows_parent
        self._is_always = _is_always
        self._bound = _bound

    @staticmethod
    def always() -> Self:
        """Gives a sampler of every trace, whatever the parent says."""
        return Self(_follows_parent=False, _is_always=True, _bound=0)

    @staticmethod
    def never() -> Self:
        """Gives a sampler of no trace, whatever the parent says."""
        return Self(_follows_parent=False, _is_always=False, _bound=0)

    @staticmethod
    def ratio(share: Float64) raises -> Self:
        """Gives a sampler of a share of all traces, by their ids.

        All services that decide so agree about a trace, and a larger share
        holds all traces of a smaller one: sampled is what has a second half of
        its id below `share` times 2 to the 64, as in OpenTelemetry's
        TraceIdRatioBased samplers.

        Args:
            share: 0 to 1.

        Raises:
            Error: If the share is out of range.
        """
        if not (share >= 0 and share <= 1):
            raise Error(
                "Sampler.ratio: the share is ", share, "; allowed are 0 to 1"
            )
        if share == 1:
            return Self.always()
        return Self(
            _follows_parent=False,
            _is_always=False,
            _bound=UInt64(share * _TWO_TO_64),
        )

    @staticmethod
    def parent_based(root: Self) -> Self:
        """Gives a sampler that does what the parent has decided, so that traces
        are whole.

        Args:
            root: Decides about traces that begin here.
        """
        return Self(
            _follows_parent=True,
            _is_always=root._is_always,
            _bound=root._bound,
        )

    @always_inline
    def samples(self, parent: TraceContext, trace_low: UInt64) -> Bool:
        """Tells whether a trace is to be recorded.

        Args:
            parent: Where it comes from; not valid if it begins here.
            trace_low: The second half of its id.
        """
        if self._follows_parent and parent.is_valid():
            return parent.is_sampled()
        return self._is_always or trace_low < self._bound
