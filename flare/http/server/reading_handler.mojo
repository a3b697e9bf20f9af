"""A handler that reads content while it arrives."""

from flare.bytes.checked import *
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.failure import refusal
from flare.http.routing.handler import Handler
from flare.http.server.connection.body_pipe import BodyOutlet


@fieldwise_init
struct ReadingHandler[H: Handler, h: ImmOrigin, o: ImmOrigin](Handler):
    """A handler that may fail because its client did.

    Parameters:
        H: Its type.
        h: Where it lives.
        o: Where its content comes out.
    """

    # SAFETY: both outlive the call that this is made for; their origins say so.
    var handler: Pointer[Self.H, Self.h]
    """The handler."""
    var outlet: Pointer[BodyOutlet, Self.o]
    """Has its content, and knows how that has failed."""

    def serve(self, req: Request) raises -> Response:
        """Lets the handler answer.

        Args:
            req: The request.

        Returns:
            The response, or a refusal of content that has failed.

        Raises:
            Error: What the handler raises, if its content has not failed.
        """
        try:
            return self.handler[].serve(req)
        except error:
            # A client that goes away is no error of ours, and not logged.
            var failure = self.outlet[].failure()
            if failure:
                return refusal(failure.held().status, failure.held().reason)
            raise error^
