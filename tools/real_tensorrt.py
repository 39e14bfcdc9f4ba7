"""The whole TensorRT 8.5 from PyPI, for a GPU machine without a network.

    python3 tools/real_tensorrt.py pack OUT --python PREFIX         # here: OUT/part-00 ..., OUT/DIGESTS
    python3 tools/real_tensorrt.py unpack OUT /opt/tensorrt8        # there: prints what to export

PyPI's tensorrt 8.5.3.1 is builder, parser, runtime and plugin library, for CPython up to 3.10; the GPU machine needs
nothing of that. The plugin library is linked to cuBLAS 11 and cuDNN 8. With `--cublas` their place is taken by
nvidia-cublas-cu11 (417 MB more); cuDNN's, and cuBLAS's without it, by libraries whose functions fail, so the tactic
sources CUBLAS, CUBLAS_LT and CUDNN must be switched off in a builder's configuration.

Uses nothing but Python's standard library, pip, xz, gcc and nm.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

TENSORRT = "tensorrt==8.5.3.1"
CUBLAS = "nvidia-cublas-cu11==11.11.3.6"
PACKAGES = ("numpy>=2,<2.3", "onnx", "polygraphy", "tomli", "typing_extensions", "nvidia-cuda-runtime-cu11")
"""What pluginkit's workers import there. NumPy 1.24 to 1.26 lack the numpy.bool that TensorRT 8.5's nptype asks for."""

STAND_INS = {"libcublas.so.11": r"cublas(?!Lt)\w+", "libcublasLt.so.11": r"cublasLt\w+", "libcudnn.so.8": r"cudnn\w+"}
LEFT_OUT = ("test", "idlelib", "tkinter", "ensurepip", "__pycache__")
DIGESTS = "DIGESTS"
BLOCK = 1 << 20


def main() -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="Download, and pack into parts.")
    packing.add_argument("out", type=Path, help="Folder for the parts.")
    packing.add_argument("--python", type=Path, required=True, metavar="PREFIX", help="Prefix of a CPython 3.10.")
    packing.add_argument("--parts", default="60MB", metavar="SIZE", help="Size of a part. [default: %(default)s]")
    packing.add_argument("--cublas", action="store_true", help="Pack cuBLAS 11, too.")
    unpacking = commands.add_parser("unpack", help="Check the parts and unpack them.")
    unpacking.add_argument("parts", type=Path, help="Folder with the parts.")
    unpacking.add_argument("folder", type=Path, help="Folder to make.")
    given = parser.parse_args()
    try:
        if given.command == "pack":
            pack(given.out, given.python, megabytes(given.parts), cublas=given.cublas)
        else:
            unpack(given.parts, given.folder)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"error: {' '.join(map(str, error.cmd))} failed (exit code {error.returncode}).", file=sys.stderr)
        return 1
    return 0


def megabytes(text: str) -> int:
    """`60MB` in bytes.

    Raises:
        ValueError: it is another text.
    """
    found = re.fullmatch(r"(\d+)\s*MB?", text)
    if found is None or not int(found[1]):
        raise ValueError(f"--parts {text}: a size in megabytes is expected, as 60MB.")
    return int(found[1]) * 1_000_000


def pack(out: Path, python: Path, size: int, *, cublas: bool) -> None:
    """Write the parts and their digests into `out`.

    Raises:
        ValueError: `python` is not the prefix of a CPython 3.10.
        CalledProcessError: a download or a compiler failed.
    """
    interpreter = python / "bin/python3.10"
    if not interpreter.is_file():
        raise ValueError(f"--python {python}: there is no {interpreter}.")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "tensorrt8"
        packages = home / "packages"
        say(f"Copying {python} ...")
        shutil.copytree(python, home / "python", symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT, "*.a"))
        wanted = [TENSORRT, *([CUBLAS] if cublas else [])]
        platform = ["--python-version", "310", "--platform", "manylinux_2_17_x86_64", "--only-binary", ":all:"]
        for requirement in wanted:
            say(f"Downloading {requirement} ...")
            run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", *platform, "--target", packages, requirement)
        say(f"Downloading {', '.join(PACKAGES)} ...")
        run(interpreter, "-m", "pip", "install", "-q", "--target", packages, *PACKAGES)
        # So the interpreter alone finds them.
        site = home / "python/lib/python3.10/site-packages"
        site.mkdir(parents=True, exist_ok=True)
        (site / "packages.pth").write_text("../../../../packages\n", encoding="utf-8")
        stand_in(packages / "tensorrt", packages / "nvidia/cublas/lib" if cublas else None)
        say("Packing ...")
        out.mkdir(parents=True, exist_ok=True)
        archive = Path(place) / "archive"
        run("tar", "--create", "--file", archive, "--use-compress-program", "xz -T0 -3", "-C", place, "tensorrt8")
        parts = [*split(archive, out, size)]
    lines = [f"{digest(part)}  {part.name}\n" for part in parts]
    (out / DIGESTS).write_text("".join(lines), encoding="utf-8")
    say(f"{len(parts)} parts in {out}. Next, there: python3 tools/real_tensorrt.py unpack {out} /opt/tensorrt8")


def stand_in(folder: Path, cublas: Path | None) -> None:
    """Give the plugin library the libraries that it is linked to: cuBLAS's from a folder, or some that only fail."""
    if cublas is not None:
        for library in cublas.glob("libcublas*.so.11"):
            shutil.copy(library, folder)
    listed = run("nm", "-D", "--undefined-only", folder / "libnvinfer_plugin.so.8", capture=True)
    wanted = sorted({line.split()[-1].partition("@")[::2] for line in listed.splitlines()})
    for library, pattern in STAND_INS.items():
        if (folder / library).exists():
            continue
        pairs = [(name, version) for name, version in wanted if re.fullmatch(pattern, name)]
        source, script = folder / f"{library}.c", folder / f"{library}.map"
        source.write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name, _ in pairs), encoding="utf-8")
        # With the versions that are asked for: without them the loader ends the process.
        versions = {version: [name for name, own in pairs if own == version] for _, version in pairs}
        nodes = [f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in versions.items() if version]
        script.write_text("".join(nodes), encoding="utf-8")
        options = [f"-Wl,-soname,{library}", *([f"-Wl,--version-script={script}"] if nodes else [])]
        run("gcc", "-shared", "-fPIC", *options, "-o", folder / library, source)
        source.unlink()
        script.unlink()


