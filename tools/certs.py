"""Makes the certificates of the tests in build/certs, with the openssl command.

They are made anew when this file changes or they grow old; nothing of them is
ever committed. Prints the folder. Run: python3 tools/certs.py
"""

import fcntl
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "certs"
MADE = "made"
AGE_S_MAX = 7 * 24 * 3600
DAYS = "30"

# Of a CA: database, rules, and the extensions of what it signs.
CONFIG = """
[ca]
default_ca = this
[this]
database = {folder}/{name}.index
serial = {folder}/{name}.serial
new_certs_dir = {folder}
certificate = {folder}/{name}.pem
private_key = {folder}/{name}.key
default_md = sha256
policy = anything
unique_subject = no
copy_extensions = none
default_crl_days = {days}
[anything]
commonName = supplied
organizationName = optional
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


def openssl(*arguments: str) -> str:
    """Runs the openssl command and stops with what it says if it fails."""
    try:
        result = subprocess.run(
            ["openssl", *arguments], capture_output=True, text=True
        )
    except FileNotFoundError:
        sys.exit("certs: openssl is needed: apt-get install openssl")
    if result.returncode:
        sys.exit(f"certs: openssl {' '.join(arguments)}\n{result.stderr}")
    return result.stdout


def new_key(path: Path, kind: str) -> None:
    """Makes a private key: "ec", or "rsa:2048" and the like."""
    if kind == "ec":
        options = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    else:
        bits = kind.partition(":")[2]
        options = ["-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"]
    openssl("genpkey", *options, "-out", str(path))


@dataclass
class Leaf:
    """A certificate of a host or client."""

    name: str
    names: str = "DNS:localhost,DNS:good.test,IP:127.0.0.1,IP:::1"
    subject: str = "/CN=localhost"
    key: str = "ec"
    start: str = ""
    end: str = ""
    usage: str = "serverAuth"
    has_issuer_access: bool = False

    def extensions(self) -> str:
        """The section of a configuration file for this certificate."""
        lines = [
            "[leaf]",
            "basicConstraints = CA:FALSE",
            "keyUsage = critical,digitalSignature",
            f"extendedKeyUsage = {self.usage}",
            "subjectKeyIdentifier = hash",
        ]
        if self.names:
            lines.append(f"subjectAltName = {self.names}")
        if self.has_issuer_access:
            uri = "http://pki.test/issuer.der"
            lines.append(f"authorityInfoAccess = caIssuers;URI:{uri}")
        return "\n".join(lines) + "\n"


class Authority:
    """A CA in a folder: signs, revokes, and writes its revocation list."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.file(".index").write_text("")
        self.file(".serial").write_text("1000\n")
        self.config = CONFIG.format(folder=folder, name=name, days=DAYS)
        self.file(".cnf").write_text(self.config)
        new_key(self.file(".key"), "ec")

    def file(self, suffix: str) -> Path:
        return self.folder / f"{self.name}{suffix}"

    def sign_itself(self) -> "Authority":
        """Makes it a root."""
        openssl(
            "req", "-x509", "-new", "-key", str(self.file(".key")), "-sha256",
            "-days", DAYS, "-subj", f"/CN=flare test {self.name}",
            "-config", str(self.file(".cnf")), "-extensions", "authority",
            "-out", str(self.file(".pem")),
        )
        return self

    def sign_authority(self, other: "Authority") -> "Authority":
        """Makes another CA an intermediate."""
        subject = f"/CN=flare test {other.name}"
        key, pem = other.file(".key"), other.file(".pem")
        self._sign(key, subject, pem, "authority", self.file(".cnf"), [])
        return other

    def issue(self, leaf: Leaf) -> Path:
        """Makes a key and a certificate for it: NAME.key and NAME.pem."""
        key = self.folder / f"{leaf.name}.key"
        pem = self.folder / f"{leaf.name}.pem"
        new_key(key, leaf.key)
        config = self.folder / f"{leaf.name}.cnf"
        section = leaf.extensions() + "authorityKeyIdentifier = keyid\n"
        config.write_text(self.config + section)
        dates = []
        if leaf.start:
            dates += ["-startdate", leaf.start]
        dates += ["-enddate", leaf.end] if leaf.end else ["-days", DAYS]
        self._sign(key, leaf.subject, pem, "leaf", config, dates)
        return pem

    def _sign(
        self, key: Path, subject: str, pem: Path, section: str, config: Path,
        dates: list[str],
    ) -> None:
        request = pem.with_suffix(".csr")
        openssl(
            "req", "-new", "-key", str(key), "-subj", subject,
            "-config", str(self.file(".cnf")), "-out", str(request),
        )
        openssl(
            "ca", "-batch", "-notext", "-config", str(config),
            "-extensions", section, "-in", str(request), "-out", str(pem),
            *(dates or ["-days", DAYS]),
        )

    def revoke(self, pem: Path) -> None:
        openssl("ca", "-config", str(self.file(".cnf")), "-revoke", str(pem))

    def write_revocations(self) -> Path:
        path = self.file(".crl")
        openssl(
            "ca", "-config", str(self.file(".cnf")), "-gencrl",
            "-out", str(path),
        )
        return path


