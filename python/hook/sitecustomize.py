"""Runs at the start of each Python in a job of Fairlead, and watches for modules that train.

The daemon puts this folder first on the job's PYTHONPATH. The folder leaves sys.path here, and the sitecustomize that
this file hides runs as if this file did not exist. fairlead_steps.py is loaded only after a watched module was imported.
An error in here is silent and leaves the job alone. `submit --no-hook` starts a job without it.

The file is valid for any Python, because a job may start an old one. Before Python 3.6 nothing is watched.
"""

import os
import sys

# The modules after whose import fairlead_steps.py counts, each with the name of its function.
WATCHED = {
    "torch.optim.optimizer": "count_torch",
    "torch.utils.data.dataloader": "see_batches",
    "jax": "count_jax",
    "optax._src.update": "count_updates",
    "equinox._update": "count_updates",
    "keras.src.callbacks.callback_list": "count_keras",
}


class Watcher(object):
    """A finder of modules that finds none itself. It lets the other finders find a watched one, and extends its loading."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name not in WATCHED:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                self.extend(spec)
                return spec
        return None

    def extend(self, spec):
        """Makes the loader of a module call its function of fairlead_steps once the module has run."""
        try:
            loader, run = spec.loader, spec.loader.exec_module
            folder, function = self.folder, WATCHED[spec.name]

            def exec_module(module):
                vars(loader).pop("exec_module", None)
                run(module)
                try:
                    getattr(steps(folder), function)(module)
                except Exception:
                    pass

            loader.exec_module = exec_module
        except Exception:
            pass


def steps(folder):
    """Returns the module fairlead_steps of `folder`, which is on no path."""
    name = "fairlead_steps"
    if name not in sys.modules:
        from importlib import util

        spec = util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
        module = util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def watch(folder):
    """Leaves sys.path, and watches if this job has a file of progress."""
    while folder in sys.path:
        sys.path.remove(folder)
    if sys.version_info >= (3, 6) and os.environ.get("FAIRLEAD_PROGRESS"):
        sys.meta_path.insert(0, Watcher(folder))


def run_hidden():
    """Runs the next sitecustomize on sys.path, if there is one. Its errors are those that Python would report."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # the hidden one, which replaces this module
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = ours


try:
    watch(os.path.dirname(os.path.abspath(__file__)))
except Exception:
    pass
if os.path.dirname(os.path.abspath(__file__)) not in sys.path:
    run_hidden()
