package io.jccl.comm.internal;

import io.jccl.comm.Operation;
import io.jccl.comm.Tensor;
import java.util.Arrays;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/** Says in words what must be the same on every rank that makes a call. */
final class CallText {
  private CallText() {}

  /** {@code allReduce(16 float32, SUM)}. */
  static String of(Call call) {
    StringJoiner text = new StringJoiner(", ", call.operation + "(", ")");
    if (call.operation == Operation.ALL_REDUCE_COALESCED) {
      text.add(call.tensors.stream().map(CallText::of).collect(Collectors.joining(" + ")));
    } else if (call.commonElements() >= 0 && call.operation != Operation.BARRIER) {
      text.add(call.commonElements() + " " + call.dtypeLabel());
    } else if (call.operation != Operation.BARRIER) {
      text.add(call.dtypeLabel());
    }
    if (call.op != null) {
      text.add(call.op.toString());
    }
    if (call.peer >= 0) {
      text.add("root " + call.peer);
    }
    if (call.operation == Operation.ALL_GATHER_V || call.operation == Operation.REDUCE_SCATTER_V) {
      text.add("counts " + Arrays.toString(call.counts));
    }
    return text.toString();
  }

  /** {@code 16 float32}. */
  static String of(Tensor tensor) {
    return tensor.numel() + " " + tensor.dtype().label();
  }

  /**
   * Where ranks know different things of parts of uneven size: on one line how many elements this
   * rank gives to each, on the next how many it takes from each. Else an empty line.
   */
  static String parts(Call call) {
    int size = call.group().size();
    long[] gives = new long[size];
    long[] takes = new long[size];
    boolean isRoot = call.rank() == call.peer;
    switch (call.operation) {
      case ALL_TO_ALL_V -> {
        gives = call.counts;
        takes = call.recvCounts;
      }
      case GATHER_V -> {
        gives[call.peer] = call.in.numel();
        takes = isRoot ? call.counts : takes;
      }
      case SCATTER_V -> {
        takes[call.peer] = call.out.numel();
        gives = isRoot ? call.counts : gives;
      }
      default -> {
        return "";
      }
    }
    return join(gives) + "\n" + join(takes);
  }

  private static String join(long[] counts) {
    return Arrays.stream(counts).mapToObj(Long::toString).collect(Collectors.joining(","));
  }

  /** The reverse of one line of {@link #parts}. */
  static long[] counts(String line) {
    return Arrays.stream(line.split(",", -1)).mapToLong(Long::parseLong).toArray();
  }
}
