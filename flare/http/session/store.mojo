"""Where sessions are kept that do not travel in their cookies."""


trait SessionStore(Deinitable, Movable):
    """Keeps the values of sessions by their ids.

    It is called by several threads at once. Ids are 43 random characters that
    no client can make up: the cookie that has one is signed.
    """

    def load(self, id: String) raises -> Optional[String]:
        """Finds the values of a session, as they were given last; nothing if it
        has ended.

        Args:
            id: Its id.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...

    def save(self, id: String, values: String, max_age_s: Int) raises:
        """Keeps the values of a new session.

        Args:
            values: The values, as an encoded form.
            max_age_s: How long to keep them, in seconds.

        Raises:
            Error: If they could not be kept.
        """
        ...

    def replace(
        self, id: String, new_id: String, values: String, max_age_s: Int
    ) raises -> Bool:
        """Keeps other values of a session that was loaded, under its id or
        another one, if it is still there: what was ended meanwhile, by a
        log-out, from outside or by its renewal, must not come back.

        That it is there and that it changes is one step to everybody else.

        Args:
            new_id: The id that it has from now on, often the same; under the
                old one it ends.

        Returns:
            False if it has ended: nothing was kept then.

        Raises:
            Error: If they could not be kept.
        """
        ...

    def remove(self, id: String) raises:
        """Ends a session.

        Args:
            id: Its id; there may be no such session.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...
