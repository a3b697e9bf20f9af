"""The OpenAPI document and the page about it, as others read them."""

import base64
import hashlib
import json
import re
import urllib.request

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from browser import Browser
from conftest import Server
from wire_programs import built


@pytest.fixture(scope="module")
def app():
    server = Server(built("app_server"), ["1"])
    yield server
    server.stop()


def fetched(app, path):
    url = f"http://127.0.0.1:{app.port}{path}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.headers, answer.read().decode()


def test_the_document_is_valid(app):
    document = json.loads(fetched(app, "/openapi.json")[1])
    problems = [
        f"{list(error.absolute_path)}: {error.message}"
        for error in OpenAPIV31SpecValidator(document).iter_errors()
    ]
    assert problems == []
    add = document["paths"]["/items/{id}"]["post"]
    assert set(add["responses"]) == {"200", "400", "413", "415", "422"}
    assert set(document["components"]["schemas"]) == {"Item", "Problem"}


def test_an_answer_fits_its_schema(app):
    """What the document says of bad inputs is what is answered."""
    document = json.loads(fetched(app, "/openapi.json")[1])
    shape = document["components"]["schemas"]["Problem"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetched(app, "/find/a?full=maybe")
    problem = json.loads(refused.value.read())
    assert set(shape["required"]) == set(problem)
    entry = shape["properties"]["errors"]["items"]
    for error in problem["errors"]:
        assert set(entry["required"]) <= set(error) <= set(entry["properties"])
        assert error["in"] in entry["properties"]["in"]["enum"]


def test_the_policy_names_the_script(app):
    headers, page = fetched(app, "/docs")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in scripts
    ]
    assert len(digests) == 1
    policy = headers["Content-Security-Policy"]
    assert f"script-src 'sha256-{digests[0]}';" in policy
    assert "default-src 'none'" in policy


ANSWER = "document.querySelector('section[data-path=\"{}\"] .answer')"


def send(page, path, script):
    """Fills in the form of a path, sends it, and gives what is shown."""
    page.evaluate(
        f"""(() => {{
            const form = document.querySelector('section[data-path="{path}"] form');
            {script}
            form.requestSubmit();
        }})()"""
    )
    answer = ANSWER.format(path)
    page.wait_for(f"{answer} && {answer}.dataset.status")
    status = page.evaluate(f"{answer}.dataset.status")
    return status, page.evaluate(f"{answer}.textContent")


def test_requests_are_sent_from_the_page(app):
    with Browser() as browser:
        page = browser.open(f"http://127.0.0.1:{app.port}/docs")
        page.wait_for("document.documentElement.dataset.ready")
        # The text to edit is an example, made of the schema.
        example = page.evaluate(
            """document.querySelector(
                'section[data-path="/items/{id}"] textarea').value"""
        )
        assert json.loads(example) == {"name": "", "price": 0}
        status, text = send(
            page,
            "/items/{id}",
            """form.elements.id.value = "7";
               form.elements.content.value = '{"name":"tea","price":2}';""",
        )
        assert (status, "POST /items/7" in text) == ("200", True), text
        assert '"name": "tea"' in text
        status, text = send(
            page, "/items/{id}", 'form.elements.content.value = "{}";'
        )
        assert status == "422" and "is required" in text, text
        status, text = send(
            page,
            "/find/{kind}",
            """form.elements.kind.value = "a/b";
               form.elements.q.value = "<i>";
               form.elements.full.value = "1";
               form.elements.tag.value = "x" + String.fromCharCode(10) + "y";
               form.elements.session.value = "s";""",
        )
        assert status == "200" and "a/b <i>" in text, text
        # A form of fields.
        status, text = send(
            page,
            "/form",
            'form.elements.name.value = "tea"; form.elements.price.value = "2";',
        )
        assert status == "200" and '"price": 2' in text, text


def test_credentials_are_sent_as_their_schemes_say(app):
    """RFC 7617, RFC 6750, and a field of a guard of the program's own."""
    forms = {
        "/who": ('form.elements.user.value = "ann"; form.elements.password.value = "pw";', "ann"),
        "/token": ('form.elements.token.value = "t0k";', "robot"),
        "/keyed": ('form.elements["X-Api-Key"].value = "k1";', "k1"),
    }
    with Browser() as browser:
        page = browser.open(f"http://127.0.0.1:{app.port}/docs")
        page.wait_for("document.documentElement.dataset.ready")
        for path, (script, answer) in forms.items():
            # To Basic a browser asks its reader, in a window of its own.
            if path != "/who":
                status, text = send(page, path, "")
                assert status == "401", text
            status, text = send(page, path, script)
            assert status == "200" and text.endswith(answer), text


def test_links_lead_to_what_is_there(app):
    page = fetched(app, "/docs")[1]
    places = set(re.findall(r'href="#([^"]+)"', page))
    assert {"schema-Item", "schema-Problem", "credentials-X-Api-Key"} <= places
    assert places <= set(re.findall(r'id="([^"]+)"', page))
    assert "422</code><td>Unprocessable" in page


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (int(number) / 255 for number in re.findall(r"\d+", colour)[:3])
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


COLOURS = """[...document.querySelectorAll("h1, h3, td, a, small, code, summary, input, button")]
    .map(each => {
        const text = getComputedStyle(each).color;
        let back = each;
        while (back && getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)")
            back = back.parentElement;
        return [each.tagName, text, back ? getComputedStyle(back).backgroundColor : "none"];
    })"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_can_be_read_in_both_colour_schemes(app, scheme):
    """WCAG 2.2, contrast (minimum): 4.5 to 1, forms included."""
    with Browser() as browser:
        page = browser.open(f"http://127.0.0.1:{app.port}/docs")
        page.prefer(scheme)
        page.wait_for("document.documentElement.dataset.ready")
        page.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
        body = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (luminance(body) < 0.1) is (scheme == "dark")
        for tag, text, back in page.evaluate(COLOURS):
            brighter, darker = sorted((luminance(text), luminance(back)), reverse=True)
            assert (brighter + 0.05) / (darker + 0.05) >= 4.5, (tag, text, back)
