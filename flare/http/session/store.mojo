"""Where sessions are kept that do not travel in their cookies."""

from flare.http.message.body import Erased, destroy, erase


trait SessionStore(Deinitable, Movable):
    """Keeps the values of sessions by their ids.

    It is called by several threads at once. Ids are 43 random characters that
    no client can make up: the cookie that has one is signed.
    """

    def load(self, id: String) raises -> Optional[String]:
        """Looks a session up.

        Args:
            id: Its id.

        Returns:
            Its values, as `save` was given them; nothing if it has ended.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...

    def save(self, id: String, values: String, max_age_s: Int) raises:
        """Keeps the values of a session, new or not.

        Args:
            id: Its id.
            values: The values, as an encoded form.
            max_age_s: How long to keep them, in seconds.

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


def _load[
    S: SessionStore
](store: Erased, id: String) raises -> Optional[String]:
    # SAFETY: `AnySessionStore` made the pointer from an S of its own.
    return store.unsafe_bitcast[S]()[].load(id)


def _save[
    S: SessionStore
](store: Erased, id: String, values: String, max_age_s: Int) raises:
    # SAFETY: as for `_load`.
    store.unsafe_bitcast[S]()[].save(id, values, max_age_s)


def _remove[S: SessionStore](store: Erased, id: String) raises:
    # SAFETY: as for `_load`.
    store.unsafe_bitcast[S]()[].remove(id)


struct AnySessionStore(Movable):
    """A store of any type, so that middleware does not depend on it."""

    # SAFETY: owned; the functions were made for its type.
    var _store: Erased
    var _load: def(Erased, String) raises thin -> Optional[String]
    var _save: def(Erased, String, String, Int) raises thin -> None
    var _remove: def(Erased, String) raises thin -> None
    var _drop: def(Erased) thin -> None

    def __init__[S: SessionStore](out self, var store: S):
        """Takes a store.

        Parameters:
            S: Its type.

        Args:
            store: The store.
        """
        self._store = erase(store^)
        self._load = _load[S]
        self._save = _save[S]
        self._remove = _remove[S]
        self._drop = destroy[S]

    def __deinit__(deinit self):
        """Lets the store go."""
        self._drop(self._store)

    def load(self, id: String) raises -> Optional[String]:
        """Looks a session up.

        Args:
            id: Its id.

        Returns:
            Its values, or nothing.

        Raises:
            Error: If the store cannot be asked now.
        """
        return self._load(self._store, id)

    def save(self, id: String, values: String, max_age_s: Int) raises:
        """Keeps the values of a session.

        Args:
            id: Its id.
            values: The values, as an encoded form.
            max_age_s: How long to keep them, in seconds.

        Raises:
            Error: If they could not be kept.
        """
        self._save(self._store, id, values, max_age_s)

    def remove(self, id: String) raises:
        """Ends a session.

        Args:
            id: Its id.

        Raises:
            Error: If the store cannot be asked now.
        """
        self._remove(self._store, id)
