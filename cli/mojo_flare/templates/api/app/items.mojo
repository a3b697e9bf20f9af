"""What is kept: items, in memory. Put a database behind the same methods."""

from flare.http import Checked, InputError

comptime ITEM_COUNT_MAX = 10_000
"""Most items, so that nobody fills the memory."""
comptime NAME_LEN_MAX = 100
"""Longest name, in characters."""


@fieldwise_init
struct Item(Copyable, Movable):
    """Something for sale."""

    var id: Int
    var name: String
    var price_cents: Int
    var tags: List[String]


@fieldwise_init
struct NewItem(Checked):
    """What it takes to add an item, or to replace one."""

    var name: String
    var price_cents: Int
    var tags: Optional[List[String]]

    def check(self) raises InputError:
        """Refuses what can be read, but is no item; tells of all at once."""
        var length = self.name.strip().count_codepoints()
        var is_named = 0 < length <= NAME_LEN_MAX
        var is_priced = self.price_cents >= 0
        if is_named and is_priced:
            return
        var name = InputError.of_content(
            "name", String("must have 1 to ", NAME_LEN_MAX, " characters")
        )
        var price = InputError.of_content("price_cents", "must be 0 or more")
        if is_named:
            raise price^
        if not is_priced:
            name.add(price^)
        raise name^


@fieldwise_init
struct ItemPage(Movable):
    """Some of the items."""

    var total: Int
    """How many there are in all."""
    var items: List[Item]


struct Items(Movable):
    """The items in the order in which they were added."""

    var _items: List[Item]
    var _last_id: Int

    def __init__(out self):
        self._items = []
        self._last_id = 0

    def page(self, tag: Optional[String], offset: Int, limit: Int) -> ItemPage:
        """Copies some of the items, or of those with a tag."""
        var found = List[Item]()
        var total = 0
        for item in self._items:
            if tag and tag.value() not in item.tags:
                continue
            if total >= offset and len(found) < limit:
                found.append(item.copy())
            total += 1
        return ItemPage(total, found^)

    def find(self, id: Int) -> Optional[Item]:
        """Copies an item; nothing if there is none of this id."""
        for item in self._items:
            if item.id == id:
                return item.copy()
        return None

    def add(mut self, new: NewItem) -> Optional[Item]:
        """Adds an item; nothing if there are too many."""
        if len(self._items) >= ITEM_COUNT_MAX:
            return None
        self._last_id += 1
        var item = _made_of(self._last_id, new)
        self._items.append(item.copy())
        return item^

    def replace(mut self, id: Int, new: NewItem) -> Optional[Item]:
        """Replaces an item; nothing if there is none of this id."""
        for ref item in self._items:
            if item.id == id:
                item = _made_of(id, new)
                return item.copy()
        return None

    def remove(mut self, id: Int) -> Bool:
        """Removes an item; False if there is none of this id."""
        for index in range(len(self._items)):
            if self._items[index].id == id:
                _ = self._items.pop(index)
                return True
        return False


def _made_of(id: Int, new: NewItem) -> Item:
    var tags = new.tags.value().copy() if new.tags else List[String]()
    return Item(id, String(new.name.strip()), new.price_cents, tags^)
