"""Progress, and checkpoints when a job must move, for PyTorch Lightning.

    trainer = Trainer(callbacks=[FairleadCallback("checkpoints/fairlead.ckpt")], ...)
    trainer.fit(model, ckpt_path=FairleadCallback.resume_from("checkpoints/fairlead.ckpt"))
"""

import os
import signal
import sys

import fairlead_progress
from lightning.pytorch.callbacks import Callback


class FairleadCallback(Callback):
    def __init__(self, checkpoint):
        self.checkpoint = checkpoint
        self.is_interrupted = False

    @staticmethod
    def resume_from(checkpoint):
        """Returns the ckpt_path of Trainer.fit(): None when the job starts for the first time."""
        return checkpoint if os.path.exists(checkpoint) else None

    def on_train_start(self, trainer, pl_module):  # after Lightning has set a handler of its own
        signal.signal(signal.SIGTERM, self._interrupt)

    def _interrupt(self, number, frame):
        self.is_interrupted = True  # a step is never interrupted

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        # -1 and infinity: limited by epochs, or unlimited
        total = trainer.estimated_stepping_batches
        if 0 < total < float("inf"):
            fairlead_progress.tell(trainer.global_step, int(total))
        if trainer.strategy.reduce_boolean_decision(self.is_interrupted, all=False):
            part = f"{self.checkpoint}.part"
            trainer.save_checkpoint(part)  # by all ranks together
            if trainer.is_global_zero:
                os.replace(part, self.checkpoint)
            trainer.strategy.barrier()
            sys.exit(128 + signal.SIGTERM)  # not 0, which would mean that the job is done
