package io.jccl.comm.internal;

import io.jccl.comm.CallInfo;
import io.jccl.comm.CommHook;
import io.jccl.comm.Tensor;
import java.util.List;

/**
 * The hook {@code nan}: refuses a call whose input on this rank holds a NaN, before anything is
 * sent. Reads all of the input, and copies it to the host first if it is on a device.
 */
public final class NanCheckHook implements CommHook {
  /** What is looked at, and copied from a device, at a time. */
  private static final long PART_ELEMENTS = 1L << 22;

  @Override
  public String name() {
    return "nan";
  }

  /**
   * Looks at the input.
   *
   * @throws IllegalArgumentException if an element is a NaN, naming the first; or if the input is
   *     on a device where it cannot be looked at
   */
  @Override
  public void before(CallInfo call) {
    List<Tensor> inputs = call.inputs();
    for (int i = 0; i < inputs.size(); i++) {
      Tensor input = inputs.get(i);
      if (!NanSearch.has(input.dtype())) {
        continue;
      }
      long element = firstNan(call, input);
      if (element >= 0) {
        throw new IllegalArgumentException(
            describe(call)
                + ": input "
                + (inputs.size() == 1 ? "" : i + " of " + inputs.size() + ", ")
                + TensorText.of(input)
                + ", is NaN at element "
                + element
                + ", "
                + TensorText.position(input, element)
                + ", expected none (jccl.hooks has nan); nothing was sent");
      }
    }
  }

  private static long firstNan(CallInfo call, Tensor input) {
    for (long first = 0; first < input.numel(); first += PART_ELEMENTS) {
      long count = Math.min(PART_ELEMENTS, input.numel() - first);
      long found = NanSearch.first(onHost(call, input.elements(first, count)));
      if (found >= 0) {
        return first + found;
      }
    }
    return -1;
  }

  private static Tensor onHost(CallInfo call, Tensor part) {
    try {
      return call.onHost(part);
    } catch (IllegalStateException e) {
      throw new IllegalArgumentException(
          describe(call)
              + ": input is on "
              + part.device()
              + ", whose memory the NaN check cannot look at ("
              + e.getMessage()
              + "); take nan out of jccl.hooks or check the tensor before the call",
          e);
    }
  }

  private static String describe(CallInfo call) {
    return call.operation()
        + " on communicator "
        + call.communicator()
        + ", rank "
        + call.rank()
        + " (rank "
        + call.group().globalRank(call.rank())
        + " of the world)";
  }
}
