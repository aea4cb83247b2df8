package io.jccl.comm.internal;

import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.ReduceOp;
import io.jccl.comm.Tensor;
import io.jccl.comm.spi.CommEngine;
import java.util.Arrays;
import java.util.List;

/**
 * What a caller can get wrong, found before anything is sent: once, for all backends.
 *
 * <p>Each method throws {@link IllegalArgumentException} that names the argument, what was given
 * and what was expected. None allocates unless it throws.
 */
final class Checks {
  private final Device device;
  private final int rank;
  private final int size;
  private final String backend;

  Checks(Device device, int rank, int size, String backend) {
    this.device = device;
    this.rank = rank;
    this.size = size;
    this.backend = backend;
  }

  void tensor(String name, Tensor tensor) {
    if (tensor == null) {
      throw new IllegalArgumentException(name + " is null, expected a tensor on " + device);
    }
    if (!tensor.device().equals(device)) {
      throw new IllegalArgumentException(
          name
              + " is "
              + tensor
              + ", expected a tensor on "
              + device
              + ", where this communicator is");
    }
  }

  void pair(Tensor in, Tensor out) {
    tensor("in", in);
    tensor("out", out);
    if (in.dtype() != out.dtype()) {
      throw new IllegalArgumentException(
          "out is " + out + ", expected the dtype of in, which is " + in);
    }
  }

  /** {@code whole} has one part of the size of {@code part} for each rank. */
  void parts(String wholeName, Tensor whole, String partName, Tensor part) {
    if (whole.numel() % size != 0 || whole.numel() / size != part.numel()) {
      throw new IllegalArgumentException(
          wholeName
              + " has "
              + whole.numel()
              + " elements and "
              + partName
              + " has "
              + part.numel()
              + ", expected "
              + wholeName
              + " to have "
              + size
              + " times as many as "
              + partName
              + ", one part a rank");
    }
  }

  void sameNumel(Tensor in, Tensor out) {
    if (in.numel() != out.numel()) {
      throw new IllegalArgumentException(
          "out has " + out.numel() + " elements, expected " + in.numel() + ", as many as in has");
    }
  }

  /** {@code in} and {@code out} are the very same memory, or apart. */
  void sameOrApart(Tensor in, Tensor out) {
    if (in.address() != out.address()) {
      apart(in, out, "the same memory, or not overlapping at all");
    }
  }

  /** {@code part} is this rank's part of {@code whole}, {@code offset} elements in, or apart. */
  void partOrApart(Tensor whole, Tensor part, long offset) {
    if (part.address() != whole.address() + offset * whole.dtype().byteSize()) {
      apart(whole, part, "this rank's part of the other, or not overlapping at all");
    }
  }

  void apart(Tensor in, Tensor out) {
    apart(in, out, "not overlapping");
  }

  private static void apart(Tensor in, Tensor out, String expected) {
    if (overlap(in, out)) {
      throw overlapping("in and out", in, out, expected);
    }
  }

  static boolean overlap(Tensor a, Tensor b) {
    return a.numel() != 0
        && b.numel() != 0
        && a.address() < b.address() + b.byteSize()
        && b.address() < a.address() + a.byteSize();
  }

  static IllegalArgumentException overlapping(String names, Tensor a, Tensor b, String expected) {
    long aStart = a.address();
    long bStart = b.address();
    return new IllegalArgumentException(
        names
            + " overlap by "
            + (Math.min(aStart + a.byteSize(), bStart + b.byteSize()) - Math.max(aStart, bStart))
            + " bytes, with "
            + Math.abs(aStart - bStart)
            + " bytes between their starts, expected "
            + expected);
  }

