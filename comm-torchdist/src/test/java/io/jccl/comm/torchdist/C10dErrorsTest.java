package io.jccl.comm.torchdist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class C10dErrorsTest {

  @Test
  void sourceLinesAndStacksAreNoPartOfAMessage() {
    assertEquals(
        "Connection closed by peer [127.0.0.1]:46786",
        C10dErrors.clean(
            new RuntimeException(
                "[/build/gloo/transport/tcp/pair.cc:547] Connection closed by peer"
                    + " [127.0.0.1]:46786")));
    assertEquals(
        "requires empty output on non-root",
        C10dErrors.clean(
            new RuntimeException(
                "requires empty output on non-root\n"
                    + "Exception raised from operator() at /build/ProcessGroupGloo.cpp:1935 (most"
                    + " recent call first):\nframe #0: c10::Error::Error")));
  }

  @Test
  void anErrorWithoutMessageIsNamed() {
    assertEquals("IllegalStateException", C10dErrors.clean(new IllegalStateException()));
  }

  @Test
  void deadlinesAreToldFromOtherFailures() {
    assertTrue(C10dErrors.isTimeout(new RuntimeException("Operation timed out!")));
    assertTrue(
        C10dErrors.isTimeout(
            new RuntimeException("[a.cc:1] Timed out waiting 10ms for recv operation")));
    assertTrue(C10dErrors.isTimeout(new RuntimeException("wait timeout after 10ms, keys: /a")));
    assertFalse(C10dErrors.isTimeout(new RuntimeException("Connection reset by peer")));
  }
}
