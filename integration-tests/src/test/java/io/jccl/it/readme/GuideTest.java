package io.jccl.it.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jccl.comm.CommBackend;
import io.jccl.comm.CommBackends;
import io.jccl.comm.CommConfig;
import io.jccl.comm.Communicator;
import io.jccl.comm.spi.CommBackendProvider;
import io.jccl.it.conformance.ConformanceKit;
import io.jccl.it.conformance.ConformanceReport;
import io.jccl.it.conformance.TensorAccess;
import io.jccl.it.ranks.RankThreads;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the guide and the README say can be compiled, followed and run. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class GuideTest {
  private static final String PROVIDER_PAGE = "docs/provider.md";

  /** What the names before a dot stand for in the tables of the pages on migrating. */
  private static final Map<String, String> RECEIVERS =
      Map.of(
          "comm", "io.jccl.comm.CommBackend",
          "communicator", "io.jccl.comm.Communicator",
          "group", "io.jccl.comm.Group",
          "work", "io.jccl.comm.Work",
          "store", "io.jccl.comm.store.Store",
          "nccl", "io.jccl.comm.nccl.NcclCommunicator");

  @TempDir Path folder;

  @Test
  void everyBlockOfJavaCompiles() throws IOException {
    List<String> errors = new ArrayList<>();
    int compiled = 0;
    List<CodeBlock> fragments = new ArrayList<>();
    for (DocPage page : DocPage.all()) {
      List<CodeBlock> java = page.blocks().stream().filter(CodeBlock::isJava).toList();
      compiled += java.size();
      List<CodeBlock> files = java.stream().filter(CodeBlock::isFile).toList();
      fragments.addAll(java.stream().filter(block -> !block.isFile()).toList());
      // Files of one page belong together, and may have names that those of another have.
      if (!files.isEmpty()) {
        errors.addAll(Compilation.compile(files, newFolder(), pathFor(files)));
      }
    }
    errors.addAll(
        Compilation.compile(fragments, newFolder(), "-cp", System.getProperty("java.class.path")));
    assertEquals(List.of(), errors);
    assertTrue(compiled > 20, compiled + " blocks were found, which is not the guide");
  }

  @Test
  void whatDoesNotCompileIsFound() throws IOException {
    CodeBlock wrong =
        new CodeBlock("page.md", 7, "java", "", "CommBackend comm", "comm.allReduce(1, 2);");
    List<String> errors =
        Compilation.compile(
            List.of(wrong), newFolder(), "-cp", System.getProperty("java.class.path"));
    assertEquals(1, errors.size(), errors::toString);
    assertTrue(errors.get(0).startsWith("page.md:7: "), errors::toString);
  }

  @Test
  void everyLinkBetweenPagesLeadsSomewhere() {
    List<String> broken = new ArrayList<>();
    int links = 0;
    for (DocPage page : DocPage.all()) {
      for (String link : page.links()) {
        links++;
        String what = page.brokenLink(link);
        if (!what.isEmpty()) {
          broken.add(what);
        }
      }
    }
    assertEquals(List.of(), broken);
    assertTrue(links > 20, links + " links were found, which is not the guide");
    DocPage readme = DocPage.of("README.md");
    assertFalse(readme.brokenLink("docs/absent.md").isEmpty());
    assertFalse(readme.brokenLink("docs/README.md#absent").isEmpty());
  }

  @Test
  void everyPageOfTheGuideIsReachedFromItsFirst() {
    List<String> contents = DocPage.of("docs/README.md").links();
    List<String> unreached =
        DocPage.all().stream()
            .map(DocPage::toString)
            .filter(page -> page.startsWith("docs") && !page.endsWith("README.md"))
            .filter(page -> !contents.contains(Path.of(page).getFileName().toString()))
            .toList();
    assertEquals(List.of(), unreached);
  }

  @Test
  void everyPropertyThatIsNamedExists() throws IOException {
    String sources = sourcesOfModules();
    Set<String> unknown = new TreeSet<>();
    Pattern property = Pattern.compile("(?<![\\w./])jccl(?:\\.[a-z_]+)+\\b");
    for (DocPage page : DocPage.all()) {
      Matcher matcher = property.matcher(page.text());
      while (matcher.find()) {
        if (!sources.contains("\"" + matcher.group() + "\"")) {
          unknown.add(page + ": " + matcher.group());
        }
      }
    }
    unknown.removeIf(name -> name.endsWith(": jccl.properties"));
    assertEquals(Set.of(), unknown);
  }

  @Test
  void theTablesOfNamesNameMethodsThatExist() throws ClassNotFoundException {
    Pattern call = Pattern.compile("`(?:new )?(\\w+)\\.(\\w+)\\(([^`]*)\\)`");
    List<String> missing = new ArrayList<>();
    int found = 0;
    for (String name : List.of("docs/from-torch.md", "docs/from-pynccl.md")) {
      for (String row : DocPage.of(name).text().lines().filter(l -> l.startsWith("|")).toList()) {
        String[] cells = row.split("\\|", -1);
        // The first cell is the other library's.
        Matcher matcher = call.matcher(cells.length > 2 ? cells[2] : "");
        while (matcher.find()) {
          found++;
          if (!hasMethod(matcher.group(1), matcher.group(2), matcher.group(3))) {
            missing.add(name + ": " + matcher.group());
          }
        }
      }
    }
    assertEquals(List.of(), missing);
    assertTrue(found > 30, found + " calls were found, which are not the tables");
  }

  private static boolean hasMethod(String receiver, String method, String arguments)
      throws ClassNotFoundException {
    int count = arguments.isBlank() ? 0 : arguments.split(",").length;
    return Arrays.stream(typeOf(receiver).getMethods())
        .filter(candidate -> candidate.getName().equals(method))
        .filter(candidate -> RECEIVERS.containsKey(receiver) != isStatic(candidate))
        .anyMatch(candidate -> candidate.isVarArgs() || candidate.getParameterCount() == count);
  }

  private static boolean isStatic(Method method) {
    return Modifier.isStatic(method.getModifiers());
  }

  private static Class<?> typeOf(String receiver) throws ClassNotFoundException {
    String known = RECEIVERS.get(receiver);
    if (known != null) {
      return Class.forName(known);
    }
    for (String prefix : List.of("io.jccl.comm.", "io.jccl.comm.nccl.", "io.jccl.comm.store.")) {
      try {
        return Class.forName(prefix + receiver);
      } catch (ClassNotFoundException e) {
        // In one of the others.
      }
    }
    throw new ClassNotFoundException(receiver);
  }

  /** The guide's own provider, found as a service, passes what every backend passes. */
  @Test
  void theProviderOfTheGuidePassesTheConformanceKit() throws Exception {
    List<CodeBlock> blocks = DocPage.of(PROVIDER_PAGE).blocks();
    List<CodeBlock> files =
        blocks.stream().filter(block -> block.isJava() && block.isFile()).toList();
    Path classes = newFolder();
    assertEquals(List.of(), Compilation.compile(files, classes, pathFor(files)));
    for (CodeBlock block : blocks) {
      if (!block.fileName().isEmpty()) {
        Path file = classes.resolve(block.fileName());
        Files.createDirectories(file.getParent());
        Files.writeString(file, block.text());
      }
    }
    try (URLClassLoader loader =
        new URLClassLoader(new URL[] {classes.toUri().toURL()}, getClass().getClassLoader())) {
      CommBackendProvider provider =
          ServiceLoader.load(CommBackendProvider.class, loader).stream()
              .filter(found -> found.type().getClassLoader() == loader)
              .map(ServiceLoader.Provider::get)
              .findFirst()
              .orElseThrow(() -> new AssertionError("the page's provider was not found"));
      CommConfig config =
          CommConfig.empty()
              .with(CommConfig.BACKEND, provider.name())
              .with(CommConfig.TIMEOUT, "1m");
      List<ConformanceReport> reports =
          RankThreads.run(
              3,
              world -> {
                try (CommBackend comm =
                    CommBackends.builder()
                        .world(world)
                        .config(config)
                        .providers(List.of(provider))
                        .open()) {
                  Communicator all = comm.communicator(world.group());
                  assertEquals(provider.name(), all.backend());
                  return new ConformanceKit(comm, TensorAccess.host(), true, 501).run();
                }
              });
      for (ConformanceReport report : reports) {
        assertEquals(0, report.failedCases(), report::toString);
        assertTrue(report.cases() > 1_000, report::toString);
      }
    }
  }

  private Path newFolder() throws IOException {
    return Files.createTempDirectory(folder, "classes");
  }

  /** Files with a module are compiled as that module, others on the class path. */
  private static String[] pathFor(List<CodeBlock> files) {
    String path = System.getProperty("java.class.path");
    if (files.stream().noneMatch(CodeBlock::isModule)) {
      return new String[] {"-cp", path};
    }
    // Some jars that only tests have are no modules.
    String modules =
        Arrays.stream(path.split(File.pathSeparator))
            .filter(entry -> entry.matches(".*(comm-api|javacpp-1|slf4j-api|commons-lang3).*"))
            .collect(Collectors.joining(File.pathSeparator));
    return new String[] {"--module-path", modules};
  }

  private static String sourcesOfModules() throws IOException {
    StringBuilder sources = new StringBuilder();
    try (Stream<Path> files = Files.walk(Path.of(".."))) {
      for (Path file : files.filter(GuideTest::isMainSource).toList()) {
        sources.append(Files.readString(file));
      }
    }
    return sources.toString();
  }

  private static boolean isMainSource(Path file) {
    return file.toString().endsWith(".java")
        && file.toString().contains(Path.of("src", "main", "java").toString());
  }
}
