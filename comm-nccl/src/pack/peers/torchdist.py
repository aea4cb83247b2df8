"""Host time of an enqueued one-rank all-reduce through torch.distributed, which has it in place only: a
line of «in», bytes and nanoseconds for each size. The same samples as io.jccl.it.bench.NcclOverhead takes."""

import os
import socket
import statistics
import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError as e:
    print(f"torch is not measured: {e}", file=sys.stderr)
    sys.exit(0)

CALLS, SAMPLES, WARM_UP = 64, 400, 300

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1")
torch.cuda.set_device(0)
dist.init_process_group("nccl")
for size in (8, 4096, 1 << 20):
    tensor = torch.zeros(size // 4, device="cuda")
    samples = []
    for sample in range(-WARM_UP, SAMPLES):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            dist.all_reduce(tensor)
        if sample >= 0:
            samples.append((time.perf_counter_ns() - start) / CALLS)
        torch.cuda.synchronize()
    print("in", size, f"{statistics.median(samples):.1f}", flush=True)
dist.destroy_process_group()
