/* What the peers in C share: libraries that are opened by path, and a clock. */
#ifndef JCCL_PEER_H
#define JCCL_PEER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  char internal[128];
} unique_id;

static void *open_library(const char *variable, const char *name) {
  const char *path = getenv(variable);
  void *library = dlopen(path ? path : name, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return library;
}

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return symbol;
}

static void check(int code, const char *call) {
  if (code != 0) {
    fprintf(stderr, "%s failed with %d\n", call, code);
    exit(1);
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#endif
