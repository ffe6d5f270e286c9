import { describe, expect, test } from "vitest";
import { createPlacementTable, decodePlacement, encodePlacement, type Placement } from "./placement.ts";

describe("the placement policy", () => {
  const some: Placement = {
    mode: "shared",
    count: 7,
    domains: new Map([
      [
        "t/a",
        new Map([
          [0, 5],
          [3, null],
        ]),
      ],
    ]),
  };
  test("survives its encoding, and the table says what is whole", () => {
    const problems: string[] = [];
    const modes: string[] = [];
    const table = createPlacementTable(
      ({ mode }) => void modes.push(mode),
      (problem) => void problems.push(problem),
    );
    expect(decodePlacement(encodePlacement(some, 3, 0))).toEqual(some);
    expect(encodePlacement(some, 3, 0).metrics).toEqual({ examples: 7, domains: 1, pairs: 2, whole: 1 });
    table.apply(encodePlacement(some, 3, 0));
    expect([4, 5, undefined].map((position) => table.isComplete("t/a", 0, position))).toEqual([false, true, false]);
    expect([table.isComplete("t/a", 3, 99), table.isComplete("t/a", 1, 99), table.isComplete("t/b", 0, 99)]).toEqual([
      false,
      false,
      false,
    ]);
    // Older, another's, or beyond us: what is in force stays.
    table.apply(encodePlacement({ ...some, mode: "global" }, 2, 0));
    table.apply({ ...encodePlacement(some, 4, 0), name: "router" });
    table.apply({ ...encodePlacement(some, 5, 0), kind: "placement/2" });
    table.apply({ ...encodePlacement(some, 6, 0), body: "{" });
    table.apply({ ...encodePlacement(some, 7, 0), body: "{}" });
    expect([table.current(), modes, problems.length]).toEqual([some, ["shared"], 3]);
    table.remove("router");
    expect(modes).toEqual(["shared"]);
    table.remove("placement");
    expect([table.isComplete("t/a", 0, 99), modes]).toEqual([false, ["shared", "global"]]);
  });
});
