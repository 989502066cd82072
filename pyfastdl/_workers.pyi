from typing import Any, final

import torch

def dlpack_code(dtype: torch.dtype) -> tuple[int, int] | None: ...

@final
class Schema:
    capacity: int
    block_bytes: int
    leaves: tuple[tuple[int, torch.dtype, tuple[int, ...]], ...]
    object_count: int
    @staticmethod
    def learn(sample: Any, collated: Any, capacity: int) -> Schema | None: ...
    def write(self, sample: Any, block: int, place: int, objects: list[list[Any]]) -> bool: ...
    def build(self, tensors: list[torch.Tensor], objects: list[list[Any]]) -> Any: ...
    def restore(self, tensors: list[torch.Tensor], objects: list[list[Any]], place: int) -> Any: ...
