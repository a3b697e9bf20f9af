"""The HTTPS server as `testssl.sh` sees it. Takes minutes, so `make nightly`."""

import json
import shutil
import subprocess

import pytest

TIMEOUT_S = 900
BAD = ("HIGH", "CRITICAL", "FATAL")
# What it says of the tests' own certificate, which is made anew each week by an
# authority of the tests, and of headers, which are the handler's.
NOT_OURS = (
    "cert_",
    "DNS_",
    "HSTS",
    "security_headers",
    "overall_grade",
    "grade_",
)
OLD_VERSIONS = ("SSLv2", "SSLv3", "TLS1", "TLS1_1")


@pytest.mark.nightly
@pytest.mark.skipif(
    not shutil.which("testssl"),
    reason="testssl is not installed: apt-get install testssl.sh",
)
def test_testssl_finds_nothing_worse_than_medium(start_tls, certs, tmp_path):
    server = start_tls()
    report = tmp_path / "report.json"
    subprocess.run(
        [
            "testssl",
            "--warnings",
            "off",
            "--color",
            "0",
            "--quiet",
            "--ip",
            "one",
            "--add-ca",
            certs / "root.pem",
            "--protocols",
            "--std",
            "--fs",
            "--server-preference",
            "--server-defaults",
            "--vulnerable",
            "--jsonfile",
            report,
            f"127.0.0.1:{server.port}",
        ],
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    findings = json.loads(report.read_text())
    worse = [
        f"{finding['severity']} {finding['id']}: {finding['finding']}"
        for finding in findings
        if finding["severity"] in BAD and not finding["id"].startswith(NOT_OURS)
    ]
    assert worse == []
    found = {finding["id"]: finding["finding"] for finding in findings}
    for version in OLD_VERSIONS:
        assert found[version].startswith("not offered"), version
    assert "TLS1_2" in found and "TLS1_3" in found
    assert server.is_alive()
