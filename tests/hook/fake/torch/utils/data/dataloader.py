class DataLoader:
    def __init__(self, examples, batch_size=1):
        self.examples, self.batch_size, self.batch_sampler = examples, batch_size, None

    def __iter__(self):
        for first in range(0, len(self.examples), self.batch_size):
            yield self.examples[first : first + self.batch_size]
