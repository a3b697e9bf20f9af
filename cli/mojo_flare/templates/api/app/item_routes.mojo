"""The API of the items: an endpoint for each thing that clients can do.

The fields of an endpoint are its inputs. It is called only if all of them are
there and good; if not, the client is told of everything that is wrong.
"""

from app.items import ITEM_COUNT_MAX, Item, ItemPage, Items, NewItem
from app.login import SignedIn
from flare.http import Endpoint, Extracted, Json, Response, Router, State
from flare.http import no_content, ok_json
from flare.http.extract import InputError, Operation, OptQueryInt, OptQueryStr
from flare.http.extract import PathInt

comptime PAGE_LEN = 50
"""How many items a page has, if the client does not say."""
comptime PAGE_LEN_MAX = 500


def item_routes() raises -> Router:
    """Makes the routes of the items."""
    var router = Router()
    router.get("/items", Extracted[ListItems]())
    router.post("/items", Extracted[AddItem]())
    router.get("/items/:id", Extracted[ShowItem]())
    router.put("/items/:id", Extracted[ReplaceItem]())
    router.delete("/items/:id", Extracted[RemoveItem]())
    return router^


@fieldwise_init
struct ListItems(Endpoint):
    var tag: OptQueryStr["tag"]
    var offset: OptQueryInt["offset"]
    var limit: OptQueryInt["limit"]
    var items: State[Items]

    def serve(self) raises -> Response:
        var offset = self.offset.value.or_else(0)
        var limit = self.limit.value.or_else(PAGE_LEN)
        if offset < 0:
            return InputError(
                400, "query", "offset", "must be 0 or more"
            ).response()
        if not 1 <= limit <= PAGE_LEN_MAX:
            var reason = String("must be 1 to ", PAGE_LEN_MAX)
            return InputError(400, "query", "limit", reason).response()
        return ok_json(self.items.lock()[].page(self.tag.value, offset, limit))

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "listItems"
        operation.summary = "List items, or those with a tag"
        operation.gives[ItemPage]()


@fieldwise_init
struct ShowItem(Endpoint):
    var id: PathInt["id"]
    var items: State[Items]

    def serve(self) raises -> Response:
        return _item_or_404(self.items.lock()[].find(self.id.value))

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "showItem"
        operation.summary = "Show an item"
        operation.gives[Item]()
        operation.answers(404)


@fieldwise_init
struct AddItem(Endpoint):
    var who: SignedIn
    var item: Json[NewItem]
    var items: State[Items]

    def serve(self) raises -> Response:
        var added = self.items.lock()[].add(self.item.value)
        if not added:
            var reason = String(
                "there are ", ITEM_COUNT_MAX, "; remove one first"
            )
            return InputError(409, "body", "", reason).response()
        var place = String("/api/items/", added.value().id)
        return (
            ok_json(added.value())
            .with_status(201)
            .with_header("Location", place)
        )

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "addItem"
        operation.summary = "Add an item"
        operation.gives[Item](201)
        operation.answers(409)


@fieldwise_init
struct ReplaceItem(Endpoint):
    var who: SignedIn
    var id: PathInt["id"]
    var item: Json[NewItem]
    var items: State[Items]

    def serve(self) raises -> Response:
        return _item_or_404(
            self.items.lock()[].replace(self.id.value, self.item.value)
        )

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "replaceItem"
        operation.summary = "Replace an item"
        operation.gives[Item]()
        operation.answers(404)


@fieldwise_init
struct RemoveItem(Endpoint):
    var who: SignedIn
    var id: PathInt["id"]
    var items: State[Items]

    def serve(self) raises -> Response:
        if self.items.lock()[].remove(self.id.value):
            return no_content()
        return _no_such_item()

    @staticmethod
    def describe(mut operation: Operation):
        operation.id = "removeItem"
        operation.summary = "Remove an item"
        operation.answers(204)
        operation.answers(404)


def _item_or_404(item: Optional[Item]) raises -> Response:
    return ok_json(item.value()) if item else _no_such_item()


def _no_such_item() -> Response:
    return InputError(404, "path", "id", "there is no such item").response()
