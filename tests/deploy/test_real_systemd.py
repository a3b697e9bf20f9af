"""The units under a systemd of their own: a small Debian that is booted with them.

For the nights: Debian's packages are fetched, and the boot takes half a minute.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import DEPLOY, program
from units import UNITS

pytestmark = pytest.mark.nightly
FETCH_S = 600
BOOT_S = 180
PACKAGES = "systemd,systemd-sysv,dbus,curl,procps"
# Runs when the system is up, with one unit after the other, and turns it off.
CHECK = """#!/bin/sh
exec >/result 2>&1
ask() { curl -s --max-time 5 --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8080/; }
state() { systemctl show -P "$1" "$2"; }

systemctl start service.service && echo "one: started"
echo "one: $(ask)"
echo "one: user $(ps -o user= -p "$(state MainPID service.service)" | grep -cv root) not root"
systemctl stop service.service
echo "one: $(state Result service.service) $(state ExecMainStatus service.service)"

systemctl start service-prefork.service && echo "prefork: started"
echo "prefork: $(ask)"
main=$(state MainPID service-prefork.service)
echo "prefork: $(pgrep -c -P "$main") workers"
before=$(pgrep -P "$main" | sort)
systemctl reload service-prefork.service
for _ in $(seq 100); do
    now=$(pgrep -P "$main" | sort)
    [ "$(echo "$now" | wc -l)" = 4 ] && ! echo "$now" | grep -qxF "$before" && break
    sleep 0.1
done
echo "prefork: $(ask) $(echo "$now" | grep -cxF "$before") old workers"
[ "$main" = "$(state MainPID service-prefork.service)" ] && echo "prefork: same supervisor"
systemctl kill --kill-whom=main --signal=USR2 service-prefork.service
for _ in $(seq 100); do
    [ "$main" != "$(state MainPID service-prefork.service)" ] && break
    sleep 0.1
done
[ "$main" != "$(state MainPID service-prefork.service)" ] && echo "prefork: new supervisor"
echo "prefork: $(ask) $(state ActiveState service-prefork.service)"
systemctl stop service-prefork.service
echo "prefork: $(state Result service-prefork.service) $(state ExecMainStatus service-prefork.service)"

systemctl start service-activated.socket
echo "socket: $(state ActiveState service-activated.service) before"
echo "socket: $(ask)"
echo "socket: $(state ActiveState service-activated.service) after"
systemctl restart service-activated.service
echo "socket: $(ask)"
systemctl stop service-activated.socket service-activated.service
echo "socket: $(state Result service-activated.service)"
systemctl --failed --no-legend --plain | grep service
systemctl poweroff
"""
ANSWER = "Hello from flare!"
WANTED = f"""one: started
one: {ANSWER}
one: user 1 not root
one: success 0
prefork: started
prefork: {ANSWER}
prefork: 4 workers
prefork: {ANSWER} 0 old workers
prefork: same supervisor
prefork: new supervisor
prefork: {ANSWER} active
prefork: success 0
socket: inactive before
socket: {ANSWER}
socket: active after
socket: {ANSWER}
socket: success
"""
UNIT = """[Unit]
After=network.target multi-user.target
[Service]
Type=oneshot
ExecStart=/check
[Install]
WantedBy=multi-user.target
"""


def debian(root: Path) -> None:
    """Makes a small Debian, or skips where its packages cannot be had."""
    tool = program("mmdebstrap", "mmdebstrap")
    made = subprocess.run(
        [tool, "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)],
        capture_output=True, text=True, timeout=FETCH_S,
    )
    if made.returncode:
        pytest.skip(f"there is no Debian to be had: {made.stderr[-300:]}")


def test_the_units_under_systemd(tmp_path: Path, bundle: Path):
    if os.geteuid() != 0:
        pytest.skip("systemd-nspawn is root's: run as root")
    nspawn = program("systemd-nspawn", "systemd-container")
    root = tmp_path / "debian"
    debian(root)
    shutil.copytree(bundle, root / "opt" / "service")
    (root / "opt" / "service").chmod(0o755)
    system = root / "etc" / "systemd" / "system"
    for unit in UNITS:
        assert unit.is_relative_to(DEPLOY)
        shutil.copy(unit, system)
    (root / "check").write_text(CHECK)
    (root / "check").chmod(0o755)
    (system / "check.service").write_text(UNIT)
    wants = system / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "check.service").symlink_to("/etc/systemd/system/check.service")
    log = tmp_path / "boot.log"
    with log.open("w") as output:
        subprocess.run(
            [
                nspawn, "-D", str(root), "--boot", "--register=no", "--keep-unit",
                "--private-network", f"--machine=flare-{os.getpid()}",
            ],
            # One hierarchy of control groups, as any system of today has.
            env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=BOOT_S,
        )
    result = root / "result"
    assert result.exists(), log.read_text()[-2000:]
    assert result.read_text() == WANTED
