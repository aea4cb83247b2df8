package io.jccl.comm.torchdist;

import java.util.Locale;
import java.util.regex.Pattern;

/** Reads what c10d and Gloo say when something went wrong. */
final class C10dErrors {
  /** c10::Error appends where it was raised and a stack of C++ frames. */
  private static final Pattern STACK =
      Pattern.compile("\\s*(Exception raised from |C\\+\\+ CapturedTraceback:).*", Pattern.DOTALL);

  /** Gloo's GLOO_ERROR_MSG puts the source file and line in front. */
  private static final Pattern SOURCE_LINE =
      Pattern.compile("\\[[^\\[\\]\\s]+\\.(?:cc|cpp|h|hpp):\\d+\\]\\s*");

  /** What ProcessGroupNCCL puts in front: where in its source NCCL was called. */
  private static final Pattern NCCL_SOURCE_LINE = Pattern.compile("NCCL error in: \\S+:\\d+,\\s*");

  private static final Pattern LINE_BREAK = Pattern.compile("\\s*\\R\\s*");

  private C10dErrors() {}

  /** The message in one line, without source lines and stack. */
  static String clean(Throwable error) {
    String message = error.getMessage();
    if (message == null) {
      return error.getClass().getSimpleName();
    }
    String told = SOURCE_LINE.matcher(STACK.matcher(message).replaceFirst("")).replaceAll("");
    told = NCCL_SOURCE_LINE.matcher(told).replaceAll("");
    return LINE_BREAK.matcher(told.strip()).replaceAll("; ");
  }

  /**
   * Whether a deadline passed on this side: c10d's "Operation timed out!", Gloo's "Timed out
   * waiting 10ms for recv operation to complete", a store's "wait timeout after 10ms". A peer's
   * timeout is seen here as a closed connection.
   */
  static boolean isTimeout(Throwable error) {
    String message = String.valueOf(error.getMessage()).toLowerCase(Locale.ROOT);
    return message.contains("timed out") || message.contains("wait timeout");
  }
}
