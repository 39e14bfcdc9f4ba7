"""The protocol between a worker and its child: pickled messages with their length, and the size of the breadcrumb."""

from __future__ import annotations

import struct

HEADER = struct.Struct("<Q")
"""A message's length."""
BREADCRUMB_BYTES = 4096
"""As in native/breadcrumb.h."""
