"""Counts the optimizer steps of a job, and appends the count to a file that Fairlead's daemon reads.

A line is "1200 0 steps 4711": the steps, the steps of the whole job if they are known, the unit, and the process. The
file is `steps` beside the one of FAIRLEAD_PROGRESS, so that reports of the script itself stay apart and go first.

After some steps a line also has the job's profile, five numbers before the process: "1200 0 steps 97 97 8 4 32 4711". They
are the parameters that are trained, their gradients and the largest gradient in kB, the workers, and the samples of a
worker in a step (0: not known). Only shapes and types of tensors are read, once for each optimizer.

One process of a job reports: the one of rank 0, or the first one if there are no ranks. Of several optimizers the one
with most steps counts. Nothing here changes what a job computes, and an error only ends the counting.
"""

import atexit
import functools
import os
import sys
import threading
import time
import types

PAUSE_S = 1.0  # between two lines
RETRY_S = 60.0  # after a line that could not be written, for example to a full disk
# An optimizer without a step for so long, while others make steps, has been replaced by them.
REPLACED_S = 10.0
FILE_BYTES_MAX = 65536  # the file starts again then; the daemon reads its last line
PROFILE_STEPS = 3  # of an optimizer, after which its gradients exist
OPTIMIZERS_MAX = 1000  # that are told apart; a loop may make a new one in each round


