"""From a caller's request to a call that can be sent."""

from flare.http.client.auth import Credentials
from flare.http.client.call import Call, Upload
from flare.http.client.client_request import ClientRequest
from flare.http.client.client_response import url_without_credentials
from flare.http.client.config import ClientConfig
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.request_url import request_url
from flare.http.message.url import Url


def prepare_call(
    var request: ClientRequest,
    upload: Upload,
    base: Optional[Url],
    auth: Credentials,
    config: ClientConfig,
) raises ClientError -> Call:
    """Fills in what a request leaves to the client.

    Args:
        request: The request.
        upload: Where its content comes from.
        base: The client's base URL.
        auth: The client's credentials; with a base URL, for its origin alone.
        config: The client's configuration.

    Returns:
        The call.

    Raises:
        ClientError: If it cannot be sent.
    """
    if request.method == "CONNECT":
        raise ClientError(
            materialize[Phase.REQUEST](),
            materialize[BadRequest](),
            (
                "CONNECT makes a connection a tunnel, which is no response; set"
                " ClientConfig.proxy, and https requests go through one"
            ),
        )
    var url = request_url(base, request)
    var credentials = request.auth.copy()
    if not credentials and (not base or base.value().has_same_origin(url)):
        credentials = auth.copy()
    var call = Call(request^, url^, upload, config)
    try:
        call.set_content_type()
        call.set_credentials(credentials)
        return call^
    except error:
        error.url = url_without_credentials(call.url)
        raise error^
