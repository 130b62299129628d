def apply_updates(params, updates):
    return [a + b for a, b in zip(params, updates)]
