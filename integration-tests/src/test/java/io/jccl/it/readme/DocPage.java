package io.jccl.it.readme;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlBlock;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.Text;
import org.commonmark.parser.IncludeSourceSpans;
import org.commonmark.parser.Parser;

/** A page of the guide: the README, or a file of {@code docs/}. */
final class DocPage {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Parser PARSER =
      Parser.builder().includeSourceSpans(IncludeSourceSpans.BLOCKS).build();
  private static final Pattern GIVEN = Pattern.compile("<!-- given: (.*?) -->", Pattern.DOTALL);

  private final Path file;
  private final Node document;

  private DocPage(Path file, Node document) {
    this.file = file;
    this.document = document;
  }

  /** Every page: those at the top of the source tree, the modules', and those of {@code docs}. */
  static List<DocPage> all() {
    List<DocPage> pages = new ArrayList<>(in(ROOT));
    try (Stream<Path> folders = Files.list(ROOT)) {
      folders.filter(Files::isDirectory).sorted().map(DocPage::in).forEach(pages::addAll);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return pages;
  }

  private static List<DocPage> in(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> file.toString().endsWith(".md"))
          .sorted()
          .map(DocPage::read)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The page of this path, from the top of the source tree. */
  static DocPage of(String path) {
    return read(ROOT.resolve(path));
  }

  private static DocPage read(Path file) {
    try {
      return new DocPage(file, PARSER.parse(Files.readString(file)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String text() {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  List<CodeBlock> blocks() {
    List<CodeBlock> blocks = new ArrayList<>();
    document.accept(
        new AbstractVisitor() {
          @Override
          public void visit(FencedCodeBlock block) {
            String[] info = block.getInfo().strip().split("\\s+", 2);
            blocks.add(
                new CodeBlock(
                    file.getFileName().toString(),
                    block.getSourceSpans().get(0).getLineIndex() + 1,
                    info[0],
                    info.length > 1 ? info[1] : "",
                    given(block.getPrevious()),
                    block.getLiteral()));
          }
        });
    return blocks;
  }

  private static String given(Node before) {
    if (before instanceof HtmlBlock comment) {
      Matcher matcher = GIVEN.matcher(comment.getLiteral());
      if (matcher.find()) {
        return matcher.group(1).replaceAll("\\s+", " ");
      }
    }
    return "";
  }

  /** Where its links lead, as written. */
  List<String> links() {
    List<String> links = new ArrayList<>();
    document.accept(
        new AbstractVisitor() {
          @Override
          public void visit(Link link) {
            links.add(link.getDestination());
            visitChildren(link);
          }
        });
    return links;
  }

  /** What is wrong with a link; empty if it leads to something that exists. */
  String brokenLink(String link) {
    if (link.matches("[a-z]+:.*")) {
      return "";
    }
    int hash = link.indexOf('#');
    String path = hash < 0 ? link : link.substring(0, hash);
    Path target = path.isEmpty() ? file : file.resolveSibling(path).normalize();
    if (!Files.exists(target)) {
      return this + " links to " + link + ", but there is no " + ROOT.relativize(target);
    }
    if (hash >= 0 && !read(target).anchors().contains(link.substring(hash + 1))) {
      return this + " links to " + link + ", but no heading there has this anchor";
    }
    return "";
  }

  /** The anchors of the headings, as GitHub makes them. */
  private Set<String> anchors() {
    Set<String> anchors = new HashSet<>();
    document.accept(
        new AbstractVisitor() {
          @Override
          public void visit(Heading heading) {
            StringBuilder words = new StringBuilder();
            heading.accept(
                new AbstractVisitor() {
                  @Override
                  public void visit(Text text) {
                    words.append(text.getLiteral());
                  }

                  @Override
                  public void visit(Code code) {
                    words.append(code.getLiteral());
                  }
                });
            anchors.add(
                words
                    .toString()
                    .toLowerCase(Locale.ROOT)
                    .replaceAll("[^\\p{L}\\p{N} _-]", "")
                    .replace(' ', '-'));
          }
        });
    return anchors;
  }

  /** Its path from the top of the source tree. */
  @Override
  public String toString() {
    return ROOT.relativize(file).toString();
  }
}
