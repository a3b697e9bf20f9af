"""What services say of themselves, for whoever answers reflection."""

from flare.bytes.checked import *


struct Described(Movable):
    """Names of services, and the `.proto` files that describe them; nothing is
    added once calls are served."""

    var services: List[String]
    """Full names, in the order in which they were added."""
    var files: List[StaticString]
    """Sets of files, each as `GrpcServices.describe` takes it."""

    def __init__(out self):
        self.services = []
        self.files = []

    def add_method(mut self, path: StringSpan):
        """Adds the service of a method's path, `/package.Service/Method`."""
        var octets = path.as_bytes()
        var end = len(octets)
        while end > 1 and octets.at(end - 1) != 47:
            end -= 1
        self.add_service(
            StringSpan(unsafe_from_utf8=octets.between(1, max(1, end - 1)))
        )

    def add_service(mut self, name: StringSpan):
        """Adds a service that may be there already."""
        for index in range(len(self.services)):
            if self.services.at(index) == name:
                return
        self.services.append(String(name))
