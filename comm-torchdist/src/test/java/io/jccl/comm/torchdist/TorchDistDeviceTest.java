package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.BackendUnavailableException;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Device;
import io.jccl.comm.World;
import io.jccl.comm.spi.Availability;
import org.junit.jupiter.api.Test;

/** Where the presets have no CUDA, as in these tests: c10d's NCCL is refused, and not touched. */
class TorchDistDeviceTest {
  private final TorchDistProvider provider = new TorchDistProvider();

  private static CommConfig on(String device) {
    return CommConfig.empty().with(TorchSettings.DEVICE, device);
  }

  @Test
  void theHostIsTheDefault() {
    Availability available = provider.probe(World.single(), CommConfig.empty());
    assertTrue(available.available(), available.detail());
    assertTrue(available.detail().contains("Gloo"), available.detail());
    assertTrue(provider.create(World.single(), CommConfig.empty()).device().isCpu());
  }

  @Test
  void cudaIsRefusedWithWhatToAdd() {
    Availability available = provider.probe(World.single(), on("cuda"));
    assertFalse(available.available());
    assertTrue(available.detail().contains("-gpu instead of"), available.detail());
    BackendUnavailableException refused =
        assertThrows(
            BackendUnavailableException.class, () -> provider.create(World.single(), on("cuda:0")));
    assertTrue(refused.getMessage().contains("-gpu instead of"), refused.getMessage());
  }

  @Test
  void whatIsNoDeviceIsNamed() {
    Availability available = provider.probe(World.single(), on("gpu"));
    assertFalse(available.available());
    assertEquals("jccl.torchdist.device is gpu, expected cpu, cuda or cuda:N", available.detail());
  }

  @Test
  void aRanksDeviceIsItsLocalRankUnlessOneIsNamed() {
    World fifth = World.threads(6).get(5);
    assertEquals(Device.cuda(1), TorchSettings.cudaDevice(fifth, on("cuda"), 4));
    assertEquals(Device.cuda(3), TorchSettings.cudaDevice(fifth, on("cuda:3"), 4));
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class, () -> TorchSettings.cudaDevice(fifth, on("cuda:4"), 4));
    assertTrue(refused.getMessage().contains("cuda:4"), refused.getMessage());
  }

  @Test
  void anErrorOfNcclsIsToldInOneLine() {
    assertEquals(
        "invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9;"
            + " ncclInvalidUsage: This usually reflects invalid usage.; Last error:; Duplicate GPU",
        C10dErrors.clean(
            new RuntimeException(
                """
                NCCL error in: /build/torch/csrc/ProcessGroupNCCL.cpp:93, invalid usage (run with \
                NCCL_DEBUG=WARN for details), NCCL version 2.28.9
                ncclInvalidUsage: This usually reflects invalid usage.
                Last error:
                Duplicate GPU
                Exception raised from create at /build/NCCLUtils.cpp:93 (most recent call first):
                frame #0: c10::Error
                """)));
  }
}
