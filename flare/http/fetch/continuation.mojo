"""What a handler does when the responses that it waits for are there."""

from flare.bytes.erased import Erased, ErasedBox
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import SendResult
from flare.http.message.response import Response


struct NextStep(Movable):
    """What follows: the handler's response, or further requests."""

    var response: Optional[Response]
    """The response, if there is one."""
    var requests: List[ClientRequest]
    """What is sent next, if there is none."""

    @implicit
    def __init__(out self, var response: Response):
        """Ends with a response.

        Args:
            response: The response.
        """
        self.response = response^
        self.requests = []

    @implicit
    def __init__(out self, var request: ClientRequest):
        """Goes on with a request.

        Args:
            request: The request.
        """
        self.response = None
        self.requests = [request^]

    @implicit
    def __init__(out self, var requests: List[ClientRequest]):
        """Goes on with requests that are sent at the same time.

        Args:
            requests: The requests; at least one.
        """
        self.response = None
        self.requests = requests^

    def __init__(
        out self, var *requests: ClientRequest, __list_literal__: NoneType
    ):
        """Goes on with requests that are written as `[a^, b^]`.

        Args:
            requests: The requests; at least one.
            __list_literal__: Tells the compiler.
        """
        self.response = None
        self.requests = List[ClientRequest](capacity=len(requests))
        for request in requests:
            self.requests.append(request.copy())


trait Continuation(Deinitable, Movable):
    """Goes on for a handler that waits for responses of others.

    It owns what it needs: the handler's request is gone when it is called. It
    runs on the worker's own thread, so it must not wait.
    """

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        """Makes the handler's response, or says what is to be sent next.

        Args:
            results: What became of the requests, in their order.

        Returns:
            A `Response`, a `ClientRequest` or a list of them.

        Raises:
            Error: It is logged, and answered with 500.
        """
        ...


def _go_on[
    C: Continuation
](continuation: Erased, var results: List[SendResult]) raises -> NextStep:
    # SAFETY: `AnyContinuation` made the pointer from a C of its own.
    return continuation.unsafe_bitcast[C]()[].go_on(results^)


struct AnyContinuation(Movable):

    # SAFETY: the function was made for the type of the continuation.
    var _continuation: ErasedBox
    var _go_on: def(Erased, var List[SendResult]) raises thin -> NextStep

    def __init__[C: Continuation](out self, var continuation: C):
        self._continuation = ErasedBox(continuation^)
        self._go_on = _go_on[C]

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        return self._go_on(self._continuation.at, results^)
