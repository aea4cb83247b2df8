package io.jccl.comm.cli;

import io.jccl.comm.DType;
import io.jccl.comm.Tensor;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Writes test data into host tensors, and compares what came out of a collective. */
final class Elements {
  /** In every float type a NaN, which no reduction of the test data yields. */
  private static final byte UNTOUCHED = (byte) 0xFF;

  private Elements() {}

  /** The bits that an element of a dtype has. */
  static long mask(DType dtype) {
    return -1L >>> (64 - 8 * dtype.byteSize());
  }

  /** The number that the bits of an integer dtype stand for; uint64 keeps its bits. */
  static long widen(DType dtype, long bits) {
    int shift = 64 - 8 * dtype.byteSize();
    return dtype.isUnsigned() ? bits & mask(dtype) : bits << shift >> shift;
  }

  /** Writes a rank's input. */
  static void fill(Tensor tensor, Values values, int rank) {
    ByteBuffer memory = tensor.memory();
    int count = Math.toIntExact(tensor.numel());
    switch (tensor.dtype().byteSize()) {
      case 1 -> {
        for (int i = 0; i < count; i++) {
          memory.put(i, (byte) values.input(rank, i));
        }
      }
      case 2 -> {
        for (int i = 0; i < count; i++) {
          memory.putShort(2 * i, (short) values.input(rank, i));
        }
      }
      case 4 -> {
        for (int i = 0; i < count; i++) {
          memory.putInt(4 * i, (int) values.input(rank, i));
        }
      }
      default -> {
        for (int i = 0; i < count; i++) {
          memory.putLong(8 * i, values.input(rank, i));
        }
      }
    }
    Reference.reachabilityFence(tensor);
  }

  /** Overwrites a tensor, so that what an earlier call left there cannot pass for a result. */
  static void wipe(Tensor tensor) {
    ByteBuffer memory = tensor.memory();
    int bytes = Math.toIntExact(tensor.byteSize());
    for (int i = 0; i < bytes; i++) {
      memory.put(i, UNTOUCHED);
    }
    Reference.reachabilityFence(tensor);
  }

  /** How many elements of a result are not what its segments say. */
  static long countWrong(Tensor tensor, List<Segment> segments, Values values) {
    long wrong = 0;
    for (Segment segment : segments) {
      wrong += countWrong(tensor, segment, values);
    }
    return wrong;
  }

  private static long countWrong(Tensor tensor, Segment segment, Values values) {
    ByteBuffer memory = tensor.memory();
    int width = tensor.dtype().byteSize();
    long wrong = 0;
    for (long i = 0; i < segment.count(); i++) {
      long source = segment.sourceOffset() + i;
      long expected =
          segment.isReduced()
              ? values.reduced(source)
              : values.input(segment.sourceRank(), source);
      if (!values.matches(expected, read(memory, width, (int) (segment.offset() + i)))) {
        wrong++;
      }
    }
    Reference.reachabilityFence(tensor);
    return wrong;
  }

  private static long read(ByteBuffer memory, int width, int index) {
    return switch (width) {
      case 1 -> memory.get(index) & 0xFFL;
      case 2 -> memory.getShort(2 * index) & 0xFFFFL;
      case 4 -> memory.getInt(4 * index) & 0xFFFF_FFFFL;
      default -> memory.getLong(8 * index);
    };
  }

  /** Flips the highest bit of one element, which changes its value in every dtype. */
  static void corrupt(Tensor tensor, long index) {
    int lastByte = Math.toIntExact((index + 1) * tensor.dtype().byteSize() - 1);
    int firstByte = Math.toIntExact(index * tensor.dtype().byteSize());
    ByteBuffer memory = tensor.memory();
    int at = memory.order() == ByteOrder.LITTLE_ENDIAN ? lastByte : firstByte;
    memory.put(at, (byte) (memory.get(at) ^ 0x80));
    Reference.reachabilityFence(tensor);
  }
}
