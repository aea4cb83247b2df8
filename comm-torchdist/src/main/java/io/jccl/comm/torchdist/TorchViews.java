package io.jccl.comm.torchdist;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The views of memory that a communicator used last, so that calls on the same tensors make no
 * native objects. Not thread-safe.
 */
final class TorchViews implements AutoCloseable {
  private static final int SLOTS = 64;

  private final int device;
  private final TorchView[] slots = new TorchView[SLOTS];

  /** Views that lost their slot while a call may still use them. */
  private final List<TorchView> displaced = new ArrayList<>();

  /** Of memory of the host. */
  TorchViews() {
    this(TorchView.HOST);
  }

  /**
   * @param device the CUDA device, or {@link TorchView#HOST}
   */
  TorchViews(int device) {
    this.device = device;
  }

  /** The view of some elements, good until {@link #endCall}. */
  TorchView of(long address, long numel, ScalarType type) {
    int slot = slotOf(address, numel, type);
    TorchView view = slots[slot];
    if (view != null && view.is(address, numel, type)) {
      return view;
    }
    if (view != null) {
      displaced.add(view);
    }
    view = new TorchView(address, numel, type, device);
    slots[slot] = view;
    return view;
  }

  private static int slotOf(long address, long numel, ScalarType type) {
    long mixed = (address >>> 3) * 0x9E3779B97F4A7C15L + numel * 31 + type.value;
    return (int) ((mixed ^ (mixed >>> 32)) & (SLOTS - 1));
  }

  void endCall() {
    for (int i = displaced.size() - 1; i >= 0; i--) {
      displaced.remove(i).close();
    }
  }

  @Override
  public void close() {
    endCall();
    for (int i = 0; i < SLOTS; i++) {
      if (slots[i] != null) {
        slots[i].close();
        slots[i] = null;
      }
    }
  }
}
