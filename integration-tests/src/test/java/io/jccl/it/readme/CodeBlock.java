package io.jccl.it.readme;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A fenced block of a page.
 *
 * @param page the page's file name, such as {@code streams.md}
 * @param line where the block starts in it, from 1
 * @param language the first word after the fence; empty if there is none
 * @param fileName the second, for a block that is a file other than Java; empty if there is none
 * @param given what a comment {@code <!-- given: Tensor t, Group g -->} just above it declares for
 *     a fragment; empty if there is none
 * @param text the code
 */
record CodeBlock(
    String page, int line, String language, String fileName, String given, String text) {
  private static final Pattern TYPE =
      Pattern.compile(
          "^(?:public |final |abstract |sealed )*(?:class|interface|enum|record|@interface) (\\w+)",
          Pattern.MULTILINE);
  private static final Pattern MODULE =
      Pattern.compile("^(?:open )?module [\\w.]+ \\{", Pattern.MULTILINE);
  private static final Pattern IMPORT = Pattern.compile("^import [^;]+;\\R?", Pattern.MULTILINE);

  boolean isJava() {
    return language.equals("java");
  }

  boolean isModule() {
    return MODULE.matcher(text).find();
  }

  /** Whether it is a file as it stands: with a type, or a module, at the left margin. */
  boolean isFile() {
    return isModule() || TYPE.matcher(text).find();
  }

  /** The name of the Java file that it is compiled as. */
  String javaFile() {
    if (isModule()) {
      return "module-info.java";
    }
    Matcher type = TYPE.matcher(text);
    return (type.find() ? type.group(1) : fragmentName()) + ".java";
  }

  /**
   * What is compiled: a file as it is printed; a fragment as the body of a method that is given
   * what the page says and may throw anything, in a class that imports the API and the usual of the
   * JDK.
   */
  String compilable() {
    if (isFile()) {
      return text;
    }
    StringBuilder imports = new StringBuilder();
    Matcher matcher = IMPORT.matcher(text);
    while (matcher.find()) {
      imports.append(matcher.group());
    }
    return imports
        + "import io.jccl.comm.*;\n"
        + "import java.nio.*;\n"
        + "import java.time.*;\n"
        + "import java.util.*;\n"
        + "class "
        + fragmentName()
        + " {\nvoid run("
        + given
        + ") throws Exception {\n"
        + matcher.replaceAll("")
        + "\n}\n}\n";
  }

  private String fragmentName() {
    return page.replaceAll("\\W", "_") + "_line_" + line;
  }

  @Override
  public String toString() {
    return page + ":" + line;
  }
}
