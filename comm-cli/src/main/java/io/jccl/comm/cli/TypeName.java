package io.jccl.comm.cli;

import io.jccl.comm.DType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The dtypes of {@code -d}, by the names that nccl-tests has for them. */
final class TypeName {
  private static final Map<String, DType> BY_NAME = new LinkedHashMap<>();

  static {
    BY_NAME.put("int8", DType.INT8);
    BY_NAME.put("uint8", DType.UINT8);
    BY_NAME.put("int32", DType.INT32);
    BY_NAME.put("uint32", DType.UINT32);
    BY_NAME.put("int64", DType.INT64);
    BY_NAME.put("uint64", DType.UINT64);
    BY_NAME.put("half", DType.FLOAT16);
    BY_NAME.put("float", DType.FLOAT32);
    BY_NAME.put("double", DType.FLOAT64);
    BY_NAME.put("bfloat16", DType.BFLOAT16);
    BY_NAME.put("f8e4m3", DType.FLOAT8_E4M3);
    BY_NAME.put("f8e5m2", DType.FLOAT8_E5M2);
  }

  private TypeName() {}

  /** All dtypes that have such a name, in nccl-tests' order. */
  static List<DType> all() {
    return List.copyOf(BY_NAME.values());
  }

  static String of(DType dtype) {
    return BY_NAME.entrySet().stream()
        .filter(entry -> entry.getValue() == dtype)
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(dtype.label());
  }

  /**
   * The dtype of a name.
   *
   * @throws IllegalArgumentException if there is none, naming all
   */
  static DType parse(String text) {
    DType dtype = BY_NAME.get(text.strip().toLowerCase(Locale.ROOT));
    if (dtype == null) {
      throw new IllegalArgumentException(
          "\""
              + text
              + "\" is no datatype, expected "
              + String.join(", ", BY_NAME.keySet())
              + " or all");
    }
    return dtype;
  }
}
