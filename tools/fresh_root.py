"""A minimal Debian root with nothing of this machine in it, and commands run there.

    with fresh_root("bookworm", mirror) as root:
        root.install(["g++", "make"])
        root.bring(checkout, "/home/project")
        root.run("make demo", cwd="/home/project")

Needs Linux, root and debootstrap, and of Python nothing but the standard library: `obstacle()` says what is missing. A
command has mounts, processes and a /dev of its own, so however it ends nothing stays mounted; and the root's folder
goes when the process that made it does, even by SIGKILL.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

NEEDED_GB = 8
"""What the root, an environment with NVIDIA's wheels and the tests' folders take at most, rounded up."""

ALONE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child",
         "--propagation", "private"]  # fmt: skip
"""What a command in a root runs under: its mounts and processes end with it, and it ends with the process here."""

ENTER = """
set -e
root=$1
shift
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755,nosuid dev "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for stream in 0:stdin 1:stdout 2:stderr; do
    ln -s "/proc/self/fd/${stream%:*}" "$root/dev/${stream#*:}"
done
exec chroot "$root" /usr/bin/env -i "$@"
"""
"""Mounts what a machine has, a /dev of the root's own among it, and runs the words after the root's path in it."""

TRIAL = """
set -e
mount -t tmpfs trial /tmp
mknod /tmp/null c 1 3
: > /tmp/null
mkdir /tmp/proc /tmp/sys /tmp/pts
mount -t proc proc /tmp/proc
mount -t sysfs -o ro sysfs /tmp/sys
mount -t devpts -o newinstance devpts /tmp/pts
"""
"""What debootstrap and ENTER do that a container may forbid, in mounts that end with it."""

PIP = {"index-url": "PIP_INDEX_URL", "extra-index-url": "PIP_EXTRA_INDEX_URL", "trusted-host": "PIP_TRUSTED_HOST",
       "default-timeout": "PIP_DEFAULT_TIMEOUT", "timeout": "PIP_DEFAULT_TIMEOUT", "cert": "PIP_CERT"}  # fmt: skip
"""pip's settings that pass into a root, and the variables that they pass in; all others would bring this machine in."""

CERTIFICATES = "/etc/ssl/certs/of-the-machine.pem"
"""Where a root has the file of certificates that pip uses on this machine."""


class RootFailed(Exception):
    """A step in making or filling a root failed; its output stands in the message."""


