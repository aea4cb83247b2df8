package io.jccl.comm.torchdist;

import org.bytedeco.javacpp.Pointer;

/** How long native objects live. */
final class Natives {
  private Natives() {}

  /**
   * Keeps a new native object alive until it is deallocated by hand. JavaCPP attaches what a thread
   * makes to the innermost {@code PointerScope} that is open there, which may be the caller's, and
   * frees it when that one closes, unless somebody else has a reference too.
   */
  static <P extends Pointer> P keep(P pointer) {
    pointer.retainReference();
    return pointer;
  }
}
