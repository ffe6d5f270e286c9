import { expect, test } from "vitest";
import { flameGraph, framesOf, type CpuProfile } from "./flame-graph.ts";

const at = (functionName: string, url = "file:///home/alice/project/runtime/stage.ts") => ({
  callFrame: { functionName, url, lineNumber: 1 },
});
const profile: CpuProfile = {
  nodes: [
    { id: 1, ...at("(root)", ""), children: [2, 5] },
    { id: 2, ...at("run"), children: [3, 4] },
    { id: 3, ...at("encode<T>") },
    { id: 4, ...at("") },
    { id: 5, ...at("(idle)", "") },
  ],
  samples: [3, 3, 2, 4, 5],
  timeDeltas: [4_000, 2_000, 1_000, 3_000, 90_000],
};

test("sums time by stack and leaves out what is no work", () => {
  const root = framesOf(profile, ["(idle)"]);
  expect(root.ms).toBe(10);
  const run = root.children.get("run runtime/stage.ts");
  expect(run?.ms).toBe(10);
  expect([...(run?.children.values() ?? [])].map(({ name, ms }) => [name, ms])).toEqual([
    ["encode<T> runtime/stage.ts", 6],
    ["(anonymous) runtime/stage.ts", 3],
  ]);
});

test("draws every frame that is wide enough, as wide as its share, without home folders", () => {
  const svg = flameGraph(profile, { title: "a & b", width: 1_000, least: 0.5, leaveOut: ["(idle)"] });
  expect(svg).toContain("a &amp; b");
  expect(svg).toContain("<title>encode&lt;T&gt; runtime/stage.ts: 60.0 %</title>");
  expect(svg).toMatch(/<title>encode.*width="599\.5"/);
  expect(svg).not.toContain("anonymous");
  expect(svg).not.toContain("alice");
});
