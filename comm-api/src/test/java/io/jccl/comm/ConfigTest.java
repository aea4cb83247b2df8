package io.jccl.comm;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link CommConfig} and {@link ConfigKey}. */
class ConfigTest {
  private static final ConfigKey<String> NAME = ConfigKey.string("jccl.test.name", "default");
  private static final ConfigKey<Integer> COUNT = ConfigKey.integer("jccl.test.count", 3, 1, 10);
  private static final ConfigKey<Long> SIZE = ConfigKey.bytes("jccl.test.size", 7);
  private static final ConfigKey<Duration> TIME =
      ConfigKey.duration("jccl.test.time", Duration.ofSeconds(1));
  private static final ConfigKey<Boolean> SWITCH = ConfigKey.bool("jccl.test.switch", true);

  @TempDir Path folder;

  private <T> T withFile(String content, Supplier<T> body) throws Exception {
    Files.writeString(folder.resolve("jccl.properties"), content);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()}, before)) {
      thread.setContextClassLoader(loader);
      return body.get();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  @Test
  void nothingSetIsTheDefault() {
    assertEquals("default", CommConfig.empty().get(NAME));
    assertEquals(Optional.empty(), CommConfig.empty().find(NAME));
    assertEquals("the default", CommConfig.empty().sourceOf(NAME));
    assertEquals("auto", CommConfig.empty().get(CommConfig.BACKEND));
    assertEquals(Duration.ofMinutes(10), CommConfig.empty().get(CommConfig.TIMEOUT));
    assertTrue(CommConfig.empty().get(CommConfig.AGREE));
  }

  @Test
  void codeWinsOverSystemPropertyOverEnvironment() {
    CommConfig both =
        CommConfig.reading(
            Map.of("jccl.test.name", "property")::get, Map.of("JCCL_TEST_NAME", "variable")::get);
    assertEquals("property", both.get(NAME));
    assertEquals("-Djccl.test.name", both.sourceOf(NAME));
    assertEquals("code", both.with(NAME, "code").get(NAME));
    assertEquals("code", both.with(NAME, "code").sourceOf(NAME));
    assertEquals("property", both.get(NAME), "with() leaves the original alone");
    CommConfig environment =
        CommConfig.reading(name -> null, Map.of("JCCL_TEST_NAME", "variable")::get);
    assertEquals("variable", environment.get(NAME));
    assertEquals("the environment's JCCL_TEST_NAME", environment.sourceOf(NAME));
  }

  @Test
  void theFileOnTheClassPathComesLast() throws Exception {
    CommConfig config = withFile("jccl.test.name = file\njccl.test.count=4", CommConfig::load);
    assertEquals("file", config.get(NAME));
    assertEquals(4, config.get(COUNT));
    assertEquals("jccl.properties on the class path", config.sourceOf(NAME));
    System.setProperty("jccl.test.name", "property");
    try {
      assertEquals("property", config.get(NAME));
      assertEquals(4, config.get(COUNT), "one key's property leaves another key's file alone");
    } finally {
      System.clearProperty("jccl.test.name");
    }
    assertEquals("file", config.get(NAME), "system properties are read when asked for");
  }

  @Test
  void aFileThatCannotBeParsedIsNamed() {
    assertRefused(() -> withFile("jccl.test.name=\\u00zz", CommConfig::load), "jccl.properties");
  }

  @Test
  void aValueOfTheFileThatCannotBeReadNamesTheFile() throws Exception {
    CommConfig config = withFile("jccl.test.count=many", CommConfig::load);
    assertRefused(
        () -> config.get(COUNT), "jccl.test.count", "\"many\"", "jccl.properties", "1 to 10");
  }

  @Test
  void aBadValueNamesKeyValueSourceAndWhatWasExpected() {
    CommConfig config =
        CommConfig.reading(
            Map.of("jccl.test.count", "11")::get, Map.of("JCCL_TEST_TIME", "soon")::get);
    assertRefused(
        () -> config.get(COUNT),
        "jccl.test.count",
        "\"11\"",
        "-Djccl.test.count",
        "a whole number from 1 to 10");
    assertRefused(
        () -> config.get(TIME),
        "jccl.test.time",
        "\"soon\"",
        "the environment's JCCL_TEST_TIME",
        "a positive time such as 500ms");
    assertRefused(() -> config.find(TIME), "\"soon\"");
    assertRefused(() -> CommConfig.empty().with(SWITCH, "yes"), "\"yes\"", "code", "true or false");
    assertRefused(() -> CommConfig.empty().with(SIZE, "1x"), "\"1x\"", "number of bytes");
  }

  @ParameterizedTest
  @CsvSource({
    "500ms,500",
    "30s,30000",
    "' 30 s ',30000",
    "5m,300000",
    "1h,3600000",
    "2H,7200000",
    "PT0.25S,250",
    "pt1m,60000",
    "P1D,86400000"
  })
  void durationsAreReadInTheirForms(String text, long millis) {
    assertEquals(Duration.ofMillis(millis), CommConfig.empty().with(TIME, text).get(TIME));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "5",
        "0s",
        "PT0S",
        "-5s",
        "PT-5S",
        "5 days",
        "s",
        "99999999999999999999s",
        "9999999999999999h"
      })
  void whatIsNoPositiveTimeIsRefused(String text) {
    assertRefused(() -> CommConfig.empty().with(TIME, text), "jccl.test.time", "\"" + text + "\"");
  }

  @ParameterizedTest
  @CsvSource({
    "0,0",
    "65536,65536",
    "64k,65536",
    "64K,65536",
    "64 KiB,65536",
    "64kb,65536",
    "2m,2097152",
    "1g,1073741824",
    "1GiB,1073741824",
    "12b,12"
  })
  void bytesAreReadInPowersOf1024(String text, long bytes) {
    assertEquals(bytes, CommConfig.empty().with(SIZE, text).get(SIZE));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "-1", "1.5k", "k", "1t", "9223372036854775807k", "99999999999999999999"})
  void whatIsNoNumberOfBytesIsRefused(String text) {
    assertRefused(() -> CommConfig.empty().with(SIZE, text), "jccl.test.size", "\"" + text + "\"");
  }

  @ParameterizedTest
  @CsvSource({"true,true", "TRUE,true", "1,true", "' true ',true", "false,false", "0,false"})
  void switchesAreReadInTheirForms(String text, boolean value) {
    assertEquals(value, CommConfig.empty().with(SWITCH, text).get(SWITCH));
  }

  @Test
  void theEnvironmentsNameIsUpperCaseWithUnderscores() {
    assertEquals("JCCL_TCP_BIND", ConfigKey.string("jccl.tcp.bind", "").environmentName());
    assertEquals("jccl.tcp.bind", ConfigKey.string("jccl.tcp.bind", "").name());
    assertEquals("jccl.test.count", COUNT.toString());
    assertEquals(3, COUNT.defaultValue());
  }

  @Test
  void launchersVariablesAreReadAsTheyStand() {
    CommConfig config = CommConfig.reading(name -> null, Map.of("RANK", " 1")::get);
    assertEquals(Optional.of(" 1"), config.environmentVariable("RANK"));
    assertEquals(Optional.empty(), config.environmentVariable("WORLD_SIZE"));
    assertThrows(IllegalArgumentException.class, () -> config.with(COUNT, "0"));
  }
}
