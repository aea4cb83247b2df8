package io.jccl.comm.nccl;

import io.jccl.comm.DType;
import io.jccl.comm.nccl.result.CudaRuntime;
import java.util.EnumMap;
import java.util.Map;

/**
 * The kernel of the two-rank all-reduce, {@code out[i] = first[i] + second[i]}, for each dtype:
 * compiled by NVRTC when a dtype is first used, or given by the host application.
 *
 * <p>float16 and bfloat16 are added as float32 and rounded once, to nearest even, which gives what
 * an addition in their own type would. The source includes nothing, since NVRTC has no headers of
 * its own.
 */
public final class AddKernels {
  private static final int THREADS = 256;
  private static final int MOST_BLOCKS = 1024;

  private final CudaRuntime cuda;
  private final int device;
  private final Map<DType, Long> functions = new EnumMap<>(DType.class);

  AddKernels(CudaRuntime cuda, int device) {
    this.cuda = cuda;
    this.device = device;
  }

  /**
   * {@return whether there is a kernel for a dtype, given or to be compiled}
   *
   * @param dtype the type of the elements
   */
  public static boolean supports(DType dtype) {
    return switch (dtype) {
      case FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT32, UINT32, INT64, UINT64, INT8, UINT8 -> true;
      default -> false;
    };
  }

  /**
   * A kernel of the host application's for a dtype.
   *
   * @param function a {@code CUfunction} with the arguments {@code (T* out, const T* first, const
   *     T* second, unsigned long long count)}, for any grid of one dimension, in which {@code out}
   *     may be {@code first}
   */
  void give(DType dtype, long function) {
    functions.put(dtype, function);
  }

  /**
   * Compiles the kernel of a dtype, unless it is there. Not while a stream is captured.
   *
   * @throws io.jccl.comm.CommException if NVRTC does not load or compile
   */
  void prepare(DType dtype) {
    if (!functions.containsKey(dtype)) {
      cuda.setDevice(device);
      functions.put(dtype, cuda.loadKernel(source(dtype), name(dtype)));
    }
  }

  /** Whether {@link #launch} can be called for a dtype. */
  boolean has(DType dtype) {
    return functions.containsKey(dtype);
  }

  /** Enqueues {@code sum[i] = own[i] + other[i]}; {@code sum} may be {@code own}. */
  void launch(DType dtype, long sum, long own, long other, long count, long stream) {
    long blocks = Math.min(MOST_BLOCKS, (count + THREADS - 1) / THREADS);
    cuda.launchKernel(functions.get(dtype), (int) blocks, THREADS, stream, sum, own, other, count);
  }

  /** {@code jccl_add_float32}. */
  static String name(DType dtype) {
    return "jccl_add_" + dtype.label();
  }

  static String source(DType dtype) {
    return """
        %s
        extern "C" __global__ void %s(T* out, const T* first, const T* second,
                                      unsigned long long count) {
          unsigned long long step = (unsigned long long) gridDim.x * blockDim.x;
          for (unsigned long long i = (unsigned long long) blockIdx.x * blockDim.x + threadIdx.x;
               i < count; i += step) {
            out[i] = add(first[i], second[i]);
          }
        }
        """
        .formatted(element(dtype), name(dtype));
  }

  private static String element(DType dtype) {
    return switch (dtype) {
      case FLOAT32 -> plain("float");
      case FLOAT64 -> plain("double");
      case INT32, UINT32 -> plain("unsigned int");
      case INT64, UINT64 -> plain("unsigned long long");
      case INT8, UINT8 -> plain("unsigned char");
      case FLOAT16 ->
          """
          typedef unsigned short T;
          __device__ float widen(T x) {
            float f;
            asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
            return f;
          }
          __device__ T add(T a, T b) {
            T x;
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(widen(a) + widen(b)));
            return x;
          }
          """;
      case BFLOAT16 ->
          """
          typedef unsigned short T;
          __device__ float widen(T x) { return __int_as_float((int) x << 16); }
          __device__ T add(T a, T b) {
            float sum = widen(a) + widen(b);
            unsigned int bits = (unsigned int) __float_as_int(sum);
            if ((bits & 0x7fffffffu) > 0x7f800000u) {
              return (T) ((bits >> 16) | 0x40u);
            }
            return (T) ((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
          }
          """;
      default -> throw new IllegalArgumentException("there is no add kernel for dtype " + dtype);
    };
  }

  private static String plain(String type) {
    return """
        typedef %s T;
        __device__ T add(T a, T b) { return (T) (a + b); }
        """
        .formatted(type);
  }
}