class Counter:
    """The steps of each optimizer of this process."""

    def __init__(self, path):
        self._path = path
        self.samples = 0  # in a batch of the last DataLoader
        self._begin()

    def _begin(self):
        self._process = os.getpid()
        self._counts = {}  # by optimizer
        self._skipped = {}  # by optimizer: a tensor with the number of steps that a gradient scaler skipped
        self._profiles = {}  # by optimizer: the numbers in a line; empty: not known
        self._before = 0  # steps of optimizers that were replaced
        self._total = 0  # steps of the whole job; 0: not known
        self._reported = 0
        self._changed_s = 0.0
        self._next_s = 0.0

    def count(self, optimizer, steps=1, sizes=None, of=None):
        """Counts steps of an optimizer, named by any number. Costs less than a microsecond, except once a second.

        `sizes(of)` has the bytes of each tensor that it trains, and of the tensor's gradient.
        """
        self._counts[optimizer] = self._counts.get(optimizer, 0) + steps
        now_s = time.monotonic()
        if now_s >= self._next_s:
            if sizes is not None and optimizer not in self._profiles and self._counts[optimizer] >= PROFILE_STEPS:
                self.describe(optimizer, sizes, of)
            self.report(now_s)

    def describe(self, optimizer, sizes, of):
        """Makes the profile of an optimizer, or leaves it out if that fails."""
        self._profiles[optimizer] = b""
        try:
            parameters, gradients = zip(*sizes(of))
            if max(gradients) > 0:
                in_kb = [-(-int(size) // 1000) for size in (sum(parameters), sum(gradients), max(gradients))]
                self._profiles[optimizer] = b"%d %d %d %d %d " % (*in_kb, workers(), self.samples)
        except Exception:
            pass

    def skip(self, optimizer, is_skipped):
        """Adds a tensor that is 1 if the step is skipped. Its value is read later, because reading waits for the GPU."""
        if optimizer in self._skipped:
            self._skipped[optimizer] += is_skipped
        else:
            self._skipped[optimizer] = is_skipped.detach().clone()

    def expect(self, optimizer, more):
        """Notes that an optimizer makes so many more steps, and is the one of the whole job. 0: not known."""
        self._total = self._before + self._counts.get(optimizer, 0) + more if more else 0

    def report(self, now_s):
        """Appends a line if there is anything new. Gives up for a while, or for good, if that fails."""
        self._next_s = now_s + PAUSE_S
        try:
            if self._process != os.getpid():  # a fork: the counts are those of its parent
                counts = self._counts
                self._begin()
                self._counts = dict.fromkeys(counts, 0)
                self._next_s = now_s + PAUSE_S
                return
            steps = self._steps(now_s)
            profile = self._profiles.get(max(self._counts, key=self._counts.get, default=None), b"")
            if steps > self._reported and is_first_rank() and self._append(steps, profile):
                self._reported = steps
        except OSError:
            self._next_s = now_s + RETRY_S
        except Exception:
            self._next_s = float("inf")

    def _steps(self, now_s):
        """Returns the steps of the optimizer with most steps, after those of optimizers that it replaced."""
        most = max(self._counts, key=self._counts.get)
        steps = self._before + self._counts[most]
        if most in self._skipped:
            steps -= int(self._skipped[most].item())
        if steps > self._reported:
            self._changed_s = now_s
        elif now_s - self._changed_s > REPLACED_S:
            self._before, self._counts, self._skipped, self._profiles = self._reported, {}, {}, {}
            self._changed_s = now_s
        if len(self._counts) > OPTIMIZERS_MAX:
            self._counts = {most: self._counts[most]}
            self._profiles = {name: profile for name, profile in self._profiles.items() if name == most}
        return steps

    def _append(self, steps, profile):
        """Appends a line; false if another process of the job does. No file stays open: a job may close any."""
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(self._path, flags)
        try:
            size = os.fstat(file).st_size
            last = os.pread(file, 200, max(0, size - 200)).split()
            if last and int(last[-1]) != self._process and os.path.exists("/proc/%d" % int(last[-1])):
                return False
            if size > FILE_BYTES_MAX:
                os.ftruncate(file, 0)
            os.write(file, b"%d %d steps %b%d\n" % (steps, self._total, profile, self._process))
            return True
        finally:
            os.close(file)

    def end(self):
        """Reports the last steps of a process that ends."""
        if self._counts and self._process == os.getpid() and self._next_s != float("inf"):
            self.report(time.monotonic())


def is_first_rank():
    """Returns whether this process has rank 0, or no rank."""
    if os.environ.get("RANK", "0") != "0":
        return False
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() == 0
    jax = running_jax()
    return jax is None or jax.process_index() == 0


def running_jax():
    """Returns JAX if it has taken its devices, else None: it would take GPUs to answer."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return sys.modules.get("jax") if getattr(bridge, "_backends", None) else None


def workers():
    """Returns the number of processes of torch, or of devices of JAX, that add up their gradients."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    jax = running_jax()
    if jax is None or distributed is not None:
        return int(os.environ.get("WORLD_SIZE", "1"))
    return jax.device_count()


counter = Counter(os.path.join(os.path.dirname(os.environ["FAIRLEAD_PROGRESS"]), "steps"))
atexit.register(counter.end)


def count_torch(module):
    """Counts the steps of torch's optimizers, by its own hook if it has one (since 2.0)."""

    def after_step(optimizer, *_):
        try:
            found_inf = getattr(optimizer, "found_inf", None)  # of a scaler whose optimizer skips the step itself
            if found_inf is not None and not is_capturing():
                counter.skip(id(optimizer), found_inf)
        except Exception:
            pass
        counter.count(id(optimizer), 1, torch_sizes, optimizer)

    after_step._torchdynamo_disable = True  # torch.compile does not trace it, as with torch.compiler.disable
    if hasattr(module, "register_optimizer_step_post_hook"):
        module.register_optimizer_step_post_hook(after_step)
        return
    make = module.Optimizer.__init__

    @functools.wraps(make)
    def made(self, *args, **kwargs):
        make(self, *args, **kwargs)
        try:
            wrap_step(type(self), after_step)
        except Exception:
            pass

    module.Optimizer.__init__ = made


def torch_sizes(optimizer):
    """Returns the bytes of an optimizer's parameters and of their gradients."""
    sizes = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            gradient = parameter.grad
            sizes.append((
                parameter.numel() * parameter.element_size(),
                0 if gradient is None else gradient.numel() * gradient.element_size(),
            ))
    return sizes


def see_batches(module):
    """Notes the batch size of the DataLoader over which a loop has begun last."""
    begin = module.DataLoader.__iter__

    @functools.wraps(begin)
    def __iter__(self):
        try:
            size = self.batch_size or getattr(self.batch_sampler, "batch_size", 0)
            counter.samples = size if isinstance(size, int) else 0
        except Exception:
            pass
        return begin(self)

    module.DataLoader.__iter__ = __iter__


def is_capturing():
    """Returns whether CUDA records a graph, to which nothing may be added."""
    cuda = sys.modules["torch"].cuda
    return cuda.is_available() and cuda.is_current_stream_capturing()


def wrap_step(kind, after_step):
    """Makes the step of a class of optimizers call after_step(). A subclass that calls its base's step counts once."""
    step = kind.step
    if getattr(step, "counts_steps", False):
        return

    @functools.wraps(step)
    def counted(self, *args, **kwargs):
        is_inner = vars(self).get("_fairlead_in_step", False)
        if is_inner:
            return step(self, *args, **kwargs)
        self._fairlead_in_step = True
        try:
            result = step(self, *args, **kwargs)
        finally:
            del self._fairlead_in_step
        after_step(self)
        return result

    counted.counts_steps = True
    kind.step = counted


class Calls(threading.local):
    """The compiled functions that this thread is in."""

    def __init__(self):
        self.stack = []


calls = Calls()


class Compiled:
    """A function compiled by JAX, whose calls count once its trace contained an update of parameters."""

    def __init__(self, made):
        self._made = made
        self._updates = False
        functools.update_wrapper(self, made)

    def __call__(self, *args, **kwargs):
        stack = calls.stack
        stack.append(self)
        try:
            result = self._made(*args, **kwargs)
        finally:
            stack.pop()
        if self._updates and not stack:
            counter.count(id(self))
        return result

    def __get__(self, instance, kind=None):
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name):
        return getattr(self.__dict__["_made"], name)

    def __repr__(self):
        return repr(self._made)

    def __reduce__(self):
        return (same, (self._made,))


def same(made):
    """Returns its argument: a pickled Compiled is the compiled function."""
    return made


def count_jax(module):
    """Counts the calls of compiled functions that update parameters."""
    for name in ("jit", "pmap"):
        setattr(module, name, counted_compiler(getattr(module, name)))


def counted_compiler(compile_):
    """Returns jax.jit or jax.pmap with Compiled results, also if it returns a decorator."""

    @functools.wraps(compile_)
    def counted(*args, **kwargs):
        made = compile_(*args, **kwargs)
        if hasattr(made, "lower"):
            return Compiled(made)
        if callable(made):
            return lambda function: Compiled(made(function))
        return made

    return counted


def count_updates(module):
    """Marks the functions in which apply_updates() of Optax or Equinox is traced, and counts it outside of them."""
    apply = module.apply_updates

    @functools.wraps(apply)
    def apply_updates(*args, **kwargs):
        result = apply(*args, **kwargs)
        try:
            updates = [*args, *kwargs.values()][1]
            for call in calls.stack:
                call._updates = True
                counter.describe(id(call), jax_sizes, updates)
            if not calls.stack and not is_traced(result):
                counter.count(id(apply), 1, jax_sizes, updates)
        except Exception:
            pass
        return result

    module.apply_updates = apply_updates


def jax_sizes(updates):
    """Returns the bytes of each array of a tree twice: a parameter has the size of its update, also while it is traced."""
    leaves = sys.modules["jax"].tree_util.tree_leaves(updates)
    return [(leaf.size * leaf.dtype.itemsize,) * 2 for leaf in leaves if hasattr(leaf, "dtype")]


def is_traced(tree):
    """Returns whether JAX traces the arrays of a tree, in place of computing them."""
    jax = sys.modules["jax"]
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(tree))


