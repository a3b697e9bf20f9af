"""The bundle where nothing else is, the Dockerfile, and the Kubernetes manifests."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import DEPLOY, ROOT, START_S, Running, Started, environment, next_line
from test_proxies import ask

GUIDE = ROOT / "docs" / "deployment.md"
PORT = 8080
DRAIN_S = 35  # PreforkConfig.grace_ms


def c_library() -> list[Path]:
    """Lists the files of the C library, as a program of it names them."""
    said = subprocess.run(["ldd", shutil.which("env")], capture_output=True, text=True).stdout
    loader = Path(re.search(r"^\s*(/\S*ld-\S+)", said, re.MULTILINE)[1])
    libc = Path(re.search(r"libc\.so\.6 => (\S+)", said)[1])
    return [loader, libc, libc.with_name("libm.so.6")]


def test_the_bundle_runs_where_only_the_c_library_is(started: Started, tmp_path, bundle):
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("mounts are root's: run as root, where unshare(2) is allowed")
    root = tmp_path / "root"
    for path in c_library():
        place = root / path.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    shutil.copytree(bundle, root / "opt" / "service")
    (root / "opt" / "service").chmod(0o755)
    process = chrooted(started, root)
    port = int(next_line(process, START_S).rsplit(":", 1)[1])
    assert ask(port, "/") == (200, "Hello from flare!\n")
    assert Running(process, port).stop() == 0


def chrooted(started: Started, root: Path) -> subprocess.Popen:
    """Starts the service with a folder as its root, as nobody in particular.

    /proc is there, as in a container: the loader finds `$ORIGIN` by it.
    """
    (root / "proc").mkdir()
    enter = (
        'mount -t proc proc "$0/proc" && exec chroot --userspec=10001:10001 "$0"'
        " /opt/service/service 127.0.0.1:0 workers=2"
    )
    return started.run(
        ["unshare", "--mount", "sh", "-c", enter, str(root)],
        stdout=subprocess.PIPE, env=environment(),
    )


def test_the_guide_tells_the_size_of_the_bundle(bundle):
    length = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
    told = float(re.search(r"bundle of the service is (\d+\.\d) MB", GUIDE.read_text())[1])
    assert length / 10**6 == pytest.approx(told, rel=0.15)


def instructions() -> dict[str, list[str]]:
    """Reads the Dockerfile's instructions, by name."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            found.setdefault(name, []).append(rest)
    return found


def test_the_image_holds_the_bundle_alone_and_is_not_roots():
    found = instructions()
    assert found["COPY"] == ["bundle/ /opt/service/"]
    assert "ADD" not in found and len(found["RUN"]) == 1
    assert found["USER"] == ["10001:10001"]
    assert found["ENTRYPOINT"] == ['["/opt/service/service", "0.0.0.0:8080"]']


def manifests() -> dict[str, dict]:
    """Reads the Kubernetes manifests, by kind."""
    text = (DEPLOY / "kubernetes" / "service.yaml").read_text()
    return {item["kind"]: item for item in yaml.safe_load_all(text)}


def pod() -> dict:
    return manifests()["Deployment"]["spec"]["template"]["spec"]


def test_probes_ask_what_the_service_answers(started: Started, bundle):
    service = started.service(bundle)
    [container] = pod()["containers"]
    [port] = container["ports"]
    assert port["containerPort"] == PORT and f":{PORT}" in instructions()["ENTRYPOINT"][0]
    for name, path in (("startup", "/ready"), ("readiness", "/ready"), ("liveness", "/live")):
        asked = container[f"{name}Probe"]["httpGet"]
        assert asked == {"path": path, "port": port["name"]}
        assert ask(service.port, asked["path"])[0] == 200


def test_a_pod_has_the_time_to_drain():
    sleep_s = pod()["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod()["terminationGracePeriodSeconds"] >= sleep_s + DRAIN_S


def test_a_pod_may_do_no_more_than_it_needs():
    [container] = pod()["containers"]
    user, group = instructions()["USER"][0].split(":")
    outer = pod()["securityContext"]
    assert (outer["runAsUser"], outer["runAsGroup"]) == (int(user), int(group))
    assert outer["runAsNonRoot"] and outer["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "cpu" not in container["resources"]["limits"]


def test_all_manifests_mean_the_same_pods():
    kinds = manifests()
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert kinds["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert kinds["Service"]["spec"]["selector"] == labels
    assert kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_kubernetes_knows_every_field(version):
    validate = pytest.importorskip("kubernetes_validate")
    faults = {}
    for kind, manifest in manifests().items():
        try:
            validate.validate(manifest, version, strict=True)
        except validate.ValidationError as error:
            faults[kind] = error.message
    assert faults == {}
