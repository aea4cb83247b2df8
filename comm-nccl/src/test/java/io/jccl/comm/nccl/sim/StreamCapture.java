package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.CaptureMode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** A capture that goes on: the nodes so far, and the streams that are in it. */
final class StreamCapture {
  final SimStream origin;
  final CaptureMode mode;
  final Thread thread = Thread.currentThread();
  final Set<SimStream> streams = new LinkedHashSet<>();
  final List<GraphNode> nodes = new ArrayList<>();

  /**
   * NCCL keeps its kernels of one capture in the order of their calls (NCCL_GRAPH_STREAM_ORDERING).
   */
  private GraphNode lastNccl;

  private String invalidatedBy = "";

  StreamCapture(SimStream origin, CaptureMode mode) {
    this.origin = origin;
    this.mode = mode;
    join(origin);
  }

  void join(SimStream stream) {
    if (streams.add(stream)) {
      stream.capture = this;
      stream.frontier.clear();
    }
  }

  GraphNode add(String name, Runnable effect, CapturedLaunch launch, List<SimStream> onStreams) {
    Set<GraphNode> before = new LinkedHashSet<>();
    for (SimStream stream : onStreams) {
      before.addAll(stream.frontier);
    }
    if (launch != null && lastNccl != null) {
      before.add(lastNccl);
    }
    GraphNode node = new GraphNode(name, effect, launch, List.copyOf(before));
    if (launch != null) {
      lastNccl = node;
      launch.comm().graphReferences++;
    }
    nodes.add(node);
    for (SimStream stream : onStreams) {
      stream.frontier.clear();
      stream.frontier.add(node);
    }
    return node;
  }

  void invalidate(String by) {
    if (invalidatedBy.isEmpty()) {
      invalidatedBy = by;
    }
  }

  boolean isInvalidated() {
    return !invalidatedBy.isEmpty();
  }

  String invalidatedBy() {
    return invalidatedBy;
  }

  /** Whether all captured work is before the origin's end, as cudaStreamEndCapture wants it. */
  boolean isJoined() {
    Set<GraphNode> reached = new HashSet<>();
    Deque<GraphNode> todo = new ArrayDeque<>(origin.frontier);
    while (!todo.isEmpty()) {
      GraphNode node = todo.poll();
      if (reached.add(node)) {
        todo.addAll(node.before());
      }
    }
    return reached.containsAll(nodes);
  }

  /** Lets all streams go back to running their work. */
  void end() {
    for (SimStream stream : streams) {
      stream.capture = null;
      stream.frontier.clear();
    }
    streams.clear();
  }

  /** Gives back what the nodes hold, when no graph takes them over. */
  static void releaseComms(List<GraphNode> nodes) {
    for (GraphNode node : nodes) {
      if (node.launch() != null) {
        node.launch().comm().graphReferences--;
      }
    }
  }
}
