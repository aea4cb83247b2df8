package io.jccl.it.stranger;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.namespace.QName;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPath;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathExpressionException;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

/** A pom of this build, as it is written. */
final class Pom {
  private static final XPath XPATH = XPathFactory.newInstance().newXPath();

  private final Path file;
  private final Document document;

  private Pom(Path file, Document document) {
    this.file = file;
    this.document = document;
  }

  static Pom read(Path file) {
    try {
      return new Pom(
          file, DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file.toFile()));
    } catch (Exception e) {
      throw new AssertionError(file + " cannot be read", e);
    }
  }

  /** The one at the top of the source tree, which the tests run one folder below. */
  static Pom parent() {
    return read(Path.of("..", "pom.xml"));
  }

  /** The parent and the modules that are published, in the order of the build. */
  static List<Pom> published() {
    Pom parent = parent();
    List<Pom> poms = new ArrayList<>();
    poms.add(parent);
    for (String module : parent.texts("/project/modules/module")) {
      Pom pom = read(Path.of("..", module, "pom.xml"));
      if (!pom.text("/project/properties/maven.deploy.skip").equals("true")) {
        poms.add(pom);
      }
    }
    return poms;
  }

  /** The text at an XPath; empty if there is none. */
  String text(String path) {
    return (String) evaluate("normalize-space(" + path + ")", XPathConstants.STRING);
  }

  List<String> texts(String path) {
    NodeList nodes = (NodeList) evaluate(path, XPathConstants.NODESET);
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < nodes.getLength(); i++) {
      texts.add(nodes.item(i).getTextContent().strip());
    }
    return texts;
  }

  private Object evaluate(String path, QName type) {
    try {
      return XPATH.evaluate(path, document, type);
    } catch (XPathExpressionException e) {
      throw new IllegalArgumentException(path, e);
    }
  }

  String artifactId() {
    return text("/project/artifactId");
  }

  String version() {
    String own = text("/project/version");
    return own.isEmpty() ? text("/project/parent/version") : own;
  }

  boolean hasJar() {
    return !text("/project/packaging").equals("pom");
  }

  Path file() {
    return file;
  }

  /** What the build made of it: {@code sources}, {@code javadoc}, or "" for the jar itself. */
  Path jar(String classifier) {
    String suffix = classifier.isEmpty() ? "" : "-" + classifier;
    return file.resolveSibling("target").resolve(artifactId() + "-" + version() + suffix + ".jar");
  }

  @Override
  public String toString() {
    return file.toString();
  }
}
