package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclResult;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** What the ranks of one communicator share. Guarded by the engine's lock. */
final class Clique {
  private record Pair(int source, int destination) {}

  final DeviceEngine engine;
  final CollectiveMath mathematics;
  final int size;
  final SimComm[] members;
  private final String name;

  /** What commGetAsyncError says on every rank once something went wrong. */
  private NcclResult asyncError = NcclResult.SUCCESS;

  private int joined;
  private final long[] nextCollective;
  private final Map<Long, CollectiveMeeting> collectives = new HashMap<>();
  private final Map<Pair, Deque<MessageMeeting>> messages = new HashMap<>();

  /** Host calls that all ranks, or the ranks that stay, make together; by kind and number. */
  private final Map<String, HostMeeting> hostMeetings = new HashMap<>();

  private final Map<String, long[]> nextHostMeeting = new HashMap<>();

  Clique(DeviceEngine engine, CollectiveMath mathematics, int size, String name) {
    this.engine = engine;
    this.mathematics = mathematics;
    this.size = size;
    this.name = name;
    this.members = new SimComm[size];
    this.nextCollective = new long[size];
  }

  String label() {
    return name;
  }

  boolean join(SimComm comm) {
    if (members[comm.rank] != null) {
      return false;
    }
    members[comm.rank] = comm;
    joined++;
    return true;
  }

  boolean isComplete() {
    return joined == size;
  }

  NcclResult asyncError() {
    return asyncError;
  }

  boolean isBroken() {
    return asyncError.isError();
  }

  void breakBy(NcclResult error) {
    asyncError = error;
    engine.signal();
  }

  /** Makes a rank's call its next collective, and checks it against what other ranks called. */
  void registerCollective(int rank, String signature, NcclCall call, NcclLaunch launch) {
    long number = nextCollective[rank]++;
    CollectiveMeeting meeting =
        collectives.computeIfAbsent(number, n -> new CollectiveMeeting(this, n, signature, rank));
    meeting.register(rank, signature, call, launch);
    if (launch != null) {
      launch.add(meeting, call);
    }
    if (meeting.allRegistered()) {
      collectives.remove(number);
    }
  }

  /** Makes a rank's send or receive the next of its pair. */
  void registerMessage(int rank, NcclCall call, NcclLaunch launch, boolean replayed) {
    boolean sends = call.kind() == CollectiveKind.SEND;
    int source = sends ? rank : call.root();
    int destination = sends ? call.root() : rank;
    Deque<MessageMeeting> waiting =
        messages.computeIfAbsent(new Pair(source, destination), pair -> new ArrayDeque<>());
    MessageMeeting meeting = waiting.peek();
    if (meeting == null || !meeting.wants(call.kind())) {
      meeting = new MessageMeeting(this, source, destination, replayed);
      waiting.add(meeting);
    } else {
      waiting.remove();
    }
    meeting.register(call, launch, replayed);
    launch.add(meeting, call);
  }

  /**
   * The next host call of a kind that a rank makes together with others.
   *
   * @param signature what must be the same on all
   * @param needed how many ranks make it
   */
  HostMeeting meetOnHost(String kind, int rank, String signature, int needed) {
    long number = nextHostMeeting.computeIfAbsent(kind, k -> new long[size])[rank]++;
    String key = kind + " #" + number;
    HostMeeting meeting =
        hostMeetings.computeIfAbsent(key, k -> new HostMeeting(signature, rank, needed, size));
    if (!meeting.signature().equals(signature)) {
      throw engine.fail(
          "ranks of "
              + name
              + " differ in "
              + key
              + ": rank "
              + meeting.firstRank()
              + " "
              + meeting.signature()
              + ", rank "
              + rank
              + " "
              + signature);
    }
    if (meeting.arrive()) {
      hostMeetings.remove(key);
      engine.signal();
    }
    return meeting;
  }
}
