"""A checkpoint in one line for a plain PyTorch loop. The file works alone, without the rest of the package.

    start = fairlead.checkpoint(model, optimizer, "last.pt")
    for step in range(start, total):
        ...                                  # forward, backward, optimizer.step()
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from typing import Any, Callable, Union

POLL_S = 0.1  # between two looks for the checkpoint of rank 0


def checkpoint(model: Any, optimizer: Any, path: Union[str, os.PathLike[str]], **others: Any) -> int:
    """Continues a PyTorch loop from the file `path`, and saves the loop there when the process is asked to end.

    Returns the number of optimizer steps that were done before: 0 if there is no such file. Loads model, optimizer, the
    random numbers of PyTorch, and all `others`: named objects with state_dict() and load_state_dict(), such as a
    scheduler or a scaler.

    After SIGTERM the present step ends, with its scheduler. The state is saved when the model is called for the next one,
    with the random numbers from before that step's batch. The process ends with status 143. Of several ranks, rank 0
    saves; the others end once its file is there. Call it once, in the main thread, after the model is on its device.
    """
    parts = {"model": model, "optimizer": optimizer, **others}
    loop = _Loop(parts, os.fspath(path))
    loop.load()
    loop.watch(model, optimizer)
    return loop.steps


class _Loop:
    def __init__(self, parts: dict[str, Any], path: str) -> None:
        self._parts = parts
        self._path = path
        self._is_asked_to_end = False
        self._random: dict[str, Any] | None = None  # random numbers after the last step of this process
        self.steps = 0  # of the optimizer, all starts of the job together

    def load(self) -> None:
        import torch

        if not os.path.exists(self._path):
            return
        state = torch.load(self._path, map_location="cpu")
        for name, part in self._parts.items():
            part.load_state_dict(state["parts"][name])
        self.steps = state["steps"]
        torch.set_rng_state(state["random"]["cpu"])
        if torch.cuda.is_available() and len(state["random"]["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["random"]["cuda"])

    def watch(self, model: Any, optimizer: Any) -> None:
        def before_forward(module: Any, _: Any) -> None:
            if self._random is not None and module.training and _rank() == 0:
                self._save()
                sys.exit(128 + signal.SIGTERM)  # not 0, which would mean that the job is done

        def after_step(*_: Any) -> None:
            self.steps += 1
            if self._is_asked_to_end:
                self._random = _random_numbers()

        for hook in (before_forward, after_step):
            setattr(hook, "_torchdynamo_disable", True)  # torch.compile does not trace it
        model.register_forward_pre_hook(before_forward)
        if hasattr(optimizer, "register_step_post_hook"):  # since PyTorch 2.0
            optimizer.register_step_post_hook(after_step)
        else:
            _call_after(optimizer, after_step)
        signal.signal(signal.SIGTERM, self._end_soon)

    def _end_soon(self, *_: Any) -> None:
        if not self._is_asked_to_end and _rank() != 0:
            threading.Thread(target=self._end_after_rank_0, args=(_changed_ns(self._path),), daemon=True).start()
        self._is_asked_to_end = True

    def _save(self) -> None:
        import torch

        state = {"parts": {name: part.state_dict() for name, part in self._parts.items()},
                 "steps": self.steps,
                 "random": self._random}
        with open(self._path + ".part", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self._path + ".part", self._path)

    def _end_after_rank_0(self, before_ns: int) -> None:
        while _changed_ns(self._path) == before_ns:
            time.sleep(POLL_S)
        os._exit(128 + signal.SIGTERM)  # the main thread may wait for rank 0 in a collective operation


def _random_numbers() -> dict[str, Any]:
    import torch

    return {"cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []}


def _call_after(optimizer: Any, after_step: Callable[[], None]) -> None:
    step = optimizer.step

    @functools.wraps(step)  # PyTorch's schedulers mark the method
    def step_and_count(*args: Any, **kwargs: Any) -> Any:
        result = step(*args, **kwargs)
        after_step()
        return result

    optimizer.step = step_and_count


def _rank() -> int:
    return int(os.environ.get("RANK", "0"))


def _changed_ns(path: str) -> int:
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0
