module com.example.injected {
  requires com.google.guice;
  requires jakarta.inject;
  requires io.jccl.comm;

  opens com.example.injected to
      com.google.guice;
}
