package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.CudaException;

/** The cudaError_t that the simulation answers with, by driver_types.h. */
enum CudaError {
  INVALID_VALUE(1, "cudaErrorInvalidValue", "invalid argument"),
  MEMORY_ALLOCATION(2, "cudaErrorMemoryAllocation", "out of memory"),
  INVALID_DEVICE(101, "cudaErrorInvalidDevice", "invalid device ordinal"),
  INVALID_RESOURCE_HANDLE(400, "cudaErrorInvalidResourceHandle", "invalid resource handle"),
  CAPTURE_UNSUPPORTED(
      900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"),
  CAPTURE_INVALIDATED(
      901,
      "cudaErrorStreamCaptureInvalidated",
      "operation failed due to a previous error during capture"),
  CAPTURE_MERGE(
      902, "cudaErrorStreamCaptureMerge", "operation would result in a merge of separate captures"),
  CAPTURE_UNMATCHED(
      903,
      "cudaErrorStreamCaptureUnmatched",
      "capture was not ended in the same stream as it began"),
  CAPTURE_UNJOINED(904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"),
  CAPTURE_ISOLATION(
      905, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work"),
  CAPTURE_IMPLICIT(
      906,
      "cudaErrorStreamCaptureImplicit",
      "operation would make the legacy stream depend on a capturing blocking stream"),
  CAPTURED_EVENT(
      907,
      "cudaErrorCapturedEvent",
      "operation not permitted on an event last recorded in a capturing stream"),
  CAPTURE_WRONG_THREAD(
      908,
      "cudaErrorStreamCaptureWrongThread",
      "attempt to terminate a thread-local capture from another thread");

  private final int code;
  private final String symbol;
  private final String meaning;

  CudaError(int code, String symbol, String meaning) {
    this.code = code;
    this.symbol = symbol;
    this.meaning = meaning;
  }

  CudaException of(String call) {
    return new CudaException(call, code, symbol, meaning);
  }

  CudaException of(String call, String detail) {
    return new CudaException(call, code, symbol, meaning + "; " + detail);
  }
}
