from optax._src.update import apply_updates  # noqa: F401
