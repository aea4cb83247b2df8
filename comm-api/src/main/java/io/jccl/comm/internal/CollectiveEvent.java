package io.jccl.comm.internal;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A collective in a JDK Flight Recorder recording. Costs a read of one field when none is made. */
@Name("io.jccl.Collective")
@Label("Collective")
@Category("jccl")
@Description("One call of a communicator; on a GPU its duration is that of enqueueing it")
@StackTrace(false)
final class CollectiveEvent extends Event {
  private static final EventType TYPE = EventType.getEventType(CollectiveEvent.class);

  @Label("Operation")
  String operation;

  @Label("Communicator")
  String communicator;

  @Label("Bytes")
  @DataAmount(DataAmount.BYTES)
  long bytes;

  @Label("DType")
  String dtype;

  @Label("Group Size")
  int groupSize;

  @Label("Rank")
  @Description("The rank in the group")
  int rank;

  @Label("Sequence")
  long sequence;

  @Label("Succeeded")
  boolean succeeded;

  /** Whether a recording wants these events; without one, none is made. */
  static boolean wanted() {
    return TYPE.isEnabled();
  }

  static CollectiveEvent started() {
    CollectiveEvent event = new CollectiveEvent();
    event.begin();
    return event;
  }

  void finished(Call call, boolean ok) {
    end();
    if (shouldCommit()) {
      operation = call.operation().toString();
      communicator = call.communicator();
      bytes = call.bytes();
      dtype = call.dtypeLabel();
      groupSize = call.group().size();
      rank = call.rank();
      sequence = call.sequence();
      succeeded = ok;
      commit();
    }
  }
}
