"""Random statements where the threads of a block meet, and memory of a block or a thread.

They stand in kernels whose threads all stay to the end and make a block of less than a warp, on the
first level, where all threads come by: so lanes and masks are known. A shared array is stored to
once, by each thread in its own element, before the barrier, and read behind it.
"""

from .expressions import Env
from .functions import Functions
from .types import INTS, TYPED_FLOATS, Array
from .words import WORDS

MEETINGS = ("exchange", "vote", "lanes", "lanes", "local")
LANE = "gpu.threadIdx.x"
ATOMICS = ("add", "add", "add", "sub", "min", "max", "and_", "or_", "xor")


class Meetings(Functions):
    crowd = 0  # threads of a block, if they meet

    def target(self, env: Env) -> str:
        return self.rng.choice([n for n, k in env.items() if isinstance(k, str) and n[0] in "abcs"])

    def assign(self, env: Env, name: str, text: str) -> list[str]:
        raise NotImplementedError

    def on_exchange(self, env: Env, loop: bool) -> list[str]:
        """Through shared memory."""
        shared, dtype = self.fresh("l"), self.rng.choice((*INTS, *TYPED_FLOATS))
        shape = self.rng.choice((str(self.crowd), f"({self.crowd},)"))
        lines = [f"{shared} = gpu.shared.array({shape}, gpu.{dtype})",
                 f"{shared}[{LANE}] = {self.expression(env, 1)}", "gpu.syncthreads()"]  # fmt: skip
        other = f"{shared}[({LANE} + {self.rng.randint(1, 5)}) % {self.crowd}]"
        text = self.rng.choice((other, other, f"{shared}[-1]", f"sum({shared}[:])",
                                f"max({shared}[::-1])"))  # fmt: skip
        name = self.target(env)
        kind = self.type(text, env | {shared: Array(dtype, 1)})
        if not isinstance(kind, str):
            return []
        env[name] = kind
        return [*lines, f"{name} = {text}"]

    def on_vote(self, env: Env, loop: bool) -> list[str]:
        word = self.rng.choice(("count", "and", "or"))
        text = f"gpu.syncthreads_{word}({self.checked_condition(env)})"
        return self.assign(env, self.target(env), text)

    def on_lanes(self, env: Env, loop: bool) -> list[str]:
        """What lanes of a warp tell each other."""
        mask = hex((1 << self.crowd) - 1)
        integer = f"{self.rng.choice(('gpu.uint32', 'gpu.int32', 'int', 'gpu.uint64', 'gpu.int8'))}"
        integer += f"({self.expression(env, 1)})"
        value = self.expression(env, 1)
        match self.rng.choice(("shfl", "up", "xor", "vote", "ballot", "match", "reduce")):
            case "shfl":
                lane = f"({LANE} + {self.rng.randint(0, 5)}) % {self.crowd}"
                text = f"gpu.shfl_sync({mask}, {value}, {lane})"
            case "up":
                text = f"gpu.shfl_up_sync({mask}, {value}, {self.rng.randint(0, 3)})"
            case "xor":
                text = f"gpu.shfl_xor_sync({mask}, {value}, 1)"
            case "vote":
                word = self.rng.choice(("any", "all"))
                text = f"gpu.{word}_sync({mask}, {self.checked_condition(env)})"
            case "ballot":
                text = f"gpu.ballot_sync({mask}, {self.checked_condition(env)})"
            case "match":
                text = f"gpu.match_any_sync({mask}, {integer})"
            case _:
                word = self.rng.choice(("add", "min", "max", "and", "or", "xor"))
                text = f"gpu.reduce_{word}_sync({mask}, {integer})"
        return self.assign(env, self.target(env), text)

    def on_local(self, env: Env, loop: bool) -> list[str]:
        """An array of the thread, which is then a view like others."""
        name, dtype = self.fresh("v"), self.rng.choice((*INTS, *TYPED_FLOATS))
        lines = [f"{name} = gpu.local.array(3, gpu.{dtype})"]
        lines += [f"{name}[{k}] = {self.expression(env, 1)}" for k in range(3)]
        if self.chance(0.3):
            op, at = self.rng.choice("+-*"), self.rng.choice(("j", "-1", "i % 3"))
            lines.append(f"{name}[{at}] {op}= {self.rng.choice(WORDS['literal'])}")
        env[name] = Array(dtype, 1)
        self.shapes[name] = (3,)
        return lines
