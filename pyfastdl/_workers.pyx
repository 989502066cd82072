# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""The walk over one sample of a Python dataset: once per sample, so it is compiled.

A :class:`Schema` is what samples look like (nested tuples, lists, dicts and namedtuples of tensors, arrays, numbers
and strings), learnt from the first one. ``write`` checks a sample against it and copies its arrays into a batch's
memory, without the GIL where that pays; what doesn't match is left to ``default_collate``.
Threads may share a schema, which doesn't change. Whoever else has a sample's lists and dicts may change those.
"""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.exc cimport PyErr_Clear
from cpython.list cimport PyList_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

import numpy as np
import torch

cdef extern from "Python.h":
    double PyFloat_AS_DOUBLE(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

# More arrays a sample than this, or more dimensions, and it is left to default_collate.
DEF MAX_LEAVES = 64
DEF MAX_DIMS = 12
# Below so many bytes a copy takes less time than giving the GIL away and getting it back.
DEF NOGIL_BYTES = 131072
DEF ALIGNMENT = 64

include "_dlpack.pxi"


cdef enum Kind:
    K_TUPLE, K_LIST, K_DICT, K_TENSOR, K_ARRAY, K_SCALAR, K_INT, K_FLOAT, K_BOOL, K_OBJECT

cdef struct Copy:
    char* to
    const char* source
    Py_ssize_t size

# What one write() has in its hands.
cdef struct Walk:
    Copy copies[MAX_LEAVES]
    Py_buffer buffers[MAX_LEAVES]
    int copy_count
    int buffer_count
    Py_ssize_t total


@cython.final
cdef class _Node:
    cdef Kind kind
    cdef object type  # of the samples' value here: exactly this
    # containers
    cdef tuple children
    cdef tuple keys
    # arrays and numbers
    cdef int leaf  # place among the leaves; for objects, among the objects
    cdef Py_ssize_t size  # bytes a sample
    cdef Py_ssize_t offset  # of the batch's array in its block
    cdef int ndim
    cdef int64_t shape[MAX_DIMS]
    cdef uint8_t code
    cdef uint8_t bits
    cdef object dtype  # torch's, of tensors and batches
    cdef object array_dtype  # numpy's, of arrays and numpy's scalars
    cdef object collected  # objects: the batch has a tuple or a list of them

    cdef bint same_shape(self, int ndim, int64_t* shape) noexcept:
        cdef int i
        if ndim != self.ndim:
            return False
        for i in range(ndim):
            if shape[i] != self.shape[i]:
                return False
        return True


class _Unfit(Exception):
    """A sample that no schema is made of."""


@cython.final
cdef class Schema:
    """What the samples look like, and where a batch's arrays lie in a block.

    Attributes:
        capacity: samples that a block has room for.
        block_bytes: bytes of such a block.
        leaves: (offset in bytes, dtype, shape of one sample) of each array of a batch.
        object_count: how many strings a sample has.
    """

    cdef _Node root
    cdef readonly Py_ssize_t capacity
    cdef readonly Py_ssize_t block_bytes
    cdef readonly tuple leaves
    cdef readonly int object_count
    cdef list _leaf_nodes

    @staticmethod
    def learn(sample, collated, Py_ssize_t capacity):
        """The schema of a sample whose batch of one is ``collated``; None where default_collate has to do it."""
        cdef Schema schema = Schema.__new__(Schema)
        schema._leaf_nodes = []
        schema.object_count = 0
        try:
            schema.root = schema.node(sample, collated, list)
        except _Unfit:
            return None
        if not schema._leaf_nodes:
            return None
        schema.capacity = capacity
        schema.block_bytes = 0
        cdef _Node leaf
        for leaf in schema._leaf_nodes:
            leaf.offset = schema.block_bytes
            schema.block_bytes += (leaf.size * capacity + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        schema.block_bytes = max(schema.block_bytes, ALIGNMENT)
        schema.leaves = tuple([
            (leaf.offset, leaf.dtype, tuple([leaf.shape[i] for i in range(leaf.ndim)])) for leaf in schema._leaf_nodes
        ])
        return schema

    cdef _Node node(self, sample, collated, strings):
        cdef _Node node = _Node.__new__(_Node)
        node.type = type(sample)
        if isinstance(sample, tuple) and (node.type is tuple or hasattr(sample, "_fields")):
            node.kind = K_TUPLE
            if len(collated) != len(sample):
                raise _Unfit
            node.children = tuple([self.node(s, c, tuple) for s, c in zip(sample, collated)])
        elif node.type is list:
            node.kind = K_LIST
            if type(collated) is not list or len(collated) != len(sample):
                raise _Unfit
            node.children = tuple([self.node(s, c, tuple) for s, c in zip(sample, collated)])
        elif node.type is dict:
            node.kind = K_DICT
            node.keys = tuple(sample)
            node.children = tuple([self.node(sample[key], collated[key], list) for key in node.keys])
        elif node.type is str or node.type is bytes:
            node.kind = K_OBJECT
            node.collected = type(collated)
            if node.collected is not strings:
                raise _Unfit
            node.leaf = self.object_count
            self.object_count += 1
        else:
            self.make_leaf(node, sample, collated)
        return node

    cdef int make_leaf(self, _Node node, sample, collated) except -1:
        if type(collated) is not _Tensor or collated.dtype not in _CODES or collated.device.type != "cpu":
            raise _Unfit
        if len(self._leaf_nodes) == MAX_LEAVES or collated.dim() - 1 > MAX_DIMS:
            raise _Unfit
        shape = tuple(collated.shape[1:])
        node.dtype = collated.dtype
        node.code, node.bits = _CODES[node.dtype]
        if node.type is _Tensor:
            node.kind = K_TENSOR
            if sample.requires_grad or sample.dtype is not node.dtype or tuple(sample.shape) != shape:
                raise _Unfit
        elif node.type is _Array or (isinstance(sample, np.generic) and shape == ()):
            node.kind = K_ARRAY if node.type is _Array else K_SCALAR
            node.array_dtype = sample.dtype
            if sample.shape != shape or torch.as_tensor(np.zeros(1, sample.dtype)).dtype is not node.dtype:
                raise _Unfit
        elif node.type is int and node.dtype is torch.int64 and shape == ():
            node.kind = K_INT
        elif node.type is float and node.dtype is torch.float64 and shape == ():
            node.kind = K_FLOAT
        elif node.type is bool and node.dtype is torch.bool and shape == ():
            node.kind = K_BOOL
        else:
            raise _Unfit
        node.ndim = len(shape)
        node.size = node.bits // 8
        for i, side in enumerate(shape):
            node.shape[i] = side
            node.size *= side
        node.leaf = len(self._leaf_nodes)
        self._leaf_nodes.append(node)
        return 0

    def write(self, sample, uintptr_t block, Py_ssize_t place, list objects):
        """Writes a sample to its place in the block, and its strings to ``objects[i][place]``.

        False where the sample isn't as the schema says: then its place holds anything.
        """
        cdef Walk walk
        cdef int i
        cdef bint fits
        cdef list kept = None
        if place < 0 or place >= self.capacity:
            return False
        walk.copy_count = 0
        walk.buffer_count = 0
        walk.total = 0
        kept = []
        try:
            fits = self.walk(self.root, sample, <char*>block, place, &walk, objects, kept)
            if fits:
                if walk.total >= NOGIL_BYTES:
                    with nogil:
                        for i in range(walk.copy_count):
                            memcpy(walk.copies[i].to, walk.copies[i].source, walk.copies[i].size)
                else:
                    for i in range(walk.copy_count):
                        memcpy(walk.copies[i].to, walk.copies[i].source, walk.copies[i].size)
        finally:
            for i in range(walk.buffer_count):
                PyBuffer_Release(&walk.buffers[i])
        return fits

    cdef bint walk(self, _Node node, object value, char* block, Py_ssize_t place, Walk* walk, list objects,
                   list kept) except -1:
        cdef Py_ssize_t i, position
        cdef PyObject *key, *item
        cdef char* to
        cdef int overflow = 0
        if type(value) is not node.type:
            return False
        if node.kind == K_TUPLE:
            if PyTuple_GET_SIZE(value) != PyTuple_GET_SIZE(node.children):
                return False
            for i in range(PyTuple_GET_SIZE(node.children)):
                if not self.walk(<_Node>PyTuple_GET_ITEM(node.children, i), <object>PyTuple_GET_ITEM(value, i), block,
                                 place, walk, objects, kept):
                    return False
            return True
        to = block + node.offset + node.size * place
        if node.kind == K_TENSOR:
            return self.add_tensor(node, value, to, walk, kept)
        if node.kind == K_INT:
            (<int64_t*>to)[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
            return overflow == 0
        if node.kind == K_FLOAT:
            (<double*>to)[0] = PyFloat_AS_DOUBLE(value)
            return True
        if node.kind == K_BOOL:
            to[0] = value is True
            return True
        if node.kind == K_OBJECT:
            (<list>objects[node.leaf])[place] = value
            return True
        if node.kind == K_ARRAY or node.kind == K_SCALAR:
            return self.add_array(node, value, to, walk, kept)
        if node.kind == K_LIST:
            if PyList_GET_SIZE(value) != PyTuple_GET_SIZE(node.children):
                return False
            for i in range(PyTuple_GET_SIZE(node.children)):
                # Whoever still has the list may change it meanwhile.
                if i >= PyList_GET_SIZE(value) or not self.walk(<_Node>PyTuple_GET_ITEM(node.children, i),
                                                                (<list>value)[i], block, place, walk, objects, kept):
                    return False
            return True
        # K_DICT. In the schema's order, since the batch's first sample decides on the order of the batch's keys.
        if PyDict_Size(value) != PyTuple_GET_SIZE(node.keys):
            return False
        i = 0
        position = 0
        with cython.critical_section(value):
            while PyDict_Next(value, &position, &key, &item):
                if i >= PyTuple_GET_SIZE(node.keys):
                    return False
                wanted = <object>PyTuple_GET_ITEM(node.keys, i)
                if <object>key is not wanted and <object>key != wanted:
                    return False
                if not self.walk(<_Node>PyTuple_GET_ITEM(node.children, i), <object>item, block, place, walk,
                                 objects, kept):
                    return False
                i += 1
        return True

    cdef bint add_tensor(self, _Node node, object tensor, char* to, Walk* walk, list kept) except -1:
        cdef DLTensor t
        cdef Copy* copy
        if tensor.requires_grad:
            return False
        if _borrow != NULL:
            if _borrow(<PyObject*>tensor, &t) != 0:
                PyErr_Clear()
                return False
            if t.device_type != 1 or t.code != node.code or t.bits != node.bits or t.lanes != 1:
                return False
            if not node.same_shape(t.ndim, t.shape):
                return False
            if not _contiguous(&t) or (node.size * 8 == node.bits and tensor.is_neg()):
                return self.add_tensor(node, self.plain(tensor, kept), to, walk, kept)
            source = <const char*>t.data + t.byte_offset
        else:
            if tensor.dtype is not node.dtype or tensor.layout is not _strided or tensor.device.type != "cpu":
                return False
            if tensor.is_nested or tensor.dim() != node.ndim:
                return False
            for i in range(node.ndim):
                if tensor.size(i) != node.shape[i]:
                    return False
            if not tensor.is_contiguous() or tensor.is_neg():
                return self.add_tensor(node, self.plain(tensor, kept), to, walk, kept)
            source = <const char*><uintptr_t>tensor.data_ptr()
        if node.size > 0:
            copy = &walk.copies[walk.copy_count]
            copy.to = to
            copy.source = source
            copy.size = node.size
            walk.copy_count += 1
            walk.total += node.size
        return True

    cdef object plain(self, object tensor, list kept):
        """A contiguous copy without lazy negation, which lives as long as this write."""
        copy = torch.empty(tensor.shape, dtype=tensor.dtype)
        copy.copy_(tensor.detach())
        kept.append(copy)
        return copy

    cdef bint add_array(self, _Node node, object array, char* to, Walk* walk, list kept) except -1:
        cdef Py_buffer* view
        cdef Copy* copy
        cdef int i
        cdef bint contiguous = True
        cdef Py_ssize_t step = node.bits // 8
        dtype = array.dtype
        if dtype is not node.array_dtype and dtype != node.array_dtype:
            return False
        view = &walk.buffers[walk.buffer_count]
        PyObject_GetBuffer(array, view, PyBUF_STRIDES | PyBUF_FORMAT)
        walk.buffer_count += 1
        if view.ndim != node.ndim:
            return False
        for i in range(view.ndim - 1, -1, -1):
            if view.shape[i] != node.shape[i]:
                return False
            if view.strides[i] < 0:
                return False  # torch refuses it, in its own words
            if view.shape[i] != 1 and view.strides[i] != step:
                contiguous = False
            step *= view.shape[i]
        if node.size == 0:
            return True
        if not contiguous:
            packed = np.ascontiguousarray(array)
            kept.append(packed)
            PyBuffer_Release(view)
            walk.buffer_count -= 1
            return self.add_array(node, packed.reshape(array.shape), to, walk, kept)
        copy = &walk.copies[walk.copy_count]
        copy.to = to
        copy.source = <const char*>view.buf
        copy.size = node.size
        walk.copy_count += 1
        walk.total += node.size
        return True

    def build(self, list tensors, list objects):
        """The batch, as default_collate would have it, of one tensor a leaf and one list of strings an object."""
        return self.build_node(self.root, tensors, objects)

    cdef object build_node(self, _Node node, list tensors, list objects):
        cdef list parts
        if node.kind == K_OBJECT:
            return objects[node.leaf] if node.collected is list else tuple(objects[node.leaf])
        if node.children is None:
            return tensors[node.leaf]
        parts = [self.build_node(child, tensors, objects) for child in node.children]
        if node.kind == K_DICT:
            return dict(zip(node.keys, parts))
        if node.kind == K_TUPLE and node.type is not tuple:
            return node.type(*parts)
        return parts

    def restore(self, list tensors, list objects, Py_ssize_t place):
        """The sample that was written to a place, for a batch that default_collate has to see after all."""
        return self.restore_node(self.root, tensors, objects, place)

    cdef object restore_node(self, _Node node, list tensors, list objects, Py_ssize_t place):
        cdef list parts
        if node.kind == K_OBJECT:
            return objects[node.leaf][place]
        if node.children is None:
            tensor = tensors[node.leaf][place]
            if node.kind == K_TENSOR:
                return tensor.clone()
            if node.kind == K_ARRAY:
                return tensor.clone().numpy()
            return node.type(tensor.item()) if node.kind != K_SCALAR else tensor.numpy()[()]
        parts = [self.restore_node(child, tensors, objects, place) for child in node.children]
        if node.kind == K_DICT:
            return dict(zip(node.keys, parts))
        if node.kind == K_LIST:
            return parts
        return tuple(parts) if node.type is tuple else node.type(*parts)