def join(path: Path, *parts: Path) -> None:
    path.write_text("".join(part.read_text() for part in parts))


def self_signed(folder: Path) -> None:
    """Makes a certificate that only vouches for itself."""
    config = folder / "self_signed.cnf"
    config.write_text("[req]\ndistinguished_name = name\n[name]\n")
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-days", DAYS, "-config",
        str(config), "-subj", "/CN=localhost", "-addext",
        "subjectAltName=DNS:localhost", "-keyout",
        str(folder / "self_signed.key"), "-out",
        str(folder / "self_signed.pem"),
    )


def make(folder: Path) -> None:
    """Makes all of them."""
    root = Authority(folder, "root").sign_itself()
    stranger = Authority(folder, "stranger").sign_itself()
    middle = root.sign_authority(Authority(folder, "middle"))

    leaf = middle.issue(Leaf("good", has_issuer_access=True))
    join(folder / "good_chain.pem", leaf, middle.file(".pem"))
    root.issue(Leaf("expired", start="20200101000000Z", end="20200201000000Z"))
    root.issue(Leaf("early", start="20400101000000Z", end="20400201000000Z"))
    root.issue(Leaf("other", names="DNS:other.test,IP:192.0.2.7"))
    root.issue(Leaf("wild", names="DNS:*.wild.test,DNS:exact.wild.test"))
    root.issue(Leaf("exact", names="DNS:very.wild.test"))
    root.issue(Leaf("nameless", names=""))
    tricky = ["x*.partial.test", "xn--*.test", "127.0.0.1", "*.0.0.1"]
    root.issue(Leaf("tricky", names=",".join(f"DNS:{name}" for name in tricky)))
    root.issue(Leaf("rsa", key="rsa:2048"))
    root.issue(Leaf("weak", key="rsa:1024"))
    root.issue(Leaf("wrong_use", usage="clientAuth"))
    strange = stranger.issue(Leaf("strange"))
    join(folder / "strange_chain.pem", strange, stranger.file(".pem"))
    self_signed(folder)

    client = {"names": "", "usage": "clientAuth"}
    root.issue(Leaf("client", subject="/CN=a client/O=flare", **client))
    stranger.issue(Leaf("strange_client", subject="/CN=nobody", **client))

    root.revoke(root.issue(Leaf("revoked")))
    root.revoke(root.issue(Leaf("revoked_client", **client)))
    lists = root.write_revocations(), middle.write_revocations()
    join(folder / "revocations.pem", *lists)
    (folder / "locked.key").write_text(
        openssl(
            "pkey", "-in", str(folder / "good.key"), "-aes256", "-passout",
            "pass:secret",
        )
    )


def is_fresh() -> bool:
    """Tells whether what is there will do."""
    made = FOLDER / MADE
    if not made.exists():
        return False
    made_at = made.stat().st_mtime
    source_at = Path(__file__).stat().st_mtime
    return made_at > source_at and time.time() - made_at < AGE_S_MAX


def main() -> None:
    """Makes the certificates unless they are there; prints the folder."""
    FOLDER.parent.mkdir(exist_ok=True)
    with open(FOLDER.parent / "certs.lock", "w") as lock:
        # Tests run in several processes.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_fresh():
            shutil.rmtree(FOLDER, ignore_errors=True)
            FOLDER.mkdir()
            make(FOLDER)
            (FOLDER / MADE).write_text("")
    print(FOLDER.relative_to(ROOT))


if __name__ == "__main__":
    main()
