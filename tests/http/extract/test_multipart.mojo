"""Forms with files as inputs, and part by part while they arrive."""

from flare.http.client.message.request import ClientRequest, RequestBody
from flare.http.client.message.response import ClientResponse
from flare.http.extract.content import Checked
from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.multipart import Multipart
from flare.http.extract.upload import MultipartReader, UploadedPart
from flare.http.handler.operation import InputError
from flare.http.message.body import Body
from flare.http.message.body_reader import BodyError, BodyFeed, LentFeed
from flare.http.message.extensions import ExtensionScope
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.routing.router import Router
from flare.json.rules import FieldRules
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_true

comptime _TYPE = StaticString("multipart/form-data; boundary=b")


struct _Photo(Movable):
    var title: String
    var stars: Optional[Int]
    var tags: List[String]
    var image: UploadedPart
    var small: Optional[UploadedPart]
    var more: List[UploadedPart]


@fieldwise_init
struct _Submit(Endpoint):
    var photo: Multipart[_Photo, 100_000]

    def serve(self) raises -> Response:
        ref photo = self.photo.value
        var text = String(photo.title, " ", photo.stars.or_else(-1))
        text.write(" ", len(photo.tags), " ", len(photo.image))
        text.write(" ", photo.image.head.filename.value())
        text.write(" ", photo.small.__bool__(), " ", len(photo.more))
        return ok(text^)


def _part(name: StringSpan, value: StringSpan) -> String:
    return String(
        '--b\r\nContent-Disposition: form-data; name="',
        name,
        '"\r\n\r\n',
        value,
        "\r\n",
    )


def _file(name: StringSpan, filename: StringSpan, value: StringSpan) -> String:
    return _part(String(name, '"; filename="', filename), value)


def _send_to(
    mut client: TestClient, content_type: StaticString, body: String
) raises -> ClientResponse:
    var request = ClientRequest(
        "POST", "/", RequestBody(Body(body), String(content_type))
    )
    return client.send(request^)


def _send[
    E: Endpoint & Deinitable = _Submit
](content_type: StaticString, body: String) raises -> ClientResponse:
    var router = Router()
    router.post("/", Extracted[E]())
    var client = TestClient(router^)
    return _send_to(client, content_type, body)


def test_a_form_fills_a_struct() raises:
    var body = String(
        _part("title", "Sea"),
        _part("tags", "a"),
        _part("unknown", "x"),
        _part("tags", "b"),
        _file("image", "sea.png", String("x") * 70_000),
        _file("small", "", ""),
        _file("more", "1", "1"),
        _file("more", "2", ""),
        "--b--\r\n",
    )
    assert_equal(_send(_TYPE, body).text(), "Sea -1 2 70000 sea.png False 2")


struct _Named(Checked):
    var title: String
    var image: UploadedPart

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.length("title", 1, 3)

    def check(self) raises InputError:
        if len(self.image) > 2:
            raise InputError.of_content("image", "is large")


@fieldwise_init
struct _Keep(Endpoint):
    var photo: Multipart[_Named]

    def serve(self) raises -> Response:
        return ok("kept")


def test_a_form_is_held_to_its_rules() raises:
    for row in [
        ("abc", "12", "kept"),
        ("abcd", "12", '"title"'),
        ("abc", "123", "is large"),
    ]:
        var body = _part("title", row[0]) + _file("image", "x", row[1])
        var response = _send[_Keep](_TYPE, body + "--b--\r\n")
        assert_true(row[2] in response.text(), response.text())


@fieldwise_init
struct _Row(Copyable):
    var body: String
    var status: Int
    var name: StaticString
    var detail: StaticString


def test_bad_forms_are_named() raises:
    var title = _part("title", "t")
    var image = _file("image", "x", "1")
    var rows: List[_Row] = [
        _Row(image + "--b--", 422, "title", "is required"),
        _Row(title + "--b--", 422, "image", "is required"),
        _Row(
            title + _file("image", "", "") + "--b--",
            422,
            "image",
            "is required",
        ),
        _Row(
            title + _part("stars", "x") + image + "--b--", 422, "stars", "is no"
        ),
        _Row(
            _part("title", String("x") * 65_537) + image + "--b--",
            413,
            "title",
            "is longer than 65536 bytes",
        ),
        _Row(
            title + _file("image", "x", String("x") * 100_001) + "--b--",
            413,
            "image",
            "part_len_max (100000)",
        ),
        _Row(title + image, 400, "image", "before the last boundary"),
        _Row(title + _file("image", "x", "1")[byte=0:60], 400, "", "byte"),
        _Row("nothing", 400, "", "begins with its boundary"),
    ]
    for row in rows:
        var response = _send(_TYPE, row.body)
        assert_equal(response.status.code, row.status, response.text())
        var problem = response.json()
        assert_equal(problem["in"].string_value(), "body")
        assert_equal(problem["name"].string_value(), row.name, response.text())
        assert_true(
            row.detail in problem["detail"].string_value(), response.text()
        )
    assert_equal(_send("text/plain", title).status.code, 415)
    assert_equal(_send("multipart/form-data", title).status.code, 400)


