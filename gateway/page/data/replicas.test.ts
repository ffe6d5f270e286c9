import { expect, it } from "vitest";
import type { ArmBreaker } from "../../../schemas/types.ts";
import { replicasOf } from "./replicas.ts";

type Report = ArmBreaker["replicas"][number];
const report = (name: string, more: Partial<Report> = {}): Report => ({
  ...{ name, state: "closed", calls: 1, running: null, waiting: null, cacheUsage: null, ...more },
});
const row = (instance: string, createdAt: number, replicas: Report[], arm = "large"): ArmBreaker => ({
  ...{ arm, instance, createdAt, replicas, tenant: "default", state: "closed" },
});

it("adds up what processes say of a replica, with its engine's newest report", () => {
  const found = replicasOf([
    row("p2", 20, [report("b", { state: "open", running: 4, waiting: 2, cacheUsage: 0.9 }), report("a")]),
    row("p1", 10, [report("b", { calls: 2, running: 1, waiting: 0, cacheUsage: 0.1 })]),
    row("p3", 30, [report("b", { calls: 0 })]),
    row("p1", 10, [report("z")], "cheap"),
    row("p1", 10, [], "other"),
  ]);
  const none = { running: null, waiting: null, cacheUsage: null };
  expect(found).toEqual([
    { arm: "cheap", name: "z", processes: 1, without: 0, calls: 1, ...none },
    { arm: "large", name: "a", processes: 1, without: 0, calls: 1, ...none },
    { arm: "large", name: "b", processes: 3, without: 1, calls: 3, running: 4, waiting: 2, cacheUsage: 0.9 },
  ]);
});
