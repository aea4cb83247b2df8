package io.jccl.comm.internal;

import io.jccl.comm.CommException;
import io.jccl.comm.DType;
import io.jccl.comm.Group;
import io.jccl.comm.Operation;
import io.jccl.comm.ReduceOp;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The last calls of one communicator, in a ring that is made once: recording a call makes no
 * object. Written by the thread that is inside the communicator; read by whoever writes the file,
 * who may see the newest call half written, which is no harm in a note for people.
 */
final class FlightRecorder {
  /** How a call went. */
  enum State {
    RUNNING,
    DONE,
    REFUSED,
    FAILED
  }

  final String communicator;
  final Group group;
  final int rank;

  private final FlightLog log;
  private final Operation[] operations;
  private final DType[] dtypes;
  private final ReduceOp.Kind[] reductions;
  private final State[] states;
  private final int[] peers;
  private final long[] elements;
  private final long[] sequences;
  private final long[] collectives;
  private final long[] startNanos;
  private final long[] endNanos;

  /** How many calls were recorded; volatile, so that a reader sees what was written before. */
  private volatile long recorded;

  private final AtomicInteger sessions = new AtomicInteger();

  FlightRecorder(FlightLog log, String communicator, Group group, int rank, int calls) {
    this.log = log;
    this.communicator = communicator;
    this.group = group;
    this.rank = rank;
    this.operations = new Operation[calls];
    this.dtypes = new DType[calls];
    this.reductions = new ReduceOp.Kind[calls];
    this.states = new State[calls];
    this.peers = new int[calls];
    this.elements = new long[calls];
    this.sequences = new long[calls];
    this.collectives = new long[calls];
    this.startNanos = new long[calls];
    this.endNanos = new long[calls];
  }

  /**
   * Records that a call begins.
   *
   * @param collective its number among those that every member makes
   */
  void started(Call call, long collective) {
    int at = (int) (recorded % operations.length);
    operations[at] = call.operation;
    dtypes[at] = call.in != null ? call.in.dtype() : call.out != null ? call.out.dtype() : null;
    reductions[at] = call.op == null ? null : call.op.kind();
    states[at] = State.RUNNING;
    peers[at] = call.peer;
    elements[at] = call.commonElements();
    sequences[at] = call.sequence;
    collectives[at] = call.isPointToPoint() ? 0 : collective;
    startNanos[at] = System.nanoTime();
    endNanos[at] = 0;
    publish(recorded + 1);
  }

  private void publish(long count) {
    recorded = count;
  }

  /** Records how the call that began last has ended. */
  void ended(State state) {
    int at = (int) ((recorded - 1) % operations.length);
    endNanos[at] = System.nanoTime();
    states[at] = state;
  }

  /** Records that the call that began last has failed, and writes this rank's file. */
  void failed(CommException cause) {
    if (recorded > 0 && states[(int) ((recorded - 1) % operations.length)] == State.RUNNING) {
      ended(State.FAILED);
    }
    log.write(communicator, cause);
  }

  /** Forgets the calls of the session before. */
  void restart() {
    sessions.incrementAndGet();
    publish(0);
  }

  void close() {
    log.remove(this);
  }

  /** Appends a line that says whose calls they are, and one for each call, the oldest first. */
  void describe(StringBuilder text, long nowNanos) {
    text.append("\ncommunicator ")
        .append(communicator)
        .append(" rank ")
        .append(rank)
        .append(" of ")
        .append(group.size())
        .append(" session ")
        .append(sessions.get())
        .append(" group");
    for (int member = 0; member < group.size(); member++) {
      text.append(' ').append(group.globalRank(member));
    }
    text.append('\n')
        .append(
            "# call collective state operation dtype reduction peer elements"
                + " begun-ms-ago took-us\n");
    long count = recorded;
    for (long i = Math.max(0, count - operations.length); i < count; i++) {
      int at = (int) (i % operations.length);
      text.append(sequences[at])
          .append(' ')
          .append(collectives[at] == 0 ? "-" : Long.toString(collectives[at]))
          .append(' ')
          .append(states[at].name().toLowerCase(Locale.ROOT))
          .append(' ')
          .append(operations[at])
          .append(' ')
          .append(dtypes[at] == null ? "-" : dtypes[at].label())
          .append(' ')
          .append(reductions[at] == null ? "-" : reductions[at].name())
          .append(' ')
          .append(peers[at] < 0 ? "-" : Integer.toString(peers[at]))
          .append(' ')
          .append(elements[at] < 0 ? "-" : Long.toString(elements[at]))
          .append(' ')
          .append((nowNanos - startNanos[at]) / 1_000_000)
          .append(' ')
          .append(endNanos[at] == 0 ? "-" : Long.toString((endNanos[at] - startNanos[at]) / 1000))
          .append('\n');
    }
  }
}
