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
