package io.jccl.it.deaths;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.Communicator;
import io.jccl.comm.store.Store;

/** A rank that is to be killed: it says through the store when, and does not end by itself. */
public final class VictimMain {
  /** The key that is set when the rank may be killed. */
  public static final String READY = "deaths/ready";

  private static final int CALLS_BEFORE_READY = 3;

  private VictimMain() {}

  /** Takes an operation, a moment and a number of elements. */
  public static void main(String[] args) throws InterruptedException {
    Moment moment = Moment.valueOf(args[1]);
    try (CommBackend comm = CommBackends.open()) {
      Store store = comm.world().store();
      Communicator communicator = comm.communicator(comm.world().group());
      Runnable call = Called.valueOf(args[0]).on(communicator, Integer.parseInt(args[2]));
      if (moment == Moment.DURING) {
        for (int i = 0; i < CALLS_BEFORE_READY; i++) {
          call.run();
        }
        store.set(READY, new byte[0]);
        while (true) {
          call.run();
        }
      }
      if (moment == Moment.AFTER) {
        call.run();
      }
      store.set(READY, new byte[0]);
      Thread.sleep(Long.MAX_VALUE);
    }
  }
}
