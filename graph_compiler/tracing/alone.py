"""One thread at a time records, in the whole process and whatever the framework: it replaces functions and moves generators that all share."""

from __future__ import annotations

import os
import threading

alone = threading.RLock()  # one for all frameworks: with one for each, two that record each other's functions would wait for ever

if hasattr(os, "register_at_fork"):  # a child that began in the middle would have what another thread replaced, and nobody to put it back
    os.register_at_fork(before=alone.acquire, after_in_parent=alone.release, after_in_child=alone.release)
