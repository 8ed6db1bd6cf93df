"""Values where others are needed: what casts, calls, raises, assertions and indices are given."""

# The comment of a line stays on it.
# fmt: off
import math

import gpu
import numpy as np

pair = (1, 2.5)


# kernel(float32[:])
def wrong_value_1(x):
    x[0]=np.float32[0]  # error: NOT_INDEXABLE type float32 cannot be indexed


# kernel(float32[:])
def wrong_value_2(x):
    x[0]=max(*3)  # error: NOT_UNPACKABLE int cannot be unpacked


# kernel(float32[:])
def wrong_value_3(x):
    x[0]=max()  # error: ARGUMENT_COUNT max takes 1 or more arguments, 0 given


# kernel(float32[:])
def wrong_value_4(x):
    x[0]=len(*x)  # error: NOT_UNPACKABLE float32[:] cannot be unpacked


# kernel(float32[:])
def wrong_value_5(x):
    x[0]=pair.x  # error: UNKNOWN_ATTRIBUTE 'tuple' has no attribute 'x'


# kernel(float32[:])
def wrong_value_6(x):
    x[0]=pair()  # error: NOT_CALLABLE tuple(int, float) cannot be called


# kernel(float32[:])
def wrong_value_7(x):
    raise 3  # error: NOT_EXCEPTION int cannot be raised


# kernel(float32[:])
def wrong_value_8(x):
    raise ValueError(x)  # error: NOT_CARRIED float32[:] cannot be part of a message


# kernel(float32[:])
def wrong_value_9(x):
    assert x  # error: NO_TRUTH float32[:] has no truth value


# kernel(float32[:])
def wrong_value_10(x):
    assert x[0]>0, x  # error: NOT_CARRIED float32[:] cannot be part of a message


# kernel(float32[:])
def wrong_value_11(x):
    raise ValueError(f'{x}')  # error: NOT_CARRIED float32[:] cannot be part of a message


# kernel(float32[:])
def wrong_value_12(x):
    raise ValueError('{}'.format(1))  # error: NO_ATTRIBUTE str has no attribute 'format'


# kernel(float32[:])
def wrong_value_13(x):
    raise ValueError(pair+pair+pair+pair+pair+pair+pair+pair+pair)  # error: TOO_MANY_VALUES an exception with 18 numbers; at most 16 are possible


# kernel(float32[:])
def wrong_value_14(x):
    raise ValueError from ValueError  # error: NYI_CONSTRUCT raise ... from an exception cannot be used in a kernel


# kernel(float32[:])
def wrong_value_15(x):
    raise (ValueError, 1)  # error: NOT_EXCEPTION tuple(class ValueError, int) cannot be raised


# kernel(float32[:])
def wrong_value_16(x):
    x[0]=int('3')  # error: ARGUMENT_TYPE argument 1 of int cannot be str


# kernel(float32[:])
def wrong_value_17(x):
    x[0]=float('nan') if 1 else 0  # error: ARGUMENT_TYPE argument 1 of float cannot be str


# kernel(float32[:])
def wrong_value_18(x):
    x[0]=float('abc')  # error: ARGUMENT_TYPE argument 1 of float cannot be str


# kernel(float32[:])
def wrong_value_19(x):
    x[0]=bool(x)  # error: NO_TRUTH float32[:] has no truth value


# kernel(float32[:])
def wrong_value_20(x):
    x[0]=round(x)  # error: ARGUMENT_TYPE argument 1 of round cannot be float32[:]


# kernel(float32[:])
def wrong_value_21(x):
    x[0]=abs(pair)  # error: ARGUMENT_TYPE argument 1 of abs cannot be tuple(int, float)


# kernel(float32[:])
def wrong_value_22(x):
    x[0]=sum(x,x)  # error: ARGUMENT_TYPE argument 2 of sum cannot be float32[:]


# kernel(float32[:])
def wrong_value_23(x):
    x[0]=min(x,1)  # error: ARGUMENT_TYPE argument 1 of min cannot be float32[:]


# kernel(float32[:])
def wrong_value_24(x):
    x[0]=pow(2,x)  # error: ARGUMENT_TYPE argument 2 of pow cannot be float32[:]


# kernel(float32[:])
def wrong_value_25(x):
    x[0]=isinstance(1,'int')  # error: ARGUMENT_TYPE argument 2 of isinstance cannot be str


# kernel(float32[:])
def wrong_value_26(x):
    x[0]=range(3)  # error: CANNOT_STORE range cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_27(x):
    x[0]=slice(1)  # error: CANNOT_STORE slice cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_28(x):
    x[0]=pair[1.5]  # error: INDEX_TYPE an index must be an integer, not float


# kernel(float32[:])
def wrong_value_29(x):
    x[0]=pair[5]  # error: TUPLE_INDEX index 5 is outside a tuple of 2 elements


# kernel(float32[:])
def wrong_value_30(x):
    x[0]=pair['a']  # error: INDEX_TYPE an index must be an integer, not str


# kernel(float32[:])
def wrong_value_31(x):
    x[0]=...  # error: CANNOT_STORE ... cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_32(x):
    x[0]=b'ab'  # error: HOST_OBJECT an object of type 'bytes' lives on the host and cannot be used in a kernel


# kernel(float32[:])
def wrong_value_33(x):
    x[0]=1j  # error: NYI_TYPE values of type complex are not supported in a kernel


# kernel(float32[:])
def wrong_value_34(x):
    x[0]=10**30  # error: CONSTANT_TOO_LARGE the constant 1000000000000000000000000000000 does not fit 64 bits


# kernel(float32[:])
def wrong_value_35(x):
    x[0]=x[None]  # error: CANNOT_STORE float32[:, :] cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_36(x):
    x[0]=x[...,...]  # error: INDEX_RESTS an index has more than one '...'


# kernel(float32[:])
def wrong_value_37(x):
    x[0]=x[::0]  # error: SLICE_STEP the step of a slice cannot be 0


# kernel(float32[:])
def wrong_value_38(x):
    x[0]=not_there.attr  # error: UNKNOWN_NAME name 'not_there' is not defined


# kernel(float32[:])
def wrong_value_39(x):
    x[0]=math.foo(1)  # error: UNKNOWN_ATTRIBUTE 'math' has no attribute 'foo'


# kernel(float32[:])
def wrong_value_40(x):
    x[0]=math.sin  # error: CANNOT_STORE function math.sin cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_41(x):
    x[0]=math.sin(1,2)  # error: ARGUMENT_COUNT math.sin takes 1 argument, 2 given


# kernel(float32[:])
def wrong_value_42(x):
    x[0]=math.sin(x=1)  # error: ARGUMENT_NAME math.sin has no argument 'x'


# kernel(float32[:])
def wrong_value_43(x):
    x[0]=np.sum(x)  # error: NYI_CONSTRUCT 'numpy.sum' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_44(x):
    x[0]=np.arange(3)[0]  # error: NYI_CONSTRUCT 'numpy.arange' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_45(x):
    x.fill(0)  # error: NO_ATTRIBUTE float32[:] has no attribute 'fill'


# kernel(float32[:])
def wrong_value_46(x):
    x=x+1  # error: BAD_OPERANDS '+' is not defined for float32[:] and int


# kernel(float32[:])
def wrong_value_47(x):
    x[0]=x@x  # error: BAD_OPERANDS '@' is not defined for float32[:] and float32[:]


# kernel(float32[:])
def wrong_value_48(x):
    x[0],=1,2  # error: UNPACK_COUNT 1 values are needed to unpack, 2 are there


# kernel(float32[:])
def wrong_value_49(x):
    x[0]=gpu.threadIdx  # error: CANNOT_STORE module gpu.threadIdx cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_50(x):
    x[0]=gpu.grid()  # error: ARGUMENT_COUNT gpu.grid takes 1 argument, 0 given


# kernel(float32[:])
def wrong_value_51(x):
    x[0]=gpu.grid(4)  # error: ARGUMENT_TYPE argument 1 of gpu.grid cannot be 4


# kernel(float32[:])
def wrong_value_52(x):
    x[0]=gpu.syncgrid  # error: UNKNOWN_ATTRIBUTE 'gpu' has no attribute 'syncgrid'


# kernel(float32[:])
def wrong_value_53(x):
    x[0]=yieldd  # error: UNKNOWN_NAME name 'yieldd' is not defined


# kernel(float32[:])
def wrong_value_54(x):
    x[0]=hash(1)  # error: NYI_CONSTRUCT the builtin 'hash' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_55(x):
    x[0]=id(x)  # error: NYI_CONSTRUCT the builtin 'id' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_56(x):
    x[0]=sorted(pair)[0]  # error: NYI_CONSTRUCT the builtin 'sorted' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_57(x):
    x[0]=eval('1')  # error: NYI_CONSTRUCT the builtin 'eval' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_58(x):
    x[0]=str(1)  # error: CANNOT_STORE str cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_59(x):
    x[0]=next(iter(pair))  # error: NYI_CONSTRUCT the builtin 'next' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_60(x):
    x[0]=any(pair)  # error: NYI_CONSTRUCT the builtin 'any' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_61(x):
    x[0]=super().x  # error: NYI_CONSTRUCT the builtin 'super' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_62(x):
    x[0]=vars()  # error: NYI_CONSTRUCT the builtin 'vars' cannot be used in a kernel


# kernel(float32[:])
def wrong_value_63(x):
    x[0]=__name__  # error: CANNOT_STORE str cannot be stored in an array of float32


# kernel(float32[:])
def wrong_value_64(x):
    x[0]='a'<1  # error: BAD_OPERANDS '<' is not defined for str and int


# kernel(float32[:])
def wrong_value_65(x):
    x[0]=3 in 5  # error: BAD_OPERANDS 'in' is not defined for int and int


# kernel(float32[:])
def wrong_value_66(x):
    x[0]=3 in x  # error: BAD_OPERANDS 'in' is not defined for int and float32[:]


# kernel(float32[:])
def wrong_value_67(x):
    x[0]=pair<1  # error: BAD_OPERANDS '<' is not defined for tuple(int, float) and int


# kernel(float32[:])
def wrong_value_68(x):
    x[0]=(1,2)*x[0]  # error: BAD_OPERANDS '*' is not defined for tuple(int, int) and float32
