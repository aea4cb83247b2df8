package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.DType;
import io.jccl.comm.Device;
import io.jccl.comm.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class TorchTensorsTest {

  @BeforeAll
  static void load() {
    TorchNatives.load();
  }

  @Test
  void aViewIsTheSameMemory() {
    try (org.bytedeco.pytorch.Tensor source = torch.arange(new org.bytedeco.pytorch.Scalar(6f))) {
      Tensor view = TorchTensors.view(source);
      assertEquals(DType.FLOAT32, view.dtype());
      assertArrayEquals(new long[] {6}, view.shape());
      assertEquals(Device.cpu(), view.device());
      assertArrayEquals(new float[] {0, 1, 2, 3, 4, 5}, view.toFloatArray());
      view.memory().putFloat(8, 42f);
      try (org.bytedeco.pytorch.Tensor element = source.select(0, 2)) {
        assertEquals(42f, element.item_float());
      }
    }
  }

  @Test
  void aViewOutlivesTheHandleItWasMadeFrom() {
    org.bytedeco.pytorch.Tensor source =
        torch.full(new long[] {1 << 20}, new org.bytedeco.pytorch.Scalar(7f));
    Tensor view = TorchTensors.view(source);
    source.close();
    float[] values = view.toFloatArray();
    assertEquals(7f, values[0]);
    assertEquals(7f, values[values.length - 1]);
  }

  @Test
  void everyDtypeGoesThereAndBack() {
    for (DType dtype : DType.values()) {
      Tensor tensor = Values.bytesOf(dtype, 6, 1).reshape(2, 3);
      try (org.bytedeco.pytorch.Tensor there = TorchTensors.asTorch(tensor)) {
        Tensor back = TorchTensors.view(there);
        assertEquals(dtype, back.dtype());
        assertArrayEquals(new long[] {2, 3}, back.shape());
        assertEquals(tensor.address(), back.address());
        assertEquals(tensor.buffer(), back.buffer());
      }
    }
  }

  @Test
  void aTransposedTensorIsRefusedNotReadInTheWrongOrder() {
    try (org.bytedeco.pytorch.Tensor source = torch.ones(2, 3);
        org.bytedeco.pytorch.Tensor transposed = source.t()) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> TorchTensors.view(transposed));
      assertTrue(error.getMessage().contains("not contiguous"), error::toString);
    }
  }

  @Test
  void aSparseTensorIsRefused() {
    try (org.bytedeco.pytorch.Tensor source = torch.eye(3);
        org.bytedeco.pytorch.Tensor sparse = source.to_sparse()) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> TorchTensors.view(sparse));
      assertTrue(error.getMessage().contains("Sparse"), error::toString);
    }
  }

  @Test
  void aDtypeThatIsNotJcclsIsRefusedByName() {
    try (TensorOptions options = new TensorOptions(ScalarType.ComplexFloat);
        org.bytedeco.pytorch.Tensor source = torch.zeros(new long[] {2}, options)) {
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> TorchTensors.view(source));
      assertTrue(error.getMessage().contains("ComplexFloat"), error::toString);
    }
  }

  @Test
  void anUndefinedTensorIsRefused() {
    try (org.bytedeco.pytorch.Tensor undefined = new org.bytedeco.pytorch.Tensor()) {
      assertThrows(IllegalArgumentException.class, () -> TorchTensors.view(undefined));
    }
  }

  @Test
  void emptyTensorsAndScalarsGoThereAndBack() {
    for (Tensor tensor : new Tensor[] {Tensor.empty(DType.INT64, 0, 3), Tensor.empty(DType.INT8)}) {
      try (org.bytedeco.pytorch.Tensor there = TorchTensors.asTorch(tensor)) {
        assertArrayEquals(tensor.shape(), TorchTensors.view(there).shape());
      }
    }
  }
}
