package io.jccl.comm.nccl.sys;

import io.jccl.comm.CommException;
import org.bytedeco.cuda.global.nvrtc;
import org.bytedeco.cuda.nvrtc._nvrtcProgram;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.SizeTPointer;

/** CUDA's run-time compiler. Its natives are loaded when the first kernel is compiled. */
final class Nvrtc {
  private Nvrtc() {}

  /**
   * Compiles a kernel for a device: to its machine code, or, where the compiler is older than the
   * device, to PTX, from which the driver makes it. Machine code first, because a driver that is
   * older than the compiler does not read its PTX.
   *
   * @param computeCapability of the device, 90 for 9.0
   * @throws CommException if NVRTC does not load or compile, with its log
   */
  static BytePointer compile(String source, String fileName, int computeCapability) {
    Natives.load(nvrtc.class, "libnvrtc.so.13");
    try (BytePointer code = new BytePointer(source);
        BytePointer name = new BytePointer(fileName);
        _nvrtcProgram program = new _nvrtcProgram()) {
      check(
          nvrtc.nvrtcCreateProgram(program, code, name, 0, (BytePointer) null, (BytePointer) null),
          "nvrtcCreateProgram");
      try {
        int newest = newestArchitecture(computeCapability);
        return newest == computeCapability
            ? machineCode(program, computeCapability)
            : portableCode(program, newest);
      } finally {
        int unused = nvrtc.nvrtcDestroyProgram(program);
      }
    }
  }

  private static BytePointer machineCode(_nvrtcProgram program, int architecture) {
    compile(program, "--gpu-architecture=sm_" + architecture);
    try (SizeTPointer size = new SizeTPointer(1)) {
      check(nvrtc.nvrtcGetCUBINSize(program, size), "nvrtcGetCUBINSize");
      BytePointer code = new BytePointer(size.get());
      check(nvrtc.nvrtcGetCUBIN(program, code), "nvrtcGetCUBIN");
      return code;
    }
  }

  private static BytePointer portableCode(_nvrtcProgram program, int architecture) {
    compile(program, "--gpu-architecture=compute_" + architecture);
    try (SizeTPointer size = new SizeTPointer(1)) {
      check(nvrtc.nvrtcGetPTXSize(program, size), "nvrtcGetPTXSize");
      BytePointer ptx = new BytePointer(size.get());
      check(nvrtc.nvrtcGetPTX(program, ptx), "nvrtcGetPTX");
      return ptx;
    }
  }

  private static void compile(_nvrtcProgram program, String option) {
    try (BytePointer text = new BytePointer(option);
        // Of one text, not made from it: that constructor would take the text for the array.
        PointerPointer<BytePointer> options = new PointerPointer<>(1L)) {
      options.put(0, text);
      int code = nvrtc.nvrtcCompileProgram(program, 1, options);
      if (code != nvrtc.NVRTC_SUCCESS) {
        throw failure(code, "nvrtcCompileProgram", log(program));
      }
    }
  }

  /** The newest architecture that the compiler knows and that is not newer than the device. */
  private static int newestArchitecture(int computeCapability) {
    int[] count = new int[1];
    check(nvrtc.nvrtcGetNumSupportedArchs(count), "nvrtcGetNumSupportedArchs");
    int[] architectures = new int[count[0]];
    check(nvrtc.nvrtcGetSupportedArchs(architectures), "nvrtcGetSupportedArchs");
    int newest = 0;
    for (int architecture : architectures) {
      if (architecture <= computeCapability) {
        newest = Math.max(newest, architecture);
      }
    }
    return newest;
  }

  private static String log(_nvrtcProgram program) {
    try (SizeTPointer size = new SizeTPointer(1)) {
      if (nvrtc.nvrtcGetProgramLogSize(program, size) != nvrtc.NVRTC_SUCCESS) {
        return "";
      }
      try (BytePointer log = new BytePointer(size.get())) {
        return nvrtc.nvrtcGetProgramLog(program, log) == nvrtc.NVRTC_SUCCESS ? log.getString() : "";
      }
    }
  }

  private static void check(int code, String call) {
    if (code != nvrtc.NVRTC_SUCCESS) {
      throw failure(code, call, "");
    }
  }

  private static CommException failure(int code, String call, String log) {
    return new CommException(
        call
            + " failed with "
            + nvrtc.nvrtcGetErrorString(code).getString()
            + " ("
            + code
            + ")"
            + (log.isBlank() ? "" : ": " + log.strip()));
  }
}
