"""Progress, and checkpoints when a job must move, for the Trainer of Hugging Face transformers.

    trainer = Trainer(callbacks=[FairleadCallback()], ...)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(args.output_dir))  # transformers.trainer_utils
"""

import signal
import sys

import fairlead_progress
from transformers import TrainerCallback


class FairleadCallback(TrainerCallback):
    def __init__(self):
        self.is_interrupted = False

    def on_train_begin(self, args, state, control, **_):
        signal.signal(signal.SIGTERM, self._interrupt)

    def _interrupt(self, number, frame):
        self.is_interrupted = True  # a step is never interrupted

    def _hear_of_all_ranks(self, args):
        """Ranks get the signal in different steps, and save in the same step."""
        if args.world_size > 1:
            import torch

            heard = torch.tensor(float(self.is_interrupted), device=args.device)
            torch.distributed.all_reduce(heard, op=torch.distributed.ReduceOp.MAX)
            self.is_interrupted = heard.item() > 0

    def on_step_end(self, args, state, control, **_):
        fairlead_progress.tell(state.global_step, state.max_steps)
        self._hear_of_all_ranks(args)
        if self.is_interrupted:
            control.should_save = True
        return control

    def on_save(self, args, state, control, **_):
        if self.is_interrupted:
            sys.exit(128 + signal.SIGTERM)  # not 0, which would mean that the job is done
