"""Rules for content beyond the types of its fields."""

from flare.http.routing.input import InputError


trait Checked(Deinitable, Movable):
    """Is asked, once it was read as `Json` or `Form`, whether it is good.

        @fieldwise_init
        struct NewTask(Checked):
            var title: String

            def check(self) raises InputError:
                if self.title == "":
                    raise InputError.of_content("title", "must not be empty")

    An endpoint that is called has content that has passed.
    """

    def check(self) raises InputError:
        """Checks the fields, alone and together.

        Raises:
            InputError: What is wrong, for the client to read.
        """
        ...