def machine_suite() -> str:
    """The Debian release that runs here (`bookworm`); empty where this isn't Debian."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""
    facts = dict(re.findall(r'^(\w+)="?(.*?)"?$', text, re.MULTILINE))
    return facts.get("VERSION_CODENAME", "") if facts.get("ID") == "debian" else ""


def mirror(suite: str) -> str:
    """The Debian mirror that this machine's apt is configured with, once it has answered for that release.

    Raises:
        RootFailed: apt names none that has it.
    """
    try:
        output = _output("apt-get", "indextargets", "--format", "$(SITE)")
    except OSError:
        raise RootFailed("there is no apt here") from None
    problems = []
    for site in dict.fromkeys(output.split()):
        url = f"{site.rstrip('/')}/dists/{suite}/Release"
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler(_proxies_by_scheme()))
            with opener.open(url, timeout=30) as answer:
                head = answer.read(300).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            problems.append(f"{url}: {error}")
            continue
        # A third party's repository may have a release of that name too; debian-security has another label.
        if re.search(r"^Origin: Debian$", head, re.MULTILINE) and re.search(r"^Label: Debian$", head, re.MULTILINE):
            return site
    raise RootFailed(f"apt here names no Debian mirror that has {suite}" + "".join(f"; {text}" for text in problems))


def obstacle() -> str:
    """Why no root can be made on this machine; empty if one can."""
    if os.geteuid() != 0:
        return "that needs root; this is an ordinary user"
    if lacking := [tool for tool in ("unshare", "setpriv", "chroot", "git") if not shutil.which(tool)]:
        return f"there is no {' and no '.join(lacking)} here"
    if not shutil.which("debootstrap"):
        return "debootstrap is missing: apt-get install debootstrap"
    tried = subprocess.run([*ALONE, "sh", "-c", TRIAL], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"no mounts or devices of one's own are allowed here: {tried.stderr.strip()}"
    try:
        folder = _folder()
    except RootFailed as error:
        return str(error)
    free = shutil.disk_usage(folder).free / 1e9
    return "" if free >= NEEDED_GB else f"{folder} has {free:.1f} GB free, and some {NEEDED_GB} are needed"


def _folder() -> Path:
    """Where roots lie: a temporary folder whose file system takes programs and devices, as debootstrap needs it."""
    candidates = [Path(tempfile.gettempdir()), Path("/var/tmp")]
    for folder in candidates:
        if folder.is_dir() and not os.statvfs(folder).f_flag & (os.ST_NODEV | os.ST_NOEXEC):
            return folder
    raise RootFailed(f"{' and '.join(map(str, candidates))} are mounted nodev or noexec; set TMPDIR to another folder")


@dataclass(frozen=True)
class FreshRoot:
    """A Debian root.

    Attributes:
        path: its folder.
        environment: the variables that every command in it has, and no others.
    """

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, text: str, *, cwd: str = "/root") -> list[str]:
        """The words that run a shell command in the root; they end with its exit status."""
        # A shell stays as process 1: it collects orphans, which most programs in its place wouldn't.
        script = f"cd {shlex.quote(cwd)} || exit 1\n{text}\nexit $?"
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        return [*ALONE, "sh", "-c", ENTER, "sh", str(self.path), *variables, "sh", "-c", script]

    def run(self, text: str, *, cwd: str = "/root") -> int:
        """Run a shell command in the root, without input, its output where this process's goes; its exit status."""
        with subprocess.Popen(self.command(text, cwd=cwd), stdin=subprocess.DEVNULL) as process:
            try:
                return process.wait()
            except BaseException:
                process.kill()  # and with it all that runs in the root
                raise

    def output(self, text: str) -> str:
        """What a shell command in the root prints.

        Raises:
            RootFailed: it failed; the message ends with what it printed.
        """
        return _output(*self.command(text))

    def install(self, packages: Iterable[str]) -> None:
        """Install Debian packages, without what they merely recommend.

        Raises:
            RootFailed: apt failed; the message ends with its words.
        """
        names = " ".join(map(shlex.quote, packages))
        options = "-y -q --no-install-recommends"
        self.output(f"export DEBIAN_FRONTEND=noninteractive; apt-get update -q && apt-get install {options} {names}")

    def bring(self, checkout: Path, place: str) -> None:
        """Put a clone of a checkout's HEAD in the root: what is committed, and nothing else.

        Raises:
            RootFailed: git failed; the message ends with its words.
        """
        with tempfile.NamedTemporaryFile("w", suffix=".gitconfig") as config:
            # The checkout may belong to another user than root; no setting of the machine's git matters.
            config.write("[safe]\n\tdirectory = *\n")
            config.flush()
            environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": config.name, "GIT_CONFIG_NOSYSTEM": "1"}
            source, target = f"file://{checkout.resolve()}", str(self.path / place.lstrip("/"))
            _output("git", "clone", "--quiet", "--depth", "1", "--no-tags", source, target, env=environment)
            _output("git", "-C", target, "remote", "remove", "origin", env=environment)


