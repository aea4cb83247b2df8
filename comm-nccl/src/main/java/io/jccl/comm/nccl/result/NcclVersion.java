package io.jccl.comm.nccl.result;

/** NCCL's version numbers: 23007 is 2.30.7, and up to 2.8 it was 2804 for 2.8.4. */
public final class NcclVersion {
  /** The oldest NCCL that jccl works with. */
  public static final int OLDEST = of(2, 18, 0);

  private NcclVersion() {}

  /**
   * {@code NCCL_VERSION(major, minor, patch)} of {@code nccl.h}.
   *
   * @param major the major version
   * @param minor the minor version
   * @param patch the patch
   * @return the code
   */
  public static int of(int major, int minor, int patch) {
    return major <= 2 && minor <= 8
        ? major * 1000 + minor * 100 + patch
        : major * 10_000 + minor * 100 + patch;
  }

  /**
   * {@code 2.30.7}.
   *
   * @param code as {@code ncclGetVersion} gives it
   * @return the version, as people write it
   */
  public static String format(int code) {
    int major = code < 10_000 ? code / 1000 : code / 10_000;
    int minor = code < 10_000 ? code % 1000 / 100 : code % 10_000 / 100;
    return major + "." + minor + "." + code % 100;
  }
}
