package io.jccl.comm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTensorsWithoutJavaCppTest {
  private static final String DONE = "every call on host tensors worked";

  @TempDir Path folder;

  /** What the child JVM runs. */
  public static final class Main {
    private Main() {}

    /** Uses host tensors in each way that needs no JavaCPP. */
    public static void main(String[] args) {
      Tensor floats = Tensor.of(1f, 2f, 3f, 4f);
      Tensor wrapped = Tensor.wrap(ByteBuffer.allocateDirect(4), DType.UINT8, 4);
      Tensor table = floats.reshape(2, 2).rows(1, 1);
      table.buffer().putFloat(0, 9f);
      if (floats.elements(2, 1).toFloatArray()[0] != 9f || wrapped.toLongArray()[3] != 0) {
        throw new AssertionError("wrong elements");
      }
      try (World world = World.single();
          CommBackend comm =
              CommBackends.builder()
                  .world(world)
                  .providers(List.of(new io.jccl.comm.internal.FakeProvider("fake", 1)))
                  .config(CommConfig.empty())
                  .open()) {
        comm.allReduce(floats, world.group(), ReduceOp.preMulSum(2));
        if (comm.allGather(floats, world.group(), 0).toFloatArray()[0] != 2f) {
          throw new AssertionError("wrong collective");
        }
      }
      System.out.println(DONE);
    }
  }

  private String runMain(String classPath, String... jvmOptions) throws Exception {
    Path output = folder.resolve("output");
    ProcessBuilder child =
        new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    child.command().addAll(List.of(jvmOptions));
    child.command().addAll(List.of("-Xmx64m", "-Xshare:auto", "-cp", classPath));
    child.command().add(Main.class.getName());
    Process process = child.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    try {
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the child JVM did not end");
    } finally {
      process.destroyForcibly();
    }
    String text = Files.readString(output, StandardCharsets.UTF_8);
    assertEquals(0, process.exitValue(), text);
    assertTrue(text.contains(DONE), text);
    return text;
  }

  private static String[] classPath() {
    // Surefire may pass its class path in a manifest and tell the real one in this property.
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
        .split(File.pathSeparator, -1);
  }

  @Test
  void hostTensorsWorkWithNoJavaCppOnTheClassPath() throws Exception {
    List<String> path =
        Arrays.stream(classPath())
            .filter(entry -> !new File(entry).getName().startsWith("javacpp"))
            .toList();
    assertTrue(path.size() < classPath().length, "JavaCPP was on the class path of this test");
    runMain(String.join(File.pathSeparator, path));
  }

  @Test
  void hostTensorsLoadNoJavaCppClass() throws Exception {
    String text = runMain(String.join(File.pathSeparator, classPath()), "-verbose:class");
    String loaded =
        text.lines().filter(line -> line.contains("bytedeco")).collect(Collectors.joining("\n"));
    assertFalse(loaded.contains("org.bytedeco"), loaded);
  }
}
