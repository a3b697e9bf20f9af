"""Masking keys that nobody can foretell."""

from flare.sys.errno import OsError
from flare.sys.random import fill_random
from flare.ws.core.frame import MaskingKey

comptime _STOCK_LEN = 256


struct MaskingKeys(Movable):
    """Keys from the operating system, fetched 64 at a time.

    Source: RFC 6455 section 10.3: a script that could foretell keys could
    write what a proxy takes for requests.
    """

    var _stock: List[UInt8]
    var _used_len: Int

    def __init__(out self):
        """Makes an empty stock."""
        self._stock = List[UInt8](length=_STOCK_LEN, fill=0)
        self._used_len = _STOCK_LEN

    def next(mut self) raises OsError -> MaskingKey:
        """Takes a key.

        Returns:
            The key; each is given out once.

        Raises:
            OsError: If the system has no random numbers.
        """
        if self._used_len + 4 > len(self._stock):
            fill_random(self._stock)
            self._used_len = 0
        var word = UInt32(0)
        for place in range(4):
            word = word << 8 | UInt32(self._stock[self._used_len + place])
        self._used_len += 4
        return MaskingKey(word)
