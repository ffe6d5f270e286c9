/** Tests that end servers: each starts servers of its own, and the shared stack is not started. */
export const faultFiles = ["outage", "broker-kills", "stack", "broker-away", "gateway-away", "full-disk"].map(
  (name) => `test/faults/${name}.test.ts`,
);

/** Tests of which npm test runs a seeded part, and npm run soak the full counts. */
export const fullCountFiles = [
  "connections/llama/equalities.test.ts",
  "gateway/fuzz.test.ts",
  "gateway/isolation/isolation.test.ts",
  "test/faults/kill.test.ts",
  "test/faults/outage.test.ts",
  "test/hostile/ids-kill.test.ts",
  "test/sql/clickhouse-fuzz.test.ts",
  "test/sql/learning.test.ts",
  "test/stages/cluster.test.ts",
  "gateway/raw-bytes.test.ts",
  "state/vectors/hostile.test.ts",
];