def count_keras(module):
    """Counts the batches of Model.fit(). Keras knows the number of batches of the whole training."""
    kind = module.CallbackList
    begin, end = kind.on_train_begin, kind.on_train_batch_end
    batches = {}  # by model: the last batch in its epoch

    @functools.wraps(begin)
    def on_train_begin(self, *args, **kwargs):
        try:
            batches[id(self.model)] = -1
            counter.expect(id(self.model), (self.params.get("epochs") or 0) * (self.params.get("steps") or 0))
        except Exception:
            pass
        return begin(self, *args, **kwargs)

    @functools.wraps(end)
    def on_train_batch_end(self, batch, *args, **kwargs):
        result = end(self, batch, *args, **kwargs)
        try:
            last = batches.get(id(self.model), -1)
            batches[id(self.model)] = batch
            steps = batch - last if batch > last else batch + 1
            counter.count(id(self.model), steps, keras_sizes, self.model)
        except Exception:
            pass
        return result

    kind.on_train_begin, kind.on_train_batch_end = on_train_begin, on_train_batch_end


def keras_sizes(model):
    """Returns the bytes of each variable that a model trains twice, because its gradient has the same type."""
    sizes = []
    for variable in model.trainable_variables:
        bits = int("".join(filter(str.isdigit, str(variable.dtype))))
        size = bits // 8
        for length in variable.shape:
            size *= length
        sizes.append((size, size))
    return sizes
