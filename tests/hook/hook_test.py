#!/usr/bin/env python3
"""Tests of the hook for jobs in Python (python/hook), in processes of their own, with stand-ins for the frameworks."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HOOK = HERE.parent.parent / "python" / "hook"


class HookTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.steps = self.folder / "steps"
        self.steps.touch()

    def run_script(self, script, path=(HERE / "fake",), **variables):
        """Runs a script as a job is run, and returns its output."""
        names = ("RANK", "FAIRLEAD_PROGRESS", "PYTHONPATH", "FAKE_TORCH")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment |= {"FAIRLEAD_PROGRESS": str(self.folder / "progress"), "PYTHONDONTWRITEBYTECODE": "1",
                        "PYTHONPATH": os.pathsep.join(str(part) for part in (HOOK, *path))} | variables
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def lines(self):
        """Returns the lines without the profile and the number of the process."""
        return [" ".join(line.split()[:3]) for line in self.steps.read_text().splitlines()]

    def profiles(self):
        """Returns the profile of each line."""
        return [" ".join(line.split()[3:-1]) for line in self.steps.read_text().splitlines()]

    def last(self):
        return self.lines()[-1] if self.lines() else None


class SitecustomizeTest(HookTest):
    def test_a_hidden_sitecustomize_runs_as_if_it_were_the_only_one(self):
        (self.folder / "sitecustomize.py").write_text("import sys; print('theirs', __file__); sys.theirs = 1\n")
        output = self.run_script("""
            import sys, sitecustomize
            print(sys.theirs, sitecustomize.__file__.split('/')[-2], len(sys.path), sys.path[0])
            """, path=(self.folder,))
        self.assertEqual(output.splitlines()[0], f"theirs {self.folder}/sitecustomize.py")
        self.assertTrue(output.splitlines()[1].startswith(f"1 {self.folder.name} "), output)
        plain = self.run_script("import sys; print(len(sys.path))", path=(self.folder,))
        self.assertEqual(output.split()[4], plain.split()[2])

    def test_its_folder_leaves_the_path_and_nothing_more_is_imported(self):
        script = "import sys; print(sorted(sys.modules), sys.path)"
        ours = self.run_script(script, path=(self.folder,))
        theirs = self.run_script(script, PYTHONPATH=str(self.folder))
        self.assertEqual(ours.replace("'sitecustomize', ", ""), theirs.replace("'sitecustomize', ", ""))
        self.assertNotIn("fairlead_steps", ours)

    def test_errors_of_the_hidden_one_are_reported_as_ever(self):
        (self.folder / "sitecustomize.py").write_text("raise RuntimeError('theirs')\n")
        with self.assertRaisesRegex(AssertionError, "(?s)Error in sitecustomize.*RuntimeError: theirs"):
            self.run_script("print(1)", path=(self.folder,))
        (self.folder / "sitecustomize.py").write_text("import no_such_module\n")
        with self.assertRaisesRegex(AssertionError, "no_such_module"):
            self.run_script("print(1)", path=(self.folder,))

    def test_outside_of_fairlead_it_does_nothing(self):
        output = self.run_script("""
            import sys, torch
            torch.optim.SGD([]).step()
            print("fairlead_steps" in sys.modules)
            """, FAIRLEAD_PROGRESS="")
        self.assertEqual(output, "False\n")


class TorchTest(HookTest):
    def each(self):
        for version in ("1", "2"):
            with self.subTest(torch=version):
                self.steps.write_text("")
                yield version

    def test_steps_of_an_unmodified_script_are_counted(self):
        for version in self.each():
            output = self.run_script("""
                import torch
                optimizer = torch.optim.SGD([])
                for micro in range(100):
                    if micro % 4 == 3:
                        assert optimizer.step() == "loss"
                print(optimizer.made_steps, type(optimizer).step.__doc__)
                """, FAKE_TORCH=version)
            self.assertEqual(output, "25 Makes a step.\n")
            self.assertEqual(self.lines(), ["1 0 steps", "25 0 steps"])

    def test_of_several_optimizers_the_one_with_most_steps_counts(self):
        for version in self.each():
            self.run_script("""
                import torch
                critic, generator = torch.optim.SGD([]), torch.optim.SGD([])
                for step in range(30):
                    critic.step()
                    if step % 3 == 0:
                        generator.step()
                """, FAKE_TORCH=version)
            self.assertEqual(self.last(), "30 0 steps")

    def test_a_step_that_calls_its_base_counts_once(self):
        self.run_script("""
            import torch
            base = torch.optim.SGD([])
            base.step()
            optimizer = torch.optim.Adam([])
            for step in range(30):
                optimizer.step()
            """, FAKE_TORCH="1")
        self.assertEqual(self.last(), "30 0 steps")

    def test_an_optimizer_that_replaces_another_goes_on_counting(self):
        self.run_script("""
            import torch, time
            now_s = [100.0]
            time.monotonic = lambda: now_s[0]
            first, second = torch.optim.SGD([]), torch.optim.SGD([])
            for optimizer in [first] * 50 + [second] * 50:
                optimizer.step()
                now_s[0] += 2
            """)
        # The second one makes six steps before the first one counts as replaced.
        self.assertEqual(self.last(), "94 0 steps")

    def test_lines_are_a_second_apart_except_the_last(self):
        self.run_script("""
            import torch, time
            now_s = [100.0]
            time.monotonic = lambda: now_s[0]
            optimizer = torch.optim.SGD([])
            for step in range(9):
                optimizer.step()
                now_s[0] += 0.4
            """)
        self.assertEqual(self.lines(), ["1 0 steps", "4 0 steps", "7 0 steps", "9 0 steps"])

    def test_steps_that_a_scaler_skipped_inside_do_not_count(self):
        self.run_script("""
            import torch
            class Tensor:
                def __init__(self, value): self.value = value
                def detach(self): return self
                def clone(self): return Tensor(self.value)
                def __iadd__(self, other): self.value += other.value; return self
                def item(self): return self.value
            optimizer = torch.optim.SGD([])
            for step in range(40):
                optimizer.found_inf = Tensor(1.0 if step % 4 == 0 else 0.0)
                optimizer.step()
            """)
        self.assertEqual(self.last(), "30 0 steps")

    def test_rank_0_alone_reports(self):
        script = "import torch; torch.optim.SGD([]).step()"
        self.run_script(script, RANK="1")
        self.assertEqual(self.lines(), [])
        self.run_script(script, RANK="0")
        self.assertEqual(self.lines(), ["1 0 steps"])

    def test_a_rank_that_only_torch_knows_counts(self):
        script = """
            import sys, types, torch
            sys.modules["torch.distributed"] = types.SimpleNamespace(
                is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: {})
            torch.optim.SGD([]).step()
            """
        self.run_script(script.format(1))
        self.assertEqual(self.lines(), [])
        self.run_script(script.format(0))
        self.assertEqual(self.lines(), ["1 0 steps"])

    def test_jax_that_runs_nothing_is_not_asked_for_its_rank(self):
        self.run_script("""
            import jax, torch
            optimizer = torch.optim.SGD([])
            for _ in range(5):
                optimizer.step()
            """)
        self.assertEqual(self.last(), "5 0 steps")

    def test_of_processes_without_ranks_one_reports(self):
        self.run_script("""
            import subprocess, sys, torch
            optimizer = torch.optim.SGD([])
            for step in range(3):
                optimizer.step()
            child = "import torch; [torch.optim.SGD([]).step() for i in range(1000)]"
            subprocess.run([sys.executable, "-c", child], check=True)
            """)
        self.assertEqual(self.lines(), ["1 0 steps", "3 0 steps"])

    def test_a_process_after_another_takes_over(self):
        for _ in range(2):
            self.run_script("import torch; o = torch.optim.SGD([]); o.step(); o.step()")
        self.assertEqual(self.lines(), ["1 0 steps", "2 0 steps"] * 2)

    def test_a_fork_counts_its_own_steps(self):
        self.run_script("""
            import os, torch
            parent = torch.optim.SGD([])
            for step in range(7):
                parent.step()
            if (child := os.fork()) == 0:
                child_optimizer = torch.optim.SGD([])
                child_optimizer.step()
                os._exit(0)
            os.waitpid(child, 0)
            """)
        self.assertEqual(self.lines(), ["1 0 steps", "7 0 steps"])

    def test_without_its_file_the_job_goes_on(self):
        self.steps.unlink()
        self.run_script("import torch; o = torch.optim.SGD([]); o.step(); o.step(); print(o.made_steps)")
        self.assertFalse(self.steps.exists())
        self.steps.mkdir()
        self.run_script("import torch; o = torch.optim.SGD([]); o.step(); o.step(); print(o.made_steps)")

    def test_a_link_is_not_followed(self):
        self.steps.unlink()
        (self.folder / "elsewhere").touch()
        self.steps.symlink_to(self.folder / "elsewhere")
        self.run_script("import torch; torch.optim.SGD([]).step()")
        self.assertEqual((self.folder / "elsewhere").read_text(), "")

    def test_the_file_stays_small(self):
        self.steps.write_text("5 0 steps 4194305\n" * 10_000)
        self.run_script("import torch; torch.optim.SGD([]).step()")
        self.assertEqual(self.lines(), ["1 0 steps"])

    def test_another_torch_is_left_alone(self):
        (self.folder / "torch/optim").mkdir(parents=True)
        (self.folder / "torch/__init__.py").touch()
        (self.folder / "torch/optim/__init__.py").touch()
        (self.folder / "torch/optim/optimizer.py").write_text("name = 'mine'\n")
        self.assertEqual(self.run_script("import torch.optim.optimizer as o; print(o.name)", path=(self.folder,)), "mine\n")


class ProfileTest(HookTest):
    SLOW = """
        import time, torch
        now_s = [100.0]
        time.monotonic = lambda: now_s[0]
        def train(optimizer, steps):
            for step in range(steps):
                optimizer.step()
                now_s[0] += 0.6
        """

    def run_slow(self, script, **variables):
        """Runs a script whose train() makes steps of 0.6 s."""
        self.run_script(textwrap.dedent(self.SLOW) + textwrap.dedent(script), **variables)

    def test_lines_have_it_after_some_steps(self):
        for version in ("1", "2"):
            with self.subTest(torch=version):
                self.steps.write_text("")
                self.run_slow("""
                    sizes = [2_048_000, 30_000, 100]
                    frozen = torch.nn.Parameter(500_000, has_gradient=False)
                    optimizer = torch.optim.SGD([torch.nn.Parameter(size) for size in sizes] + [frozen])
                    for batch in torch.utils.data.DataLoader(range(64), batch_size=16):
                        train(optimizer, 2)
                    """, FAKE_TORCH=version)
                self.assertEqual(self.lines(), ["1 0 steps", "3 0 steps", "5 0 steps", "7 0 steps", "8 0 steps"])
                self.assertEqual(self.profiles(), [""] + ["10313 8313 8192 1 16"] * 4)

    def test_it_is_made_once(self):
        self.run_slow("""
            looks = []
            class Looked(torch.nn.Parameter):
                def numel(self):
                    looks.append(1)
                    return self.numbers
            train(torch.optim.SGD([Looked(1000)]), 100)
            assert len(looks) == 1, looks
            """)
        self.assertEqual(self.profiles()[-1], "4 4 4 1 0")

    def test_it_is_that_of_the_optimizer_that_counts(self):
        self.run_slow("""
            critic, generator = (torch.optim.SGD([torch.nn.Parameter(size)]) for size in (1000, 2000))
            for round in range(20):
                train(critic, 3)
                train(generator, 1)
            """)
        self.assertEqual(self.profiles()[-1], "4 4 4 1 0")

    def test_it_has_the_workers_of_the_job(self):
        train = "train(torch.optim.SGD([torch.nn.Parameter(1000)]), 9)"
        self.run_slow(train, RANK="0", WORLD_SIZE="4")
        self.assertEqual(self.profiles()[-1], "4 4 4 4 0")
        self.run_slow("""
            import sys, types
            sys.modules["torch.distributed"] = types.SimpleNamespace(
                is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 0, get_world_size=lambda: 16)
            """ + train)
        self.assertEqual(self.profiles()[-1], "4 4 4 16 0")

    def test_without_gradients_or_with_errors_steps_are_counted_alone(self):
        for parameter in ("torch.nn.Parameter(1000, has_gradient=False)", "object()"):
            self.steps.write_text("")
            self.run_slow(f"train(torch.optim.SGD([{parameter}]), 9)")
            self.assertEqual((self.last(), set(self.profiles())), ("9 0 steps", {""}))

    def test_batches_of_no_fixed_size_are_not_known(self):
        self.run_slow("""
            loader = torch.utils.data.DataLoader(range(64), batch_size=16)
            next(iter(loader))
            loader.batch_size = None
            next(iter(torch.utils.data.DataLoader(range(4), batch_size=4)))
            try:
                next(iter(loader))
            except TypeError:
                pass
            train(torch.optim.SGD([torch.nn.Parameter(1000)]), 9)
            """)
        self.assertEqual(self.profiles()[-1], "4 4 4 1 0")

    def test_of_a_compiled_step_it_is_known_from_the_trace(self):
        self.run_script("""
            import jax, optax
            step = jax.jit(lambda params, grads: optax.apply_updates(params, grads))
            step([1.0] * 500, [0.5] * 500)
            """)
        self.assertEqual(self.profiles(), ["2 2 1 8 0"])

    def test_keras_variables_have_it(self):
        self.run_script("""
            import keras, types
            shapes = {"float32": (100, 50), "bfloat16": (300,)}
            variables = [types.SimpleNamespace(shape=shape, dtype=dtype) for dtype, shape in shapes.items()]
            callbacks = keras.CallbackList(types.SimpleNamespace(trainable_variables=variables), epochs=1, steps=40)
            callbacks.on_train_begin()
            callbacks.on_train_batch_end(9)
            """)
        self.assertEqual(self.profiles(), ["21 21 20 1 0"])


class JaxTest(HookTest):
    def test_calls_of_a_compiled_step_are_counted(self):
        output = self.run_script("""
            import jax, optax
            def update(params, grads):
                return optax.apply_updates(params, grads)
            step, other = jax.jit(update), jax.jit(lambda x: x)
            params = [1.0]
            for i in range(30):
                params = step(params, [0.5])
                other(params)
                other(params)
            print(params, step.lower(), step.__name__)
            """)
        self.assertEqual(output, "[1.5] lowered update\n")
        self.assertEqual(self.last(), "30 0 steps")

    def test_the_outermost_compiled_function_counts(self):
        self.run_script("""
            import jax, optax
            inner = jax.jit(lambda p, g: optax.apply_updates(p, g))
            outer = jax.pmap(lambda p, g: inner(p, g))
            for i in range(20):
                outer([1.0], [0.5])
            """)
        self.assertEqual(self.last(), "20 0 steps")

    def test_steps_that_are_not_compiled_are_counted(self):
        self.run_script("""
            import jax, optax
            params = [1.0]
            for i in range(20):
                params = optax.apply_updates(params, [0.5])
            assert params == [11.0]
            """)
        self.assertEqual(self.last(), "20 0 steps")

    def test_decorators_with_arguments_and_methods_work(self):
        self.run_script("""
            import functools, jax, optax
            class Model:
                @jax.jit
                def forward(x): return x
                @jax.jit(static_argnums=0)
                def step(params, grads): return optax.apply_updates(params, grads)
            for i in range(20):
                Model.step([1.0], [0.5])
            """)
        self.assertEqual(self.last(), "20 0 steps")


class KerasTest(HookTest):
    def test_batches_are_counted_and_their_total_is_known(self):
        self.run_script("""
            import keras
            model = object()
            for fit in range(2):
                callbacks = keras.CallbackList(model, epochs=3, steps=40)
                callbacks.on_train_begin()
                for epoch in range(3):
                    for batch in range(40):
                        callbacks.on_train_batch_end(batch, {})
            """)
        self.assertEqual(self.lines(), ["1 120 steps", "240 240 steps"])

    def test_several_batches_of_a_call_count(self):
        self.run_script("""
            import keras
            callbacks = keras.CallbackList(object(), epochs=2, steps=None)
            callbacks.on_train_begin()
            for epoch in range(2):
                for batch in (9, 19, 29):
                    callbacks.on_train_batch_end(batch)
            """)
        self.assertEqual(self.last(), "60 0 steps")


if __name__ == "__main__":
    unittest.main()
