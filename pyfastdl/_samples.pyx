# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""The walk over a user's list of files and targets: once per sample, so it is compiled.

Nothing of the list is kept: paths go into one byte arena, targets into one array. Memory beyond the result does not
grow with the list. Tensors are recognised by what they can do; torch is not imported.

Threads: a walk's state is its own. A list that changes meanwhile is an error, as far as that shows.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t
from libc.string cimport memchr, memcpy

import os

import numpy as np

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(object)
    bint PyLong_CheckExact(object)
    bint PyFloat_CheckExact(object)
    bint PyBool_Check(object)
    bint PyUnicode_IS_COMPACT_ASCII(object)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    object PyUnicode_EncodeFSDefault(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    double PyFloat_AS_DOUBLE(object)


@cython.final
cdef class _Arena:
    """Paths, one behind the other. Grows by half, and ends as a bytearray of just the size."""

    cdef char* data
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef Py_ssize_t count
    cdef int64_t[::1] offsets
    cdef object offsets_array
    cdef str name

    def __cinit__(self, Py_ssize_t expected, str name):
        self.data = NULL
        self.size = self.capacity = self.count = 0
        self.name = name
        self.offsets_array = np.empty(expected + 1, np.int64)
        self.offsets = self.offsets_array
        self.offsets[0] = 0

    def __dealloc__(self):
        PyMem_Free(self.data)

    cdef int add(self, object path) except -1:
        cdef const char* text
        cdef Py_ssize_t length = 0
        cdef object encoded
        if PyUnicode_CheckExact(path) and PyUnicode_IS_COMPACT_ASCII(path):
            # The string's own bytes: nothing is made, nothing stays behind in the string.
            text = PyUnicode_AsUTF8AndSize(path, &length)
        else:
            encoded = self.encode(path)
            text = PyBytes_AS_STRING(encoded)
            length = PyBytes_GET_SIZE(encoded)
        if memchr(text, 0, length) != NULL:
            raise ValueError(f"{self.name}[{self.count}]: embedded null byte in {path!r}")
        if self.size + length > self.capacity:
            self.reserve(self.size + length)
        memcpy(self.data + self.size, text, length)
        self.size += length
        self.count += 1
        self.offsets[self.count] = self.size
        return 0

    cdef object encode(self, object path):
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(
                f"{self.name}[{self.count}] is {_described(path)}; wanted a path (str, bytes or os.PathLike)")
        path = os.fspath(path)
        if isinstance(path, bytes):
            return bytes(path)
        try:
            return PyUnicode_EncodeFSDefault(path)
        except UnicodeEncodeError as error:
            raise ValueError(f"{self.name}[{self.count}] can't be the name of a file: {error}") from None

    cdef int reserve(self, Py_ssize_t needed) except -1:
        cdef Py_ssize_t capacity = max(needed, self.capacity + self.capacity // 2, 4096)
        cdef char* data = <char*>PyMem_Realloc(self.data, capacity)
        if data == NULL:
            raise MemoryError()
        self.data = data
        self.capacity = capacity
        return 0

    cdef tuple finish(self):
        arena = bytearray()
        PyByteArray_Resize(arena, self.size)
        if self.size > 0:
            memcpy(PyByteArray_AS_STRING(arena), self.data, self.size)
        return arena, self.offsets_array


cdef str _described(object value):
    """'a list ([1, 2…)': its type, and the start of its repr."""
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception:
        text = "…"
    if len(text) > 60:
        text = text[:60] + "…"
    return f"of type {type(value).__name__} ({text})"


cdef object _as_array(object value):
    """Arrays, and tensors by duck typing, as numpy arrays; None for anything else."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        value = value.detach()
        if hasattr(value, "cpu"):
            value = value.cpu()
        return value.numpy()
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return np.asarray(value)
    return None


def _is_float(value):
    return isinstance(value, float)


def _has_dtype(value):
    return isinstance(value, np.generic) or _as_array(value) is not None


cdef object _kind_of(object dtype):
    """0 bool, 1 integer, 2 float; None for what can't be a target."""
    return {"b": 0, "i": 1, "u": 1, "f": 2}.get(dtype.kind)


cdef object _promoted(object a, object b):
    """torch's rule: a float wins over an integer whatever their sizes; within a kind, the larger."""
    if a == b:
        return a
    cdef int kind_a = _kind_of(a)
    cdef int kind_b = _kind_of(b)
    if kind_a != kind_b:
        return a if kind_a > kind_b else b
    return np.promote_types(a, b)


@cython.final
cdef class _Targets:
    """One array from one target per file. Starts with the first target's kind and shape, and widens when it must."""

    cdef Py_ssize_t expected
    cdef Py_ssize_t count
    cdef str name
    cdef object array
    # At most one of them is set: the array's memory, if plain ints or plain floats go there as they are.
    cdef int64_t* ints
    cdef float* floats

    def __cinit__(self, Py_ssize_t expected, str name):
        self.expected = expected
        self.count = 0
        self.name = name
        self.array = None
        self.ints = NULL
        self.floats = NULL

    cdef int add(self, object target) except -1:
        cdef int overflow = 0
        cdef long long number
        if PyLong_CheckExact(target):
            if self.ints != NULL:
                number = PyLong_AsLongLongAndOverflow(target, &overflow)
                if overflow == 0:
                    self.ints[self.count] = number
                    self.count += 1
                    return 0
        elif PyFloat_CheckExact(target) and self.floats != NULL:
            self.floats[self.count] = <float>PyFloat_AS_DOUBLE(target)
            self.count += 1
            return 0
        self.add_any(target)
        self.count += 1
        return 0

    cdef object where(self):
        return f"{self.name}[{self.count}]"

    cdef object read(self, object target):
        """The target as an array of 0 or 1 dimensions, in the type that torch.as_tensor would give it."""
        wanted = "wanted a number, or a vector of numbers"
        if isinstance(target, np.generic):
            array = np.asarray(target)
        elif isinstance(target, bool):
            return np.asarray(target, np.bool_)
        elif isinstance(target, int):
            try:
                return np.asarray(target, np.int64)
            except OverflowError:
                raise ValueError(f"{self.where()} is {target}, which no 64-bit integer holds") from None
        elif isinstance(target, float):
            doubles = self.array is not None and self.array.dtype == np.float64
            return np.asarray(target, np.float64 if doubles else np.float32)
        elif isinstance(target, (str, bytes)):
            raise TypeError(f"{self.where()} is {_described(target)}; {wanted}")
        else:
            try:
                array = _as_array(target)
            except (TypeError, ValueError, RuntimeError) as error:
                raise TypeError(f"{self.where()} is {_described(target)}, which numpy can't hold: {error}") from error
            if array is None:
                if not isinstance(target, (list, tuple)):
                    raise TypeError(f"{self.where()} is {_described(target)}; {wanted}")
                array = self.read_sequence(target)
        if _kind_of(array.dtype) is None:
            raise TypeError(f"{self.where()} is {_described(target)} of dtype {array.dtype}; {wanted}")
        if array.ndim > 1 or array.size == 0:
            raise ValueError(f"{self.where()} has the shape {array.shape}; {wanted}")
        return array

    cdef object read_sequence(self, object target):
        try:
            array = np.asarray(target)
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise ValueError(f"{self.where()} is {_described(target)}, not a vector of numbers: {error}") from None
        if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "uf" or any(map(_has_dtype, target)):
            return array
        if not any(map(_is_float, target)):
            # numpy's way out for integers above 2**63 - 1.
            raise ValueError(f"{self.where()} is {_described(target)}, which 64-bit integers don't hold")
        return array.astype(np.float32)

    cdef int add_any(self, object target) except -1:
        row = self.read(target)
        if self.array is None:
            self.use(np.empty((self.expected, *row.shape), row.dtype))
        elif row.shape != self.array.shape[1:]:
            raise ValueError(f"{self.where()} has the shape {row.shape}, {self.name}[0] has {self.array.shape[1:]}: "
                             "every file needs a target of the same kind and length")
        dtype = _promoted(self.array.dtype, row.dtype)
        if dtype != self.array.dtype:
            widened = np.empty(self.array.shape, dtype)
            widened[:self.count] = self.array[:self.count]
            self.use(widened)
        self.array[self.count] = row
        return 0

    cdef int use(self, object array) except -1:
        self.array = array
        self.ints = NULL
        self.floats = NULL
        cdef int64_t[::1] ints
        cdef float[::1] floats
        if array.ndim == 1 and array.dtype == np.int64:
            ints = array
            self.ints = &ints[0]
        elif array.ndim == 1 and array.dtype == np.float32:
            floats = array
            self.floats = &floats[0]
        return 0


cdef Py_ssize_t _length(object sequence, str name) except -1:
    try:
        return len(sequence)
    except TypeError:
        raise TypeError(f"{name} is {_described(sequence)}; wanted a list") from None


cdef int _check_length(Py_ssize_t got, Py_ssize_t expected, str name) except -1:
    if got != expected:
        raise RuntimeError(f"{name} changed its length from {expected} to {got} while it was read")
    return 0


def pack_paths(paths, str name="paths"):
    """Paths (str, bytes, os.PathLike) to (arena, offsets): path i is arena[offsets[i]:offsets[i + 1]]."""
    cdef Py_ssize_t expected = _length(paths, name)
    cdef _Arena arena = _Arena(expected, name)
    for path in paths:
        _check_length(max(expected, arena.count + 1), expected, name)
        arena.add(path)
    _check_length(arena.count, expected, name)
    return arena.finish()


def pack_targets(targets, str name="targets"):
    """One target per file to one array, (N,) or (N, D).

    Types as torch.as_tensor: ints to int64, floats to float32, bools stay bools; what has a dtype keeps it, and a mix
    gets torch's common type. (A float that comes before the first wider one is still rounded to 32 bits.)
    """
    array = _as_array(targets)
    if array is not None and array.dtype != np.object_:
        if _kind_of(array.dtype) is None:
            raise TypeError(f"{name} has the dtype {array.dtype}; wanted numbers")
        if array.ndim not in (1, 2) or 0 in array.shape[1:]:
            raise ValueError(f"{name} has the shape {array.shape}; wanted (N,) or (N, D)")
        return np.array(array, order="C")
    cdef Py_ssize_t expected = _length(targets, name)
    cdef _Targets packed = _Targets(expected, name)
    for target in targets:
        _check_length(max(expected, packed.count + 1), expected, name)
        packed.add(target)
    _check_length(packed.count, expected, name)
    return packed.array if packed.array is not None else np.empty(0, np.int64)


def pack_samples(samples, str name="samples"):
    """(path, target) pairs to (arena, offsets, targets): pack_paths and pack_targets in one walk."""
    cdef Py_ssize_t expected = _length(samples, name)
    cdef _Arena arena = _Arena(expected, name)
    cdef _Targets targets = _Targets(expected, name)
    for pair in samples:
        _check_length(max(expected, arena.count + 1), expected, name)
        if not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2:
            raise TypeError(f"{name}[{arena.count}] is {_described(pair)}; wanted a pair (path, target)")
        path, target = pair
        arena.add(path)
        targets.add(target)
    _check_length(arena.count, expected, name)
    return (*arena.finish(), targets.array if targets.array is not None else np.empty(0, np.int64))