@contextmanager
def fresh_root(suite: str, site: str) -> Iterator[FreshRoot]:
    """A root of the Debian release `suite`, made by debootstrap from the mirror `site`; gone when the block ends.

    Raises:
        RootFailed: debootstrap failed, twice; the message ends with its words.
    """
    with _temporary_folder() as folder:
        path = folder / "root"
        _debootstrap(suite, path, site)
        for name in ("resolv.conf", "hosts"):
            shutil.copyfile(Path("/etc", name), path / "etc" / name)
        # Nothing in the root outlives a power cut, so dpkg needn't wait for the disk.
        (path / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n", encoding="utf-8")
        yield FreshRoot(path, _environment(path))


def _debootstrap(suite: str, path: Path, site: str) -> None:
    """Make the root; a second time from nothing if the first fails, as mirrors sometimes hang up."""
    command = [*ALONE, "debootstrap", "--variant=minbase", suite, str(path), site]
    if not Path("/usr/share/debootstrap/scripts", suite).exists():
        command.append("/usr/share/debootstrap/scripts/sid")  # a release newer than debootstrap is made as unstable is
    environment = {**os.environ, **_proxies()}
    try:
        _output(*command, env=environment)
    except RootFailed:
        _output("rm", "-rf", "--one-file-system", "--", str(path))
        _output(*command, env=environment)


def _environment(path: Path) -> dict[str, str]:
    """What commands in the root have as variables; pip's certificates are copied there."""
    settings = pip_settings()
    if certificates := settings.get("PIP_CERT"):
        copy = path / CERTIFICATES.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(certificates, copy)
        settings["PIP_CERT"] = CERTIFICATES
    programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    # pip's cache is the root's whatever HOME a command sets: a second environment downloads nothing again.
    plain = {"PATH": programs, "HOME": "/root", "LANG": "C.UTF-8", "PIP_CACHE_DIR": "/var/cache/pip"}
    return {**plain, **_proxies(), **settings}


def pip_settings() -> dict[str, str]:
    """This machine's index and certificates of pip, as variables; what names a folder of this machine is left out."""
    try:
        output = _output(sys.executable, "-m", "pip", "config", "list")
    except RootFailed:
        output = ""
    # What overrides stands later; the environment's own are read from it, for they may be spelled in several ways.
    lines = re.findall(r"^(?:global|install|user|site)\.([\w-]+)=(.+)$", output, re.MULTILINE)
    found = {PIP[name]: str(ast.literal_eval(value)) for name, value in lines if name in PIP}
    found |= {name: os.environ[name] for name in PIP.values() if os.environ.get(name)}
    kept = {}
    for name, value in found.items():
        message = [word for word in value.split() if "INDEX_URL" not in name or re.match(r"https?://", word)]
        if message and (name != "PIP_CERT" or Path(value).is_file()):
            kept[name] = " ".join(message)
    return kept


def _proxies() -> dict[str, str]:
    """The variables of proxies, in small letters, as all programs know them; apt's own where there are none."""
    found = {}
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        if value := os.environ.get(name) or os.environ.get(name.upper()):
            found[name] = value
    if "http_proxy" not in found and shutil.which("apt-config"):
        output = _output("apt-config", "shell", "PROXY", "Acquire::http::Proxy")
        if (match := re.fullmatch(r"PROXY='(.+)'\s*", output)) and match[1] != "DIRECT":
            found["http_proxy"] = match[1]
    return found


def _proxies_by_scheme() -> dict[str, str]:
    return {name.removesuffix("_proxy"): value for name, value in _proxies().items() if name != "no_proxy"}


def _output(*command: str, env: Mapping[str, str] | None = None) -> str:
    """What a command prints.

    Raises:
        RootFailed: it failed; the message ends with what it printed.
    """
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        shown = next((word for word in command if word in {"debootstrap", "git"}), command[0])
        raise RootFailed(f"{shown} failed (exit status {done.returncode}):\n{done.stdout.strip()}")
    return done.stdout


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that is removed when this process ends, even if it is killed: another one waits for that."""
    folder = tempfile.mkdtemp(prefix="pluginkit-fresh-", dir=_folder())
    # What is still being killed may write for a moment. A mount never stands below, but rm must not walk into one.
    script = 'cat; for turn in 1 2 3 4 5; do rm -rf --one-file-system -- "$1" && exit; sleep 1; done'
    with subprocess.Popen(["sh", "-c", script, "sh", folder], stdin=subprocess.PIPE, start_new_session=True):
        yield Path(folder)
