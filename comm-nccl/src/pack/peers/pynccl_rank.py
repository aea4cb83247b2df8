"""Rank 1 of 2 through ctypes, as vLLM's PyNccl makes a communicator: for io.jccl.it.gpu.PythonPeer, which
is rank 0 and hosts the store. With the argument «make» the unique id is made here, else taken from the
store. Exits with 0 if every element of the sums is right."""

import ctypes
import os
import sys
from datetime import timedelta

from torch.distributed import TCPStore

FLOAT32, SUM, COUNT = 7, 0, 100_003


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


cudart = ctypes.CDLL(os.environ.get("JCCL_PEER_CUDART", "libcudart.so.13"), ctypes.RTLD_GLOBAL)
nccl = ctypes.CDLL(os.environ.get("JCCL_PEER_NCCL", "libnccl.so.2"), ctypes.RTLD_GLOBAL)
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
nccl.ncclAllReduce.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
]
nccl.ncclCommDestroy.argtypes = [ctypes.c_void_p]
cudart.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def check(code):
    if code != 0:
        raise RuntimeError(f"a call failed with {code}")


store = TCPStore(
    os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, timeout=timedelta(seconds=60),
    wait_for_workers=False,
)
unique_id = UniqueId()
devices = ctypes.c_int()
check(cudart.cudaGetDeviceCount(ctypes.byref(devices)))
check(cudart.cudaSetDevice(1 % devices.value))
if sys.argv[1:] == ["make"]:
    check(nccl.ncclGetUniqueId(ctypes.byref(unique_id)))
    store.set("id", bytes(unique_id))
else:
    ctypes.memmove(ctypes.byref(unique_id), store.get("id"), 128)

comm = ctypes.c_void_p()
data = ctypes.c_void_p()
check(cudart.cudaMalloc(ctypes.byref(data), ctypes.c_size_t(4 * COUNT)))
check(nccl.ncclCommInitRank(ctypes.byref(comm), 2, unique_id, 1))
# The first call, which every rank makes: one element.
check(nccl.ncclAllReduce(data, data, 1, FLOAT32, SUM, comm, None))
check(cudart.cudaDeviceSynchronize())

host = (ctypes.c_float * COUNT)(*[(i * 31 + 17) % 1021 for i in range(COUNT)])
check(cudart.cudaMemcpy(data, host, 4 * COUNT, 1))
check(nccl.ncclAllReduce(data, data, COUNT, FLOAT32, SUM, comm, None))
check(cudart.cudaDeviceSynchronize())
check(cudart.cudaMemcpy(host, data, 4 * COUNT, 2))
wrong = [i for i in range(COUNT) if host[i] != (i * 31) % 1021 + (i * 31 + 17) % 1021]
check(nccl.ncclCommDestroy(comm))
if wrong:
    print(f"{len(wrong)} elements are wrong, the first at {wrong[0]}: {host[wrong[0]]}", file=sys.stderr)
    sys.exit(1)