def test_an_endpoint_with_a_form_streams() raises:
    var owned = OwnedRequest("POST", "/")
    assert_true(Extracted[_Submit]().policy_for(owned.view()).streams)


@fieldwise_init
struct _Feed(BodyFeed):
    """Gives a text in steps, and then perhaps fails."""

    var text: String
    var step: Int
    var offset: Int
    var fails: Bool

    def read(mut self, room: MutSpan[UInt8, _]) raises BodyError -> Int:
        var left = self.text.as_bytes()[self.offset :]
        var count = min(min(self.step, len(room)), len(left))
        if count == 0 and self.fails:
            raise BodyError(400, "the client broke it off")
        room[:count].copy_from(left[:count])
        self.offset += count
        return count

    def trailers(self) -> HeaderMap:
        return HeaderMap()


def _list_parts(req: Request) raises -> String:
    var form = MultipartReader(req)
    var text = String()
    var room = List[UInt8](length=7, fill=0)
    while True:
        var head = form.next_part()
        if not head:
            return text^
        text.write(head.value().name, "=")
        if head.value().name == "skipped":
            continue
        while True:
            var count = form.read(Span(room))
            if count == 0:
                break
            text.write(StringSpan(from_utf8=Span(room)[:count]))
        assert_equal(form.read(Span(room)), 0)
        text.write(";")


def _listed(
    body: String, step: Int, fails: Bool = False
) raises -> Tuple[String, Int]:
    """Lists the parts; the text, and what is left of the content."""
    var owned = OwnedRequest("POST", "/")
    owned.add_header("Content-Type", _TYPE)
    var req = owned.view()
    var source = _Feed(body, step, 0, fails)
    var feed = LentFeed(source)
    var scope = ExtensionScope(req.extensions(), feed)
    var text = _list_parts(req)
    scope^.end()
    return (text^, body.byte_length() - source.offset)


def test_parts_come_out_the_same_however_they_arrive() raises:
    var body = String(
        _part("a", "one\r\ntwo"),
        _part("skipped", "much more than one room"),
        _part("empty", ""),
        _file("f", "x", "--b is no boundary"),
        "--b--\r\nbehind the form",
    )
    var wanted = "a=one\r\ntwo;skipped=empty=;f=--b is no boundary;"
    for step in range(1, 80):
        var found = _listed(body, step)
        assert_equal(found[0], wanted, String("steps of ", step))
        assert_equal(found[1], 0, "all is read")


def test_decoded_part_begins_with_its_own_octets() raises:
    """RFC 7578 section 4.7: what another part decoded to is none of its."""
    var body = String()
    for name in ["a", "skipped", "b", "empty"]:
        body += String(
            "--b\r\nContent-Transfer-Encoding: base64\r\n",
            'Content-Disposition: form-data; name="',
            name,
            '"\r\n\r\n',
            "" if name == "empty" else "b25lIHR3bw==",
            "\r\n",
        )
    body += "--b--\r\n"
    for step in range(1, 80):
        var found = _listed(body, step)
        assert_equal(found[0], "a=one two;skipped=b=one two;empty=;")


def _parts(req: Request) raises -> Response:
    return ok(_list_parts(req))


def test_a_bad_form_is_the_clients_fault() raises:
    """As for `Request.json`: where no handler catches it, it is no failure."""
    var router = Router()
    router.post("/", _parts)
    var client = TestClient(router^)
    for body, status, detail in [
        (_part("a", "1") + "--b--", 200, ""),
        (_part("a", "1") + "--b", 400, "before the last boundary"),
        (String("nothing"), 400, "begins with its boundary"),
        (_part("a" * 1_025, "1") + "--b--", 413, "name_len_max (1024)"),
    ]:
        var response = _send_to(client, _TYPE, body)
        assert_equal(response.status.code, status, response.text())
        if status != 200:
            var problem = response.json()
            assert_equal(Int(problem["status"].int_value()), status)
            assert_true(detail in problem["detail"].string_value())
    assert_equal(_send_to(client, "text/plain", "x").status.code, 400)


def test_form_that_breaks_off() raises:
    for fails in [False, True]:
        var message = String()
        try:
            _ = _listed(_part("a", "one") + "--b", 5, fails)
        except error:
            message = String(error)
        var wanted = "broke it off" if fails else "before the last boundary"
        assert_true(wanted in message, message)
