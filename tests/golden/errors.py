# A function that does not compile: exit status 1, the whole message on stderr, nothing on stdout.
# RUN: not %gpujit ptx %s:kernel "float32[:], int" 2>&1 | FileCheck %s --strict-whitespace
# RUN: not %gpujit ptx %s:missing "int" 2>&1 | FileCheck %s --check-prefix=MISSING
# RUN: not %gpujit ptx %s:kernel "flaot32[:], int" 2>&1 | FileCheck %s --check-prefix=SIGNATURE
import gpu


@gpu.jit
def kernel(x, n):
    x[n, n] = 1.0


# CHECK: a 1-dimensional array is indexed with 2 indices
# CHECK-NEXT:  File "{{.*}}errors.py", line 10, in kernel
# CHECK-NEXT:        x[n, n] = 1.0
# CHECK-NEXT:        ^~~~~~~
# MISSING: missing
# SIGNATURE: flaot32
