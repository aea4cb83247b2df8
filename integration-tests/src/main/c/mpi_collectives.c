/*
 * Times one collective of MPI as ShmBenchmark times it in Java: turns of back-to-back calls between
 * barriers, and the median of the turns' times per call. Arguments come in fours: operation, bytes,
 * calls a turn, turns. Rank 0 prints a line for each: operation, bytes, microseconds.
 *
 * Bytes are those of nccl-tests: what a rank contributes to all_reduce and broadcast, and the larger
 * of the two buffers of the others.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void call(const char *operation, float *in, float *out, int count, int size) {
  if (strcmp(operation, "all_reduce") == 0) {
    MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(operation, "broadcast") == 0) {
    MPI_Bcast(out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
  } else if (strcmp(operation, "all_gather") == 0) {
    MPI_Allgather(in, count / size, MPI_FLOAT, out, count / size, MPI_FLOAT, MPI_COMM_WORLD);
  } else if (strcmp(operation, "reduce_scatter") == 0) {
    MPI_Reduce_scatter_block(in, out, count / size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(operation, "all_to_all") == 0) {
    MPI_Alltoall(in, count / size, MPI_FLOAT, out, count / size, MPI_FLOAT, MPI_COMM_WORLD);
  } else {
    fprintf(stderr, "operation is %s, expected all_reduce, broadcast, all_gather, reduce_scatter or "
                    "all_to_all\n", operation);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int at = 1; at + 3 < argc; at += 4) {
    const char *operation = argv[at];
    long bytes = atol(argv[at + 1]);
    int calls = atoi(argv[at + 2]), turns = atoi(argv[at + 3]);
    int count = (int)(bytes / (long)sizeof(float));
    float *in = calloc(count, sizeof(float)), *out = calloc(count, sizeof(float));
    double *times = calloc(turns, sizeof(double));
    if (in == NULL || out == NULL || times == NULL) {
      fprintf(stderr, "no memory for %ld bytes\n", bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < count; i++) {
      in[i] = out[i] = 0;
    }
    for (int turn = -2; turn < turns; turn++) {
      call(operation, in, out, count, size);
      MPI_Barrier(MPI_COMM_WORLD);
      double start = MPI_Wtime();
      for (int i = 0; i < calls; i++) {
        call(operation, in, out, count, size);
      }
      if (turn >= 0) {
        times[turn] = (MPI_Wtime() - start) / calls * 1e6;
      }
    }
    qsort(times, turns, sizeof(double), by_value);
    if (rank == 0) {
      printf("%s %ld %.4f\n", operation, bytes, times[turns / 2]);
      fflush(stdout);
    }
    free(in);
    free(out);
    free(times);
  }
  MPI_Finalize();
  return 0;
}
