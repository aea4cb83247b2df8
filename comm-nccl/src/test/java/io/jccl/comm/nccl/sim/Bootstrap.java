package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclLibrary;
import io.jccl.comm.nccl.result.NcclRedOp;
import io.jccl.comm.nccl.result.NcclResult;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** Where ranks find the communicator that they are making. Guarded by the engine's lock. */
final class Bootstrap {
  private static final class Grow {
    final byte[] id;
    final Set<Integer> joined = new HashSet<>();
    Clique clique;

    Grow(byte[] id) {
      this.id = id;
    }
  }

  private final DeviceEngine engine;
  private final CollectiveMath mathematics = new CollectiveMath();
  private final Random random = new Random(7);
  private final Map<ByteBuffer, Clique> byUniqueId = new HashMap<>();
  private final Set<ByteBuffer> issued = new HashSet<>();
  private final Map<Clique, Grow> growing = new HashMap<>();
  private final Map<ByteBuffer, Clique> parentByGrowId = new HashMap<>();
  private int cliques;
  private int redOps = NcclRedOp.AVG;

  Bootstrap(DeviceEngine engine) {
    this.engine = engine;
  }

  int nextRedOp() {
    return ++redOps;
  }

  byte[] newUniqueId() {
    byte[] id = new byte[NcclLibrary.UNIQUE_ID_BYTES];
    random.nextBytes(id);
    issued.add(ByteBuffer.wrap(id.clone()));
    return id;
  }

  private Clique newClique(int size, String how) {
    return new Clique(engine, mathematics, size, "communicator " + ++cliques + " of " + size + how);
  }

  Clique cliqueOf(byte[] uniqueId, int size, NcclErrorSource errors) {
    ByteBuffer key = ByteBuffer.wrap(uniqueId.clone());
    if (uniqueId.length != NcclLibrary.UNIQUE_ID_BYTES) {
      throw engine.fail("ncclCommInitRank with a unique id of " + uniqueId.length + " bytes");
    }
    if (!issued.contains(key)) {
      // An id is the address of its maker's listener: nobody listens there.
      throw errors.error(
          "ncclCommInitRank", NcclResult.SYSTEM_ERROR, "the unique id leads to no one");
    }
    Clique clique = byUniqueId.computeIfAbsent(key, k -> newClique(size, ""));
    if (clique.size != size) {
      throw engine.fail(
          "ncclCommInitRank of " + clique.label() + " with a size of " + size + " on another rank");
    }
    return clique;
  }

  /** The child of a meeting's ranks with this label, the same for all of them. */
  @SuppressWarnings("unchecked")
  Clique childOf(HostMeeting meeting, String label, int size) {
    if (meeting.outcome == null) {
      meeting.outcome = new HashMap<String, Clique>();
    }
    return ((Map<String, Clique>) meeting.outcome)
        .computeIfAbsent(label, l -> newClique(size, ", " + l));
  }

  /** A new id by which a communicator grows; empty while an earlier one is not used up. */
  byte[] newGrowId(Clique parent) {
    Grow current = growing.get(parent);
    if (current != null && (current.clique == null || !current.clique.isComplete())) {
      return new byte[0];
    }
    byte[] id = new byte[NcclLibrary.UNIQUE_ID_BYTES];
    random.nextBytes(id);
    growing.put(parent, new Grow(id));
    parentByGrowId.put(ByteBuffer.wrap(id.clone()), parent);
    return id;
  }

  /** Whether a rank of a communicator can join its growing. */
  boolean isGrowing(Clique parent, int rank) {
    Grow grow = growing.get(parent);
    return grow != null && !grow.joined.contains(rank);
  }

  Clique growingCliqueOf(Clique parent, int rank, int size, byte[] id, NcclErrorSource errors) {
    Grow grow = growing.get(parent);
    if (grow == null) {
      throw errors.error("ncclCommGrow", NcclResult.INTERNAL_ERROR, "aborted");
    }
    if (id.length > 0 && !Arrays.equals(id, grow.id)) {
      throw errors.error("ncclCommGrow", NcclResult.INVALID_ARGUMENT, "magic mismatch");
    }
    grow.joined.add(rank);
    return cliqueOf(grow, size);
  }

  Clique grownCliqueOf(byte[] id, int size, int rank, NcclErrorSource errors) {
    Clique parent = parentByGrowId.get(ByteBuffer.wrap(id.clone()));
    Grow grow = parent == null ? null : growing.get(parent);
    if (grow == null || !Arrays.equals(grow.id, id)) {
      throw errors.error("ncclCommGrow", NcclResult.SYSTEM_ERROR, "the unique id leads to no one");
    }
    if (rank < parent.size) {
      throw engine.fail("ncclCommGrow: a new rank takes rank " + rank + " of " + parent.label());
    }
    return cliqueOf(grow, size);
  }

  private Clique cliqueOf(Grow grow, int size) {
    if (grow.clique == null) {
      grow.clique = newClique(size, ", grown");
    }
    if (grow.clique.size != size) {
      throw engine.fail(
          "ncclCommGrow of " + grow.clique.label() + " with a size of " + size + " elsewhere");
    }
    return grow.clique;
  }
}
