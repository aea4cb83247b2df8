/* Host time of an enqueued one-rank all-reduce through NCCL's C API, as io.jccl.it.bench.NcclOverhead
 * measures Java's: for each size, in place and out of place, a line of which, bytes and nanoseconds.
 * NCCL and CUDA are opened by path (JCCL_PEER_NCCL, JCCL_PEER_CUDART), so that no header is needed
 * where this is compiled. */
#include "peer.h"

enum { CALLS = 64, SAMPLES = 400, WARM_UP = 300, FLOAT32 = 7, SUM = 0 };

int main(void) {
  void *cudart = open_library("JCCL_PEER_CUDART", "libcudart.so.13");
  void *nccl = open_library("JCCL_PEER_NCCL", "libnccl.so.2");
  int (*set_device)(int) = (int (*)(int))find(cudart, "cudaSetDevice");
  int (*device_malloc)(void **, size_t) = (int (*)(void **, size_t))find(cudart, "cudaMalloc");
  int (*synchronize)(void) = (int (*)(void))find(cudart, "cudaDeviceSynchronize");
  int (*get_id)(unique_id *) = (int (*)(unique_id *))find(nccl, "ncclGetUniqueId");
  int (*init)(void **, int, unique_id, int) =
      (int (*)(void **, int, unique_id, int))find(nccl, "ncclCommInitRank");
  int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *) =
      (int (*)(const void *, void *, size_t, int, int, void *, void *))find(nccl, "ncclAllReduce");

  unique_id id;
  void *comm;
  void *data;
  void *other;
  check(set_device(0), "cudaSetDevice");
  check(get_id(&id), "ncclGetUniqueId");
  check(init(&comm, 1, id, 0), "ncclCommInitRank");
  check(device_malloc(&data, 1 << 20), "cudaMalloc");
  check(device_malloc(&other, 1 << 20), "cudaMalloc");

  const size_t sizes[] = {8, 4096, 1 << 20};
  static double samples[SAMPLES];
  for (int out_of_place = 0; out_of_place < 2; out_of_place++) {
    void *result = out_of_place ? other : data;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      size_t count = sizes[s] / sizeof(float);
      for (int sample = -WARM_UP; sample < SAMPLES; sample++) {
        double start = now();
        for (int i = 0; i < CALLS; i++) {
          check(all_reduce(data, result, count, FLOAT32, SUM, comm, NULL), "ncclAllReduce");
        }
        if (sample >= 0) {
          samples[sample] = (now() - start) / CALLS;
        }
        check(synchronize(), "cudaDeviceSynchronize");
      }
      qsort(samples, SAMPLES, sizeof *samples, ascending);
      printf("%s %zu %.1f\n", out_of_place ? "out" : "in", sizes[s],
             (samples[SAMPLES / 2 - 1] + samples[SAMPLES / 2]) / 2);
    }
  }
  return 0;
}
