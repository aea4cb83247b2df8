package io.jccl.comm.nccl.result;

/**
 * The loaded NCCL is too old for a call, which was therefore not made: nothing is lost, and the
 * communicator is as before. The message names the feature and the version that brings it.
 */
public final class NcclFeatureMissingException extends UnsupportedOperationException {
  private static final long serialVersionUID = 1L;

  private final NcclFeature feature;

  /**
   * What is missing where.
   *
   * @param feature what is asked for
   * @param version what {@link NcclLibrary#version()} says
   */
  public NcclFeatureMissingException(NcclFeature feature, int version) {
    super(
        feature.title()
            + " needs NCCL "
            + NcclVersion.format(feature.since())
            + " or newer ("
            + feature.symbol()
            + "), but the NCCL that is loaded is "
            + NcclVersion.format(version)
            + (version >= feature.since() ? " and lacks it" : "")
            + "; install a newer one and name it by jccl.nccl.library or LD_LIBRARY_PATH");
    this.feature = feature;
  }

  /** {@return what the loaded library lacks} */
  public NcclFeature feature() {
    return feature;
  }
}
