"""A rank of torch.distributed beside ranks of jccl in one process group of Gloo, for io.jccl.it.interop.
It makes the same calls as InteropRank, and checks each element against values that it computes itself.
Under torchrun with the argument «mixed», ranks of odd number become Java: the rest of the arguments is
their command."""

import os
import sys
from datetime import timedelta

rank = int(os.environ["RANK"])
size = int(os.environ["WORLD_SIZE"])
if sys.argv[1:2] == ["mixed"] and rank % 2 == 1:
    os.execvp(sys.argv[2], sys.argv[2:])

import torch
import torch.distributed as dist

N = 1003
TIMEOUT = timedelta(seconds=60)
REDUCED = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int32, torch.int64, torch.int8, torch.uint8,
]  # fmt: skip
MOVED = [torch.float32, torch.int64, torch.bfloat16]
OPS = [dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX]

salt = 0


def element(of, i, product, unsigned):
    """Small numbers, of which sums and products are exact in every dtype."""
    mixed = i * 31 + of * 17 + salt * 7
    if product:
        return 1 + mixed % 2 if unsigned or mixed % 3 else -1
    return mixed % 13 if unsigned else mixed % 13 - 6


def values(of, dtype, count, product=False):
    unsigned = dtype == torch.uint8
    return torch.tensor([element(of, i, product, unsigned) for i in range(count)], dtype=torch.int64).to(dtype)


def reduced(op, dtype, count):
    all_ranks = [values(r, dtype, count, op == dist.ReduceOp.PRODUCT).to(torch.int64) for r in range(size)]
    result = all_ranks[0]
    for other in all_ranks[1:]:
        if op == dist.ReduceOp.SUM:
            result = result + other
        elif op == dist.ReduceOp.PRODUCT:
            result = result * other
        elif op == dist.ReduceOp.MIN:
            result = torch.minimum(result, other)
        else:
            result = torch.maximum(result, other)
    return result.to(dtype)


def require(what, actual, expected):
    if not torch.equal(actual, expected):
        at = int((actual != expected).nonzero()[0][0])
        raise AssertionError(f"{what}: element {at} is {actual[at]}, expected {expected[at]}")


def uneven(sender, receiver):
    return (sender * 2 + receiver * 3) % 5


def reductions():
    global salt
    for dtype in REDUCED:
        for op in OPS:
            salt += 1
            tensor = values(rank, dtype, N, op == dist.ReduceOp.PRODUCT)
            dist.all_reduce(tensor, op)
            require(f"all_reduce {op} {dtype}", tensor, reduced(op, dtype, N))
    for dtype in (torch.float32, torch.int64):
        salt += 1
        tensor = values(rank, dtype, N)
        dist.reduce(tensor, 1, dist.ReduceOp.SUM)
        if rank == 1:
            require(f"reduce {dtype}", tensor, reduced(dist.ReduceOp.SUM, dtype, N))
        salt += 1
        out = torch.empty(N, dtype=dtype)
        dist.reduce_scatter_tensor(out, values(rank, dtype, N * size), dist.ReduceOp.SUM)
        whole = reduced(dist.ReduceOp.SUM, dtype, N * size)
        require(f"reduce_scatter {dtype}", out, whole[rank * N : (rank + 1) * N])


def moves(dtype):
    global salt
    salt += 1
    tensor = values(rank, dtype, N)
    dist.broadcast(tensor, 1)
    require(f"broadcast {dtype}", tensor, values(1, dtype, N))

    salt += 1
    out = torch.empty(N * size, dtype=dtype)
    dist.all_gather_into_tensor(out, values(rank, dtype, N))
    require(f"all_gather {dtype}", out, torch.cat([values(r, dtype, N) for r in range(size)]))

    salt += 1
    parts = [torch.empty(N, dtype=dtype) for _ in range(size)] if rank == 0 else None
    dist.gather(values(rank, dtype, N), parts, 0)
    if rank == 0:
        require(f"gather {dtype}", torch.cat(parts), torch.cat([values(r, dtype, N) for r in range(size)]))

    salt += 1
    part = torch.empty(N, dtype=dtype)
    dist.scatter(part, list(values(0, dtype, N * size).chunk(size)) if rank == 0 else None, 0)
    require(f"scatter {dtype}", part, values(0, dtype, N * size)[rank * N : (rank + 1) * N])

    salt += 1
    out = torch.empty(N * size, dtype=dtype)
    dist.all_to_all_single(out, values(rank, dtype, N * size))
    expected = torch.cat([values(r, dtype, N * size)[rank * N : (rank + 1) * N] for r in range(size)])
    require(f"all_to_all {dtype}", out, expected)

    salt += 1
    sent = [uneven(rank, r) for r in range(size)]
    received = [uneven(r, rank) for r in range(size)]
    out = torch.empty(sum(received), dtype=dtype)
    dist.all_to_all_single(out, values(rank, dtype, sum(sent)), received, sent)
    parts = []
    for r in range(size):
        start = sum(uneven(r, other) for other in range(rank))
        parts.append(values(r, dtype, sum(uneven(r, other) for other in range(size)))[start : start + uneven(r, rank)])
    require(f"all_to_all uneven {dtype}", out, torch.cat(parts))

    salt += 1
    following, previous = (rank + 1) % size, (rank - 1) % size
    incoming = torch.empty(N, dtype=dtype)
    if rank == 0:
        dist.send(values(rank, dtype, N), following)
        dist.recv(incoming, previous)
    else:
        dist.recv(incoming, previous)
        dist.send(values(rank, dtype, N), following)
    require(f"send and recv {dtype}", incoming, values(previous, dtype, N))
    dist.barrier()


def unique_ids():
    """128 bytes, as NCCL's unique id is, through the store: each rank gives one and reads all others'."""
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, timeout=TIMEOUT,
        wait_for_workers=False,
    )  # fmt: skip
    store.set(f"interop/id/{rank}", bytes((rank * 89 + i * 7) % 256 for i in range(128)))
    for other in range(size):
        if store.get(f"interop/id/{other}") != bytes((other * 89 + i * 7) % 256 for i in range(128)):
            raise AssertionError(f"the id of rank {other} came otherwise")


def main():
    dist.init_process_group("gloo", timeout=TIMEOUT)
    unique_ids()
    reductions()
    for dtype in MOVED:
        moves(dtype)
    dist.barrier()
    dist.destroy_process_group()
    print(f"ok, rank {rank} of {size} in Python, torch {torch.__version__}, {salt} cases")


main()
