"""Reports the progress of a job to Fairlead. Outside of Fairlead it does nothing.

    import fairlead_progress
    fairlead_progress.tell(step, total, "steps")
"""

import os
import time

_told_s = float("-inf")


def tell(done, total, unit="steps", every_s=1.0):
    """Appends a line to the file of FAIRLEAD_PROGRESS: at most one in every_s seconds, and always the last."""
    global _told_s
    path, now_s = os.environ.get("FAIRLEAD_PROGRESS"), time.monotonic()
    is_rank_0 = os.environ.get("RANK", "0") == "0"
    if not path or not is_rank_0 or (now_s < _told_s + every_s and done < total):
        return
    _told_s = now_s
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{done} {total} {unit}\n")
