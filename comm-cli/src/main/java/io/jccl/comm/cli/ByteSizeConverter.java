package io.jccl.comm.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Sizes as nccl-tests writes them: {@code 8}, {@code 32K}, {@code 64M}, in powers of 1024. */
final class ByteSizeConverter implements ITypeConverter<Long> {
  private static final Pattern SIZE = Pattern.compile("(\\d+)([kmg]?)(i?b)?");

  @Override
  public Long convert(String text) {
    Matcher matcher = SIZE.matcher(text.strip().toLowerCase(Locale.ROOT));
    try {
      if (matcher.matches()) {
        int shift =
            switch (matcher.group(2)) {
              case "k" -> 10;
              case "m" -> 20;
              case "g" -> 30;
              default -> 0;
            };
        return Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift);
      }
    } catch (ArithmeticException | NumberFormatException e) {
      throw new TypeConversionException("\"" + text + "\" is more bytes than there are");
    }
    throw new TypeConversionException(
        "\"" + text + "\" is no size, expected one such as 8, 32K or 64M");
  }
}