  /** The reduction can be done on this dtype, by this backend. */
  void reduction(ReduceOp op, DType dtype, CommEngine engine) {
    requireOp(op);
    if (!op.isDefinedOn(dtype)) {
      throw new IllegalArgumentException(
          "op is "
              + op
              + " on "
              + dtype
              + ", expected "
              + (dtype.isArithmetic() ? "a floating-point dtype" : "a dtype with arithmetic"));
    }
    if (!engine.supports(op.kind(), dtype)) {
      throw new IllegalArgumentException(
          "op is " + op + " on " + dtype + ", which the backend " + backend + " does not support");
    }
  }

  private static void requireOp(ReduceOp op) {
    if (op == null) {
      throw new IllegalArgumentException("op is null, expected a ReduceOp");
    }
  }

  void root(int root) {
    member("root", root);
  }

  void member(String name, int peer) {
    if (peer < 0 || peer >= size) {
      throw new IllegalArgumentException(
          name + " is " + peer + ", expected a rank in the group, 0 to " + (size - 1));
    }
  }

  /** A rank in the group other than this one. */
  void otherMember(String name, int peer) {
    member(name, peer);
    if (peer == rank) {
      throw new IllegalArgumentException(
          name
              + " is "
              + peer
              + ", this rank itself, expected another; in a batch a rank may send to itself");
    }
  }

  void notRoot(String missing, int root) {
    root(root);
    if (rank == root) {
      throw new IllegalArgumentException(
          "root is " + root + ", this rank itself, which needs the form with " + missing);
    }
  }

  /** Counts, one a rank, none negative, that sum to the elements of {@code whole}. */
  void counts(String name, long[] counts, String wholeName, Tensor whole) {
    if (counts == null || counts.length != size) {
      throw new IllegalArgumentException(
          name
              + " is "
              + (counts == null ? "null" : "of length " + counts.length)
              + ", expected one count a rank, "
              + size);
    }
    long sum = 0;
    for (long count : counts) {
      if (count < 0 || sum + count < 0) {
        throw new IllegalArgumentException(
            name + " is " + Arrays.toString(counts) + ", expected counts of 0 or more");
      }
      sum += count;
    }
    if (sum != whole.numel()) {
      throw new IllegalArgumentException(
          name
              + " is "
              + Arrays.toString(counts)
              + ", which sums to "
              + sum
              + ", expected the "
              + whole.numel()
              + " elements of "
              + wholeName);
    }
  }

  /** {@code part} has as many elements as this rank's count. */
  void ownCount(String name, long[] counts, String partName, Tensor part) {
    if (part.numel() != counts[rank]) {
      throw new IllegalArgumentException(
          partName
              + " has "
              + part.numel()
              + " elements, expected "
              + counts[rank]
              + ", which "
              + name
              + " has for this rank, "
              + rank);
    }
  }

  /** Where this rank's part begins, in elements. */
  long ownOffset(long[] counts) {
    long offset = 0;
    for (int i = 0; i < rank; i++) {
      offset += counts[i];
    }
    return offset;
  }

  void divides(String name, Tensor tensor) {
    if (tensor.numel() % size != 0) {
      throw new IllegalArgumentException(
          name
              + " has "
              + tensor.numel()
              + " elements, expected a multiple of the group's size, "
              + size);
    }
  }

  void coalesced(List<Tensor> tensors, ReduceOp op, CommEngine engine) {
    if (tensors == null) {
      throw new IllegalArgumentException("tensors is null, expected a list of tensors");
    }
    requireOp(op);
    for (int i = 0; i < tensors.size(); i++) {
      Tensor tensor = tensors.get(i);
      if (tensor == null) {
        throw new IllegalArgumentException("tensors[" + i + "] is null, expected a tensor");
      }
      if (!tensor.device().equals(device)) {
        tensor("tensors[" + i + "]", tensor);
      }
      reduction(op, tensor.dtype(), engine);
      for (int j = 0; j < i; j++) {
        if (overlap(tensors.get(j), tensor)) {
          throw overlapping(
              "tensors[" + j + "] and tensors[" + i + "]",
              tensors.get(j),
              tensor,
              "not overlapping");
        }
      }
    }
  }
}
