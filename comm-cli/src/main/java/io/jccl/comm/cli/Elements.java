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
    try {
      fill(
          tensor.memory(),
          tensor.dtype().byteSize(),
          Math.toIntExact(tensor.numel()),
          values,
          rank);
    } finally {
      Reference.reachabilityFence(tensor);
    }
  }

  private static void fill(ByteBuffer memory, int width, int count, Values values, int rank) {
    switch (width) {
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
  }

  /** Overwrites a tensor, so that what an earlier call left there cannot pass for a result. */
  static void wipe(Tensor tensor) {
    try {
      ByteBuffer memory = tensor.memory();
      int bytes = Math.toIntExact(tensor.byteSize());
      for (int i = 0; i < bytes; i++) {
        memory.put(i, UNTOUCHED);
      }
    } finally {
      Reference.reachabilityFence(tensor);
    }
  }

  /** How many elements of a result are not what its segments say. */
  static long countWrong(Tensor tensor, List<Segment> segments, Values values) {
    try {
      long wrong = 0;
      for (Segment segment : segments) {
        wrong += countWrong(tensor.memory(), tensor.dtype().byteSize(), segment, values);
      }
      return wrong;
    } finally {
      Reference.reachabilityFence(tensor);
    }
  }

  private static long countWrong(ByteBuffer memory, int width, Segment segment, Values values) {
    long wrong = 0;
    for (long i = 0; i < segment.count(); i++) {
      long source = segment.sourceOffset() + i;
      long expected =
          segment.isReduced() ? values.reduced(source) : values.input(segment.sourceRank(), source);
      if (!values.matches(expected, read(memory, width, (int) (segment.offset() + i)))) {
        wrong++;
      }
    }
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
    try {
      ByteBuffer memory = tensor.memory();
      int width = tensor.dtype().byteSize();
      int first = Math.toIntExact(index * width);
      int at = memory.order() == ByteOrder.LITTLE_ENDIAN ? first + width - 1 : first;
      memory.put(at, (byte) (memory.get(at) ^ 0x80));
    } finally {
      Reference.reachabilityFence(tensor);
    }
  }
}
