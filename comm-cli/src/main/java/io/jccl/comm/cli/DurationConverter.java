package io.jccl.comm.cli;

import io.jccl.comm.CommConfig;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Times as the configuration writes them: {@code 500ms}, {@code 30s}, {@code PT1H}. */
final class DurationConverter implements ITypeConverter<Duration> {
  @Override
  public Duration convert(String text) {
    try {
      return CommConfig.empty().with(CommConfig.TIMEOUT, text).get(CommConfig.TIMEOUT);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(
          "\"" + text + "\" is no time, expected one such as 500ms, 30s, 5m, 1h or PT30S");
    }
  }
}
