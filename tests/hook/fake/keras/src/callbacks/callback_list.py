class CallbackList:
    def __init__(self, model, **params):
        self.model, self.params = model, params

    def on_train_begin(self, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass
