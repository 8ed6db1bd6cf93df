"""What random expressions are made of.

Templates hold words in <>: <e> is an expression again, most words name a row of WORDS, the rest are
methods of expressions.Expressions.
"""

TEMPLATES = (
    *3 * ("(<e> <binary> <e>)",),
    "(<e> <binary> <literal>)",
    "(<literal> <binary> <e>)",
    "(<unary><e>)",
    "<cast>(<e>)",
    "<choose>(<e>, <e>)",
    "(<e> if <condition> else <e>)",
    "(<moving> <logic> <e>)",
    "(<e> <compare> <e> <compare> <e>)",
    "<round>(<e>)",
    "<test>(<e>)",
    "(<e> ** <exponent>)",
    *2 * ("(<e> * <e> <sum> <e>)",),
    "(<e> <sum> <e> * <e>)",
    "(<e> * <e> <sum> <e> * <e>)",
    "(<e> <shift> <count>)",
    "(<intcast>(<e>) ** <intcast>(<e>))",
    "divmod(<e>, <e>)[<bit>]",
    "<one>(<e>)",
    "<two>(<e>, <e>)",
    "<bits>(<e>, <e>)",
    "np.where(<condition>, <e>, <e>)",
    "np.clip(<e>, <e>, <e>)",
    "(<e> <within> <tuple>)",
    "(<tuple> <compare> <tuple>)",
    "<fold>(<tuple>)",
    "<fold>(<vector>)",
    "sum(<tuple>, <e>)",
    "<intcast>(<e>).<method>()",
    "np.copysign(<e>, <intcast>(<e>))",  # the sign of NaN is not defined
    "np.signbit(<intcast>(<e>))",
    "<tuple>[<bit>]",
    "<call>",
    "<lambda>",
)
WORDS = {
    "binary": (*"+-*/%&|^+-*", "//", "<<", ">>", "<", "<=", ">", ">=", "==", "!="),
    "compare": ("<", "<=", ">", ">=", "==", "!="),
    "literal": ("0", "1", "2", "3", "5", "7", "0.5", "1.5", "2.0", "0.1", "True", "-1", "-3.0"),
    "unary": ("-", "+", "~", "not "),
    "choose": ("min", "max"),
    "logic": ("and", "or"),
    "round": ("abs", "round", "math.floor", "math.ceil", "math.trunc", "math.sqrt", "math.fabs"),
    "test": ("math.isnan", "math.isinf", "math.isfinite", "np.isnan", "np.isfinite"),
    "exponent": (*"012345678", "-1", "-2", "2.0"),
    "sum": ("+", "-"),
    "shift": ("<<", ">>"),
    "count": ("(n[0] * 20)", "(n[0] * 16)", "(n[1] - 3)", "(i * 13)", "63", "64", "8", "31"),
    "intcast": ("int", "gpu.uint8", "np.int32", "gpu.uint64", "np.uint16", "gpu.int64", "bool"),
    "bit": ("0", "1", "-1"),
    "within": ("in", "not in"),
    "fold": ("sum", "min", "max"),
    "method": ("bit_length", "bit_count"),
    "one": ("np.floor", "np.ceil", "np.trunc", "np.rint", "np.sign", "np.square", "np.absolute",
            "np.negative", "np.positive", "np.invert", "np.sqrt", "np.logical_not",
            "operator.neg", "operator.pos", "operator.invert", "operator.abs",
            "operator.truth"),
    "two": ("np.minimum", "np.maximum", "np.fmin", "np.fmax", "np.add",
            "np.subtract", "np.multiply", "np.divide", "np.floor_divide", "np.remainder",
            "np.less", "np.greater_equal", "np.equal", "np.logical_and", "np.logical_xor",
            "operator.add", "operator.sub", "operator.mul", "operator.truediv",
            "operator.floordiv", "operator.mod", "operator.lt", "operator.ne"),
    "bits": ("np.bitwise_and", "np.bitwise_or", "np.bitwise_xor", "np.left_shift",
             "np.right_shift", "operator.and_", "operator.or_", "operator.xor",
             "operator.lshift", "operator.rshift"),
}  # fmt: skip
AUGMENT = ("+", "-", "*", "//", "%", "+", "-", "*", "<<", ">>", "&", "|", "^", "/")

# What shows a value and its type: the width, the sign and whether it gives way to a typed number.
PROBES = {
    "bool": ("x", "~x"),
    "int": (
        "x",
        "((x & 0) + 1) << (i * 13)",
        "((x & 0) - 1) >> 1",
        "((x & 0) + gpu.uint8(200)) * 2",
    ),
    "float": ("x", "(x - x + 1) / 3", "(x - x + 1) / 3 + gpu.float16(1)"),
}
# With check=True the probes must not raise.
CHECKED_PROBES = {"bool": ("x", "~x"), "int": ("x", "x & 255"), "float": ("x", "1 - (x - x)")}
