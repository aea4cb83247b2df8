package io.jccl.comm.internal;

import static io.jccl.comm.Refusals.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostListTest {
  @Test
  void rangesAndListsAreExpandedInOrder() {
    assertEquals(
        List.of("login", "node001", "node002", "node007", "n9", "n10"),
        HostList.expand("LIST", "login,node[001-002,007],n[9-10]"));
  }

  @Test
  void severalBracketsAreMultiplied() {
    assertEquals(
        List.of("r1-n1.x", "r1-n2.x", "r2-n1.x", "r2-n2.x"),
        HostList.expand("LIST", "r[1-2]-n[1-2].x"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ",a",
        "a,",
        "a[1",
        "a]1",
        "a[[1]]",
        "a[]",
        "a[2-1]",
        "a[1-x]",
        "a[1-99999999999]"
      })
  void whatIsNoListIsRefused(String list) {
    assertRefused(() -> HostList.expand("LIST", list), "LIST is \"" + list + "\"", "node[01-04,7]");
  }
}
