# SPDX-License-Identifier: BSD-3-Clause
"""declare.py DECLARATIONS.h MODULE.py: C declarations as a module that cffi loads without parsing."""

import sys
import warnings

import cffi

ffi = cffi.FFI()
ffi.set_source("sapstep._declarations", None)
with open(sys.argv[1]) as declarations, warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of cffi, on declarations that hold a string
    ffi.cdef(declarations.read())
ffi.emit_python_code(sys.argv[2])
