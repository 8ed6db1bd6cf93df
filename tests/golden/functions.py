# Device functions, plain or jitted, with several results and keywords, are inlined; integers are
# Python's: a sum of int8 elements is computed in 64 bits.
# RUN: %gpujit ir %s:kernel "int8[::1], int64[::1]" --stage typed | FileCheck %s --check-prefix=TYPED
# RUN: %gpujit ir %s:kernel "int8[::1], int64[::1]" --stage opt | FileCheck %s --check-prefix=OPT
import gpu


def both(a, b):
    return a + b, a * b


@gpu.jit
def pick(flag, *, yes, no):
    if flag:
        return yes
    return no


@gpu.jit
def kernel(x, out):
    total, product = both(x[0], x[1])
    out[0] = pick(total > product, no=product, yes=total)


# TYPED: kernel(x: int8[::1], out: int64[::1]) -> None
# TYPED: both(a: int, b: int) -> tuple(int, int)
# TYPED: pick(flag: bool, yes: int, no: int) -> int

# OPT: module core
# OPT-NOT: callf
# OPT: [[A:%[0-9]+]] = sext i64
# OPT: [[B:%[0-9]+]] = sext i64
# OPT: add i64 [[A]], [[B]]
# OPT: mul i64 [[A]], [[B]]
# OPT: icmp i1 sgt
# OPT-NOT: func @1
