/** Tests that end servers: each starts servers of its own, and the shared stack is not started. */
export const faultFiles = ["outage", "broker-kills", "stack", "broker-away", "gateway-away", "full-disk"].map(
  (name) => `test/faults/${name}.test.ts`,
);
