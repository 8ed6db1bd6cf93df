"""What random kernels whose threads talk are made of."""

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
VARIABLES = {
    "a": "int64",
    "b": "int64",
    "u": "uint32",
    "v": "int32",
    "w": "uint8",
    "f": "float32",
    "g": "float64",
    "h": "float16",
    "p": "bool",
    "q": "bool",
}
LAUNCHES = [
    (1, 1),
    (1, 7),
    (2, 32),
    (1, 64),
    (2, (8, 5)),
    (2, 33),
    (1, (4, 4, 4)),
    (1, 96),
    (3, (2, 3)),
]
COMMUTE = ("add", "sub", "min", "max", "and_", "or_", "xor")
HEAD = """\
    x0, y0, z0 = gpu.threadIdx.x, gpu.threadIdx.y, gpu.threadIdx.z
    n, o = gpu.blockDim.x, gpu.blockDim.y
    t = x0 + n * (y0 + o * z0)
    T = n * o * gpu.blockDim.z
    lane = t % 32
    block = gpu.blockIdx.x
    lanes = min(T - t // 32 * 32, 32)
    full = gpu.uint32((1 << lanes) - 1)
"""
