"""What an INT8 calibrator of TensorRT is given to keep: a text, with a line for each tensor."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from pluginkit.errors import CheckFailed


def read(cache: bytes) -> dict[str, float]:
    """Tensor -> scale.

    The first line names TensorRT's version and the calibrator (`TRT-8503-EntropyCalibration2`); another one is a name
    and the bits of a float32 in hexadecimal, as 8.5.3 writes it.

    Raises:
        CheckFailed: it is another text.
    """
    if not cache.startswith(b"TRT-"):
        raise CheckFailed(f"the calibration cache can't be read: it begins with {cache[:40]!r}, not with TRT-")
    try:
        lines = cache.decode().splitlines()[1:]
        pairs = [line.rsplit(": ", 1) for line in lines if line.strip()]
        return {name: struct.unpack(">f", bytes.fromhex(bits.rjust(8, "0")))[0] for name, bits in pairs}
    except (ValueError, struct.error) as error:
        raise CheckFailed(f"the calibration cache can't be read: {error}") from None


def write(head: str, scales: Mapping[str, float]) -> bytes:
    """The text of such a cache.

    Args:
        head: the first line, as `TRT-8503-EntropyCalibration2`: TensorRT reads a cache of its own version and of the
            calibrator that it has.
        scales: tensor -> scale.
    """
    lines = [f"{name}: {struct.pack('>f', scale).hex()}" for name, scale in scales.items()]
    return "".join(f"{line}\n" for line in (head, *lines)).encode()
