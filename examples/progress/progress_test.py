#!/usr/bin/env python3
"""Tests of the progress helper and of the callbacks around it, with stand-ins for the frameworks."""

import importlib
import os
import pathlib
import signal
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True


def stand_in(name, **contents):
    module = types.ModuleType(name)
    vars(module).update(contents)
    return {name: module}


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "progress"
        self.set_environment(FAIRLEAD_PROGRESS=str(self.file))
        sys.modules.pop("fairlead_progress", None)
        self.helper = importlib.import_module("fairlead_progress")
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def set_environment(self, **variables):
        rest = {name: value for name, value in os.environ.items() if name not in ("FAIRLEAD_PROGRESS", "RANK")}
        patch = mock.patch.dict(os.environ, rest | variables, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def lines(self):
        return self.file.read_text().splitlines() if self.file.exists() else []

    def callback(self, name, **modules):
        with mock.patch.dict(sys.modules, modules):
            sys.modules.pop(name, None)
            return importlib.import_module(name).FairleadCallback

    def test_a_line_says_how_far_it_is(self):
        self.helper.tell(3, 9, "epochs")
        self.assertEqual(self.lines(), ["3 9 epochs"])

    def test_lines_are_a_second_apart_but_for_the_last(self):
        with mock.patch("time.monotonic", side_effect=[50.0, 50.9, 51.0, 51.1]):
            for step in (1, 2, 3, 4):
                self.helper.tell(step, 4)
        self.assertEqual(self.lines(), ["1 4 steps", "3 4 steps", "4 4 steps"])

    def test_only_rank_0_speaks(self):
        self.set_environment(FAIRLEAD_PROGRESS=str(self.file), RANK="1")
        self.helper.tell(1, 1)
        self.assertEqual(self.lines(), [])

    def test_outside_of_fairlead_it_does_nothing(self):
        self.set_environment()
        self.helper.tell(1, 1)
        self.assertEqual(self.lines(), [])

    def test_hugging_face_saves_at_sigterm_and_leaves_once_it_is_saved(self):
        callback = self.callback("hf_callback", **stand_in("transformers", TrainerCallback=object))()
        args = types.SimpleNamespace(world_size=1)
        state, control = types.SimpleNamespace(global_step=5, max_steps=10), types.SimpleNamespace(should_save=False)
        callback.on_train_begin(args, state, control)
        callback.on_step_end(args, state, control)
        callback.on_save(args, state, control)
        self.assertFalse(control.should_save)
        signal.raise_signal(signal.SIGTERM)
        callback.on_step_end(args, state, control)
        self.assertTrue(control.should_save)
        with self.assertRaises(SystemExit) as left:
            callback.on_save(args, state, control)
        self.assertEqual(left.exception.code, 143)
        self.assertEqual(self.lines(), ["5 10 steps"])

    def test_lightning_saves_at_sigterm_after_the_step(self):
        modules = stand_in("lightning") | stand_in("lightning.pytorch")
        modules |= stand_in("lightning.pytorch.callbacks", Callback=object)
        checkpoint = self.folder / "a.ckpt"
        kind = self.callback("lightning_callback", **modules)
        callback = kind(str(checkpoint))
        self.assertIsNone(kind.resume_from(str(checkpoint)))
        trainer = mock.Mock(estimated_stepping_batches=10, global_step=5, is_global_zero=True)
        trainer.strategy.reduce_boolean_decision = lambda decision, all: decision
        trainer.save_checkpoint = lambda path: pathlib.Path(path).write_text("weights")
        callback.on_train_start(trainer, None)
        callback.on_train_batch_end(trainer, None, None, None, 0)
        self.assertFalse(checkpoint.exists())
        signal.raise_signal(signal.SIGTERM)
        with self.assertRaises(SystemExit) as left:
            callback.on_train_batch_end(trainer, None, None, None, 1)
        self.assertEqual(left.exception.code, 143)
        self.assertEqual(checkpoint.read_text(), "weights")
        self.assertEqual(kind.resume_from(str(checkpoint)), str(checkpoint))
        self.assertEqual(self.lines(), ["5 10 steps"])


if __name__ == "__main__":
    unittest.main()
