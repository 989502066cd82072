"""The workers of the drop-in ``pyfastdl.DataLoader``: threads, or processes, that run a user's dataset."""
