"""What a worker and its child agree on: messages are pickles, each behind its length; a breadcrumb of so many bytes."""

from __future__ import annotations

import struct

HEADER = struct.Struct("<Q")
"""A message's length."""
BREADCRUMB_BYTES = 4096
"""As in native/breadcrumb.h."""
