# A form with a field that no text can be read as.
#
# The build fails with:
#   struct Login: field 'rights' is of type Dict[String, Bool], which cannot be read from a form; make it an Int, Float64, Bool, String, an Optional or List of one, or let its type conform to FromText

from flare.http.extract.content import Form
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.message.response import Response
from flare.http.routing.router import Router


@fieldwise_init
struct Login:
    var user: String
    var rights: Dict[String, Bool]


@fieldwise_init
struct LogIn(Endpoint):
    var form: Form[Login]

    def serve(self) raises -> Response:
        return Response(204)


def main() raises:
    var router = Router()
    router.post("/login", Extracted[LogIn]())
