"""The public functions, a module each. `pluginkit` names them, and the command line calls the same modules.

No function prints or ends the process. An error is an exception of `pluginkit.errors`; a plugin that is wrong is none:
the report says so. `progress` is called in the calling thread, with what is being done, how much of it is done, and of
how much (None: not known).
"""

from __future__ import annotations
