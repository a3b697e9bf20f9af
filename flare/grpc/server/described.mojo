"""What services say of themselves, for whoever answers reflection."""


struct Described(Defaultable, Movable):
    """Names of services, and the `.proto` files that describe them; nothing is
    added once calls are served."""

    var services: List[String]
    """Full names, in the order in which they were added."""
    var files: List[StaticString]
    """Sets of files, each as `GrpcServices.describe` takes it."""

    def add_service(mut self, name: StringSpan):
        """Adds a service that may be there already."""
        var service = String(name)
        if service not in self.services:
            self.services.append(service^)
