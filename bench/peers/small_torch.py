"""Small operators of this program beside torch's, in paired rounds on the same shapes and threads. Needs torch:
python3 bench/peers/small_torch.py BUILD/bench/small [--threads 2 --rounds 21 --only NAME --dtype f32]
Prints the median of the per-round ratios our time / torch's time (below 1: ours is faster), and the ratio of the best
rounds, which says more on a busy machine."""
import argparse
import statistics
import subprocess
import time

import torch

BATCH = 0.002  # seconds of a sample


def works(x):
    rows, columns = x.shape
    other, row, column = torch.rand_like(x), torch.rand_like(x[0]), torch.rand_like(x[:, :1])
    positive = x.abs() + 0.1
    heads = x.view(1, rows, columns // 64, 64).transpose(1, 2)
    table = torch.rand(1, 1, rows, 64, dtype=x.dtype)
    parts = x.view(rows, columns // 64, 64)
    half = x.to(torch.bfloat16)
    functional = torch.nn.functional
    return {
        "add": lambda: x + other, "mul": lambda: x * other, "mul_scalar": lambda: x * 0.5,
        "mul_row": lambda: x * row, "mul_column": lambda: x * column, "mul_heads": lambda: heads * table,
        "neg": lambda: -x, "neg_half": lambda: -parts[..., 32:], "pow2": lambda: x.pow(2),
        "rsqrt": lambda: positive.rsqrt(), "silu": lambda: functional.silu(x), "sigmoid": lambda: x.sigmoid(),
        "gelu": lambda: functional.gelu(x), "exp": lambda: x.exp(), "log": lambda: positive.log(),
        "tanh": lambda: x.tanh(), "erf": lambda: x.erf(), "sin": lambda: x.sin(), "cos": lambda: x.cos(),
        "to_bf16": lambda: x.to(torch.bfloat16), "to_f32": lambda: half.to(torch.float32),
        "copy_heads": lambda: heads.contiguous(), "copy_transposed": lambda: x.t().contiguous(),
        "cat_halves": lambda: torch.cat((parts[..., 32:], parts[..., :32]), -1),
        "mean": lambda: x.mean(-1), "amax": lambda: x.amax(-1), "softmax": lambda: x.softmax(-1),
        "argmax": lambda: x.argmax(-1),
    }


def sample(work):
    work()
    start = time.perf_counter()
    work()
    repeats = max(3, int(BATCH / max(time.perf_counter() - start, 1e-7)))
    start = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="")
    parser.add_argument("--dtype", default="f32")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    ours = subprocess.Popen([args.program, "--serve", "--threads", str(args.threads)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[args.dtype]
    print(f"{'op':<16} {'shape':>10} {'ours us':>9} {'torch us':>9} {'ratio':>6} {'best':>6}  quartiles")
    for rows, columns in ((512, 2048), (128, 1024)):
        for name, work in works(torch.rand(rows, columns, dtype=dtype) * 2 - 1).items():
            if args.only not in name or (args.dtype != "f32" and name.startswith("to_")):
                continue
            mine, theirs = [], []
            for _ in range(args.rounds):
                print(name, rows, columns, args.dtype, file=ours.stdin, flush=True)
                mine.append(float(ours.stdout.readline()))
                time.sleep(0.001)
                theirs.append(sample(work))
            ratios = sorted(a / b for a, b in zip(mine, theirs))
            quarter = len(ratios) // 4
            print(f"{name:<16} {rows:>5}x{columns:<5}{statistics.median(mine) * 1e6:>9.1f} "
                  f"{statistics.median(theirs) * 1e6:>9.1f} {statistics.median(ratios):>6.2f} "
                  f"{min(mine) / min(theirs):>6.2f}  "
                  f"{ratios[quarter]:.2f} … {ratios[-1 - quarter]:.2f}", flush=True)
    ours.stdin.close()
    ours.wait()


if __name__ == "__main__":
    main()
