/* All-reduce of float32 by several ranks through NCCL's C API, in place, as
 * io.jccl.it.bench.NcclBandwidth measures Java's: for each size a line of bytes, nanoseconds a call,
 * and nanoseconds of the host a call until it is enqueued. Ranks are processes, or threads of one, on
 * the devices there are in turn. NCCL and CUDA are opened by path (JCCL_PEER_NCCL, JCCL_PEER_CUDART),
 * so that no header of theirs is needed where this is compiled.
 *
 *   bandwidth RANKS [threads]
 */
#include "peer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 5, FLOAT32 = 7, SUM = 0, LARGEST = 256 << 20, DEADLINE_S = 120, MOST_RANKS = 64 };

/* What the processes of the ranks share. */
typedef struct {
  unique_id id;
  int arrived;
  int turn;
} meeting;

/* A rank that never comes is ended by alarm(), and with it the others. */
static void meet(meeting *at, int ranks) {
  int turn = __atomic_load_n(&at->turn, __ATOMIC_SEQ_CST);
  if (__atomic_add_fetch(&at->arrived, 1, __ATOMIC_SEQ_CST) == ranks) {
    __atomic_store_n(&at->arrived, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&at->turn, turn + 1, __ATOMIC_SEQ_CST);
  }
  while (__atomic_load_n(&at->turn, __ATOMIC_SEQ_CST) == turn) {
    sched_yield();
  }
}

static int calls_of(size_t bytes) {
  return bytes <= 1 << 20 ? 1000 : bytes <= 16 << 20 ? 100 : 20;
}

static int rank_main(meeting *at, int rank, int ranks) {
  alarm(DEADLINE_S);
  void *cudart = open_library("JCCL_PEER_CUDART", "libcudart.so.13");
  void *nccl = open_library("JCCL_PEER_NCCL", "libnccl.so.2");
  int (*device_count)(int *) = (int (*)(int *))find(cudart, "cudaGetDeviceCount");
  int (*set_device)(int) = (int (*)(int))find(cudart, "cudaSetDevice");
  int (*device_malloc)(void **, size_t) = (int (*)(void **, size_t))find(cudart, "cudaMalloc");
  int (*new_stream)(void **, unsigned) =
      (int (*)(void **, unsigned))find(cudart, "cudaStreamCreateWithFlags");
  int (*synchronize)(void *) = (int (*)(void *))find(cudart, "cudaStreamSynchronize");
  int (*get_id)(unique_id *) = (int (*)(unique_id *))find(nccl, "ncclGetUniqueId");
  int (*init)(void **, int, unique_id, int) =
      (int (*)(void **, int, unique_id, int))find(nccl, "ncclCommInitRank");
  int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *) =
      (int (*)(const void *, void *, size_t, int, int, void *, void *))find(nccl, "ncclAllReduce");

  int devices;
  void *comm;
  void *data;
  void *stream;
  check(device_count(&devices), "cudaGetDeviceCount");
  check(set_device(rank % devices), "cudaSetDevice");
  check(device_malloc(&data, LARGEST), "cudaMalloc");
  check(new_stream(&stream, 1), "cudaStreamCreateWithFlags");
  if (rank == 0) {
    check(get_id(&at->id), "ncclGetUniqueId");
  }
  meet(at, ranks);
  check(init(&comm, ranks, at->id, rank), "ncclCommInitRank");

  const size_t sizes[] = {8, 4096, 1 << 20, 16 << 20, 64 << 20, LARGEST};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    double took[SAMPLES], enqueued[SAMPLES];
    size_t count = sizes[s] / sizeof(float);
    int calls = calls_of(sizes[s]);
    for (int sample = -1; sample < SAMPLES; sample++) {
      meet(at, ranks);
      check(all_reduce(data, data, count, FLOAT32, SUM, comm, stream), "ncclAllReduce");
      check(synchronize(stream), "cudaStreamSynchronize");
      double start = now();
      for (int i = 0; i < calls; i++) {
        check(all_reduce(data, data, count, FLOAT32, SUM, comm, stream), "ncclAllReduce");
      }
      double between = now();
      check(synchronize(stream), "cudaStreamSynchronize");
      if (sample >= 0) {
        took[sample] = (now() - start) / calls;
        enqueued[sample] = (between - start) / calls;
      }
    }
    qsort(took, SAMPLES, sizeof *took, ascending);
    qsort(enqueued, SAMPLES, sizeof *enqueued, ascending);
    if (rank == 0) {
      printf("%zu %.1f %.1f\n", sizes[s], took[SAMPLES / 2], enqueued[SAMPLES / 2]);
      fflush(stdout);
    }
  }
  meet(at, ranks);
  return 0;
}

typedef struct {
  meeting *at;
  int rank;
  int ranks;
} seat;

static void *thread_main(void *argument) {
  seat *mine = argument;
  rank_main(mine->at, mine->rank, mine->ranks);
  return NULL;
}

static int run_threads(meeting *at, int ranks) {
  pthread_t threads[MOST_RANKS];
  seat seats[MOST_RANKS];
  for (int rank = 0; rank < ranks; rank++) {
    seats[rank] = (seat){at, rank, ranks};
    if (pthread_create(&threads[rank], NULL, thread_main, &seats[rank]) != 0) {
      perror("pthread_create");
      return 2;
    }
  }
  for (int rank = 0; rank < ranks; rank++) {
    pthread_join(threads[rank], NULL);
  }
  return 0;
}

static int run_processes(meeting *at, int ranks) {
  pid_t children[MOST_RANKS];
  for (int rank = 0; rank < ranks; rank++) {
    children[rank] = fork();
    if (children[rank] < 0) {
      perror("fork");
      return 2;
    }
    if (children[rank] == 0) {
      exit(rank_main(at, rank, ranks));
    }
  }
  int failed = 0;
  for (int left = ranks; left > 0; left--) {
    int status;
    wait(&status);
    if (status != 0 && !failed) {
      failed = 1;
      for (int rank = 0; rank < ranks; rank++) {
        kill(children[rank], SIGKILL);
      }
    }
  }
  return failed;
}

int main(int argc, char **argv) {
  int ranks = argc > 1 ? atoi(argv[1]) : 0;
  if (ranks < 2 || ranks > MOST_RANKS) {
    fprintf(stderr, "usage: bandwidth RANKS [threads], RANKS from 2 to %d\n", MOST_RANKS);
    return 2;
  }
  meeting *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    perror("mmap");
    return 2;
  }
  return argc > 2 && strcmp(argv[2], "threads") == 0 ? run_threads(at, ranks)
                                                     : run_processes(at, ranks);
}
