"""Host time of an enqueued one-rank all-reduce through ctypes, as vLLM's PyNccl calls NCCL: for each
size, in place and out of place, a line of which, bytes and nanoseconds. The same samples as
io.jccl.it.bench.NcclOverhead takes."""

import ctypes
import os
import statistics
import time

CALLS, SAMPLES, WARM_UP = 64, 400, 300
FLOAT32, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


cudart = ctypes.CDLL(os.environ.get("JCCL_PEER_CUDART", "libcudart.so.13"), ctypes.RTLD_GLOBAL)
nccl = ctypes.CDLL(os.environ.get("JCCL_PEER_NCCL", "libnccl.so.2"), ctypes.RTLD_GLOBAL)
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
nccl.ncclAllReduce.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
]


def check(code):
    if code != 0:
        raise RuntimeError(f"a call failed with {code}")


unique_id = UniqueId()
comm = ctypes.c_void_p()
data = ctypes.c_void_p()
other = ctypes.c_void_p()
check(cudart.cudaSetDevice(0))
check(nccl.ncclGetUniqueId(ctypes.byref(unique_id)))
check(nccl.ncclCommInitRank(ctypes.byref(comm), 1, unique_id, 0))
check(cudart.cudaMalloc(ctypes.byref(data), ctypes.c_size_t(1 << 20)))
check(cudart.cudaMalloc(ctypes.byref(other), ctypes.c_size_t(1 << 20)))

for place, result in (("in", data), ("out", other)):
    for size in (8, 4096, 1 << 20):
        samples = []
        for sample in range(-WARM_UP, SAMPLES):
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                # A wrapper object for each pointer and a check of the result, as PyNccl has them.
                check(
                    nccl.ncclAllReduce(
                        ctypes.c_void_p(data.value), ctypes.c_void_p(result.value), size // 4, FLOAT32, SUM, comm,
                        ctypes.c_void_p(0),
                    )
                )
            if sample >= 0:
                samples.append((time.perf_counter_ns() - start) / CALLS)
            check(cudart.cudaDeviceSynchronize())
        print(place, size, f"{statistics.median(samples):.1f}")
