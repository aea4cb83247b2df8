package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclResult;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a thread has called since its outermost ncclGroupStart. */
final class SimGroup {
  int depth;

  /** Above 0 while the calls are being issued. */
  int issuing;

  /** The first error of a call in the group, which the group's end reports (ncclGroupErrCheck). */
  NcclResult error = NcclResult.SUCCESS;

  String errorDetail = "";

  /** By communicator, in the order of their first calls. */
  final Map<SimComm, List<NcclCall>> calls = new LinkedHashMap<>();

  /** Communicators whose making ends with the group. */
  final List<SimComm> starting = new ArrayList<>();

  boolean hasCallsOn(SimStream stream) {
    return calls.values().stream().flatMap(List::stream).anyMatch(call -> call.stream() == stream);
  }

  void clear() {
    error = NcclResult.SUCCESS;
    errorDetail = "";
    calls.clear();
    starting.clear();
  }
}
