package io.jccl.comm.internal;

import io.jccl.comm.CommConfig;
import io.jccl.comm.CommHook;
import io.jccl.comm.HookStatus;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The hooks that {@link java.util.ServiceLoader} finds, and those of them that are to be used. */
public final class Hooks {
  private static final Logger log = LoggerFactory.getLogger(Hooks.class);

  private final List<CommHook> always = new ArrayList<>();
  private final Map<String, CommHook> named = new LinkedHashMap<>();
  private final Set<String> chosen;
  private final List<String> failures = new ArrayList<>();

  private Hooks(List<CommHook> found, List<String> failures, CommConfig config) {
    this.failures.addAll(failures);
    found.forEach(this::add);
    this.chosen =
        Arrays.stream(config.get(CommConfig.HOOKS).split(","))
            .map(String::strip)
            .filter(name -> !name.isEmpty())
            .collect(Collectors.toCollection(LinkedHashSet::new));
    for (String name : chosen) {
      if (!named.containsKey(name)) {
        throw new IllegalArgumentException(
            CommConfig.HOOKS
                + " names \""
                + name
                + "\" (from "
                + config.sourceOf(CommConfig.HOOKS)
                + "), expected some of "
                + String.join(", ", named.keySet())
                + (this.failures.isEmpty() ? "" : "; not loaded: " + this.failures));
      }
    }
  }

  /**
   * Every hook that can be found from here.
   *
   * @throws IllegalArgumentException if {@code jccl.hooks} names one that is not there
   */
  public static Hooks load(CommConfig config) {
    List<String> failures = new ArrayList<>();
    List<CommHook> found = Providers.loadAll(CommHook.class, failures);
    return new Hooks(found, failures, config);
  }

  private void add(CommHook hook) {
    String name;
    try {
      name = Objects.requireNonNull(hook.name(), "name() returned null");
    } catch (RuntimeException | LinkageError e) {
      skip(hook.getClass().getName() + " did not tell its name: " + e);
      return;
    }
    if (name.isEmpty()) {
      always.add(hook);
      return;
    }
    CommHook other = named.putIfAbsent(name, hook);
    if (other != null) {
      skip(
          hook.getClass().getName()
              + " has the name \""
              + name
              + "\" of "
              + other.getClass().getName());
    }
  }

  private void skip(String failure) {
    failures.add(failure);
    log.warn("a hook is skipped: {}", failure);
  }

  /** Those to use: the ones without a name, then those that were chosen, in the order chosen. */
  List<CommHook> used() {
    List<CommHook> used = new ArrayList<>(always);
    chosen.forEach(name -> used.add(named.get(name)));
    return used;
  }

  /** All that was found, and whether it is used. */
  public List<HookStatus> report() {
    List<HookStatus> report = new ArrayList<>();
    always.forEach(hook -> report.add(new HookStatus("", true, hook.getClass().getName())));
    named.forEach(
        (name, hook) ->
            report.add(new HookStatus(name, chosen.contains(name), hook.getClass().getName())));
    failures.forEach(failure -> report.add(new HookStatus("(not loaded)", false, failure)));
    return List.copyOf(report);
  }
}
