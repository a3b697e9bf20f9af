"""What became of one request of many."""

from flare.http.client.client_response import ClientResponse
from flare.http.client.error import ClientError


struct SendResult(Movable):
    """A response, or the error instead of it.

    for index in range(len(results)):
        if results[index].error:
            print(results[index].error.value())
    """

    var response: Optional[ClientResponse]
    """The response, if there is one."""
    var error: Optional[ClientError]
    """Why there is none."""

    def __init__(out self, var response: ClientResponse):
        """Takes a response.

        Args:
            response: The response.
        """
        self.response = response^
        self.error = None

    def __init__(out self, var error: ClientError):
        """Takes an error.

        Args:
            error: The error.
        """
        self.response = None
        self.error = error^

    def take(deinit self) raises ClientError -> ClientResponse:
        """Gives the response.

        Returns:
            The response.

        Raises:
            ClientError: If there is none.
        """
        if self.error:
            raise self.error.take()
        return self.response.take()
