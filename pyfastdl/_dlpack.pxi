# Included by _workers.pyx: tensors' memory and shape by DLPack, without a reference and without torch's C++.

# -- DLPack's exchange interface, as its specification fixes it (dlpack.h, version 1.2)

cdef struct DLTensor:
    void* data
    int32_t device_type
    int32_t device_id
    int32_t ndim
    uint8_t code
    uint8_t bits
    uint16_t lanes
    int64_t* shape
    int64_t* strides
    uint64_t byte_offset

ctypedef int (*_Borrow)(void*, DLTensor*) noexcept

cdef struct ExchangeApi:
    uint32_t major
    uint32_t minor
    void* previous
    void* allocate
    void* managed_from_object
    void* managed_to_object
    _Borrow borrow
    void* stream

cdef _Borrow _borrow = NULL  # a tensor's memory and shape, without a reference; NULL where torch has no such call


cdef void _find_exchange_api():
    global _borrow
    cdef ExchangeApi* api
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return
    api = <ExchangeApi*>PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
    if api.major == 1:
        _borrow = api.borrow


_find_exchange_api()

cdef object _Tensor = torch.Tensor
cdef object _Array = np.ndarray
cdef object _strided = torch.strided

# dtype -> DLPack's code and bits
_CODES = {
    torch.bool: (6, 8), torch.uint8: (1, 8), torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32),
    torch.int64: (0, 64), torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float32: (2, 32),
    torch.float64: (2, 64),
}
for _name, _code in (("uint16", (1, 16)), ("uint32", (1, 32)), ("uint64", (1, 64))):
    if hasattr(torch, _name):
        _CODES[getattr(torch, _name)] = _code


def dlpack_code(dtype):
    """DLPack's (code, bits) of a torch dtype; None for those that batches in blocks don't have (complex, quantised)."""
    return _CODES.get(dtype)


cdef bint _contiguous(DLTensor* t) noexcept:
    cdef int64_t step = 1
    cdef int i
    if t.strides == NULL:
        return True
    for i in range(t.ndim - 1, -1, -1):
        if t.shape[i] == 0:
            return True
        if t.shape[i] != 1 and t.strides[i] != step:
            return False
        step *= t.shape[i]
    return True