def split(archive: Path, out: Path, size: int) -> Iterator[Path]:
    """The parts of a file, of at most `size` bytes each."""
    for old in out.glob("part-*"):
        old.unlink()
    with archive.open("rb") as file:
        for number, content in enumerate(iter(lambda: file.read(size), b"")):
            part = out / f"part-{number:02}"
            part.write_bytes(content)
            yield part


def unpack(parts: Path, folder: Path) -> None:
    """Check the parts against their digests, and unpack them.

    Raises:
        ValueError: a part is missing or is another one, or the folder is there already.
    """
    if folder.exists():
        raise ValueError(f"{folder} is there already: remove it, or name another folder.")
    listed = parts / DIGESTS
    if not listed.is_file():
        raise ValueError(f"{listed} is missing: copy it with the parts.")
    names = []
    for line in listed.read_text(encoding="utf-8").splitlines():
        wanted, name = line.split()
        part = parts / name
        if not part.is_file():
            raise ValueError(f"{part} is missing: copy it again.")
        if digest(part) != wanted:
            raise ValueError(f"{part} is not what was packed (its SHA-256 differs): copy it again.")
        names.append(part)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        archive = Path(place) / "archive"
        with archive.open("wb") as file:
            for part in names:
                with part.open("rb") as content:
                    shutil.copyfileobj(content, file, BLOCK)
        if shutil.which("xz"):
            # It takes all cores, Python's module one.
            run("tar", "--extract", "--file", archive, "--use-compress-program", "xz -T0", "-C", place)
        else:
            with tarfile.open(archive, "r:xz") as content_of:
                content_of.extractall(place)
        (Path(place) / "tensorrt8").rename(folder)
    home = folder.resolve()
    print(f"export PLUGINKIT_TENSORRT8={home}/packages/tensorrt")
    print(f"export PLUGINKIT_TENSORRT8_PYTHON={home}/python/bin/python3.10")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def run(*command: str | Path, capture: bool = False) -> str:
    """Run a command; its output where it is captured."""
    done = subprocess.run([*map(str, command)], check=True, text=True, stdout=subprocess.PIPE if capture else None)
    return done.stdout or ""


def say(text: str) -> None:
    """Print a line at once, also on a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
