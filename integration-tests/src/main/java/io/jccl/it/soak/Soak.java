package io.jccl.it.soak;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.Communicator;
import io.jccl.comm.Group;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;

/**
 * One rank of a soak: small collectives, and communicators made and closed, with the process's
 * figures after each tenth. {@code Soak COLLECTIVES COMMUNICATORS}; the configuration names the
 * backend. Exits with 1 if a figure has grown from the second tenth to the last, or a sum is wrong.
 */
public final class Soak {
  private static final int STEPS = 10;

  private final CommBackend backend;
  private final Group group;
  private Usage warm;
  private Usage last;

  private Soak(CommBackend backend) {
    this.backend = backend;
    this.group = backend.world().group();
  }

  /** Runs it as the rank that the launcher made of this process. */
  public static void main(String[] args) throws Exception {
    long collectives = args.length > 0 ? Long.parseLong(args[0]) : 1_000_000;
    int communicators = args.length > 1 ? Integer.parseInt(args[1]) : 1_000;
    boolean grown;
    try (CommBackend backend = CommBackends.open()) {
      Soak soak = new Soak(backend);
      grown = soak.grows("collectives", collectives, soak::reduce);
      grown |= soak.grows("communicators", communicators, soak::makeAndClose);
    }
    System.exit(grown ? 1 : 0);
  }

  /** What is done so many times. */
  private interface Work {
    void run(long times);
  }

  private boolean grows(String what, long times, Work work) throws Exception {
    for (int step = 1; step <= STEPS; step++) {
      long start = System.nanoTime();
      work.run(times / STEPS);
      long millis = (System.nanoTime() - start) / 1_000_000;
      last = Usage.now();
      if (step == 2) {
        warm = last;
      }
      if (backend.world().rank() == 0) {
        System.out.printf("%10d %s, %6d ms: %s%n", times / STEPS * step, what, millis, last);
      }
    }
    boolean grown = last.hasGrownSince(warm);
    if (grown) {
      System.out.println(what + " GREW from " + warm + " to " + last);
    }
    return grown;
  }

  private void reduce(long times) {
    Communicator comm = backend.communicator(group);
    Tensor tensor = Tensor.of(0f, 0f);
    for (long i = 0; i < times; i++) {
      tensor.memory().putFloat(0, 1f + comm.rank());
      comm.allReduce(tensor, ReduceOp.SUM);
      if (tensor.memory().getFloat(0) != comm.size() * (comm.size() + 1) / 2f) {
        throw new AssertionError("sum " + i + " is " + tensor.memory().getFloat(0));
      }
    }
  }

  private void makeAndClose(long times) {
    for (long i = 0; i < times; i++) {
      try (Communicator comm = backend.newCommunicator(group)) {
        comm.barrier();
      }
    }
  }
}
