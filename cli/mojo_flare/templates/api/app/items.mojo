"""What is kept: items, in memory. Put a database behind the same methods."""

from flare.http.extract import Checked, FieldRules, InputError

comptime ITEM_COUNT_MAX = 10_000
"""Most items, so that nobody fills the memory."""
comptime NAME_LEN_MAX = 100
"""Longest name, in characters."""
comptime TAG_COUNT_MAX = 20
"""Most tags of an item."""


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

    @staticmethod
    def rules(mut rules: FieldRules):
        """Says what each field must be; the description of the API has it."""
        rules.length("name", 1, NAME_LEN_MAX)
        rules.at_least("price_cents", 0)
        rules.count("tags", 0, TAG_COUNT_MAX)

    def check(self) raises InputError:
        """Refuses what keeps the rules, and is no item all the same."""
        if self.name.strip().byte_length() == 0:
            raise InputError.of_content("name", "must not be blank")


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
