import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFairQueue, leavesRoom } from "./fair-queue.ts";

const all = (): boolean => true;
const take = (queue: ReturnType<typeof createFairQueue<string>>, count: number): (string | undefined)[] =>
  Array.from({ length: count }, () => queue.take(all));

describe("fair queue", () => {
  it("lets a flow of one pass a flow of a thousand, and keeps the order within a lane", () => {
    const queue = createFairQueue<string>();
    for (let i = 0; i < 1_000; i++) queue.push("loud", "0", `loud ${i}`, 1);
    expect(take(queue, 3)).toEqual(["loud 0", "loud 1", "loud 2"]);
    queue.push("quiet", "0", "quiet 0", 1);
    expect(take(queue, 2)).toEqual(["quiet 0", "loud 3"]);
    expect(queue.size()).toBe(996);
  });

  it("a freed slot goes to the flow that holds the fewest; among equals, flows take turns", () => {
    const queue = createFairQueue<string>();
    for (const flow of ["a", "b"]) for (let i = 0; i < 9; i++) queue.push(flow, "0", flow, 1);
    expect(take(queue, 6)).toEqual(["a", "b", "a", "b", "a", "b"]);
    queue.release("b", 1);
    queue.release("b", 1);
    expect(take(queue, 2)).toEqual(["b", "b"]);
  });

  it("lanes of a flow are served in turn, and one that may not move holds no other", () => {
    const queue = createFairQueue<string>();
    for (const lane of ["0", "1"]) for (let i = 0; i < 3; i++) queue.push("a", lane, `${lane}/${i}`, 1);
    expect(take(queue, 3)).toEqual(["0/0", "1/0", "0/1"]);
    expect(queue.take((item) => item.startsWith("0"))).toBe("0/2");
    expect(queue.take((item) => item.startsWith("0"))).toBeUndefined();
    queue.dropLane("1");
    expect(queue.size()).toBe(0);
    expect(queue.take(all)).toBeUndefined();
    expect(queue.held("a")).toBe(4);
  });

  it("a flow that was away has saved up nothing", () => {
    const queue = createFairQueue<string>();
    const serve = (): string | undefined => {
      const served = queue.take(all);
      if (served !== undefined) queue.release(served, 1);
      return served;
    };
    for (let i = 0; i < 100; i++) queue.push("a", "0", "a", 1);
    for (let i = 0; i < 50; i++) serve();
    for (let i = 0; i < 20; i++) queue.push("late", "0", "late", 1);
    const served = Array.from({ length: 20 }, serve);
    expect(served.filter((flow) => flow === "late")).toHaveLength(10);
  });

  interface Run {
    weights: number[];
    slots: number;
    /** Items of each flow. */
    backlog: number[];
    /** Which of those under way ends next, as a share of them. */
    ends: number[];
  }
  const runs = fc.integer({ min: 1, max: 5 }).chain((flows) =>
    fc.record<Run>({
      weights: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: flows, maxLength: flows }),
      slots: fc.integer({ min: 1, max: 12 }),
      backlog: fc.array(fc.nat(40), { minLength: flows, maxLength: flows }),
      ends: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 20, maxLength: 80 }),
    }),
  );

  it("is work-conserving, max-min fair in slots held, and starves no flow", () => {
    fc.assert(
      fc.property(runs, ({ weights, slots, backlog, ends }) => {
        const queue = createFairQueue<number>((flow) => weights[Number(flow)] ?? 1);
        const waiting = [...backlog];
        backlog.forEach((count, flow) => {
          for (let i = 0; i < count; i++) queue.push(String(flow), "0", flow, 1);
        });
        const running: number[] = [];
        const held = (flow: number): number => running.filter((other) => other === flow).length;
        const fill = (): void => {
          while (running.length < slots) {
            const before = waiting.map((count, flow) => (count > 0 ? held(flow) / (weights[flow] ?? 1) : Infinity));
            const flow = queue.take(all);
            if (flow === undefined) break;
            // No waiting flow holds fewer slots per weight than the one that was served.
            expect(before[flow]).toBeCloseTo(Math.min(...before), 9);
            running.push(flow);
            waiting[flow] = (waiting[flow] ?? 0) - 1;
          }
          // Work-conserving: a slot is free only when no request waits.
          const left = waiting.reduce((sum, count) => sum + count, 0);
          expect(running.length).toBe(Math.min(slots, running.length + left));
          expect(queue.size()).toBe(left);
        };
        fill();
        for (const share of ends) {
          const [flow] = running.splice(Math.floor(share * running.length), 1);
          if (flow === undefined) break;
          queue.release(String(flow), 1);
          fill();
        }
        backlog.forEach((_, flow) => {
          expect(queue.held(String(flow))).toBe(held(flow));
        });
      }),
    );
  });

  it("with one slot, what each flow is served is in proportion to its weight while all wait", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 4 }), (weights) => {
        const queue = createFairQueue<number>((flow) => weights[Number(flow)] ?? 1);
        weights.forEach((_, flow) => {
          for (let i = 0; i < 400; i++) queue.push(String(flow), "0", flow, 7);
        });
        const served = weights.map(() => 0);
        const rounds = 200;
        for (let i = 0; i < rounds; i++) {
          const flow = queue.take(all) ?? 0;
          served[flow] = (served[flow] ?? 0) + 1;
          queue.release(String(flow), 7);
        }
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        weights.forEach((weight, flow) => {
          expect(Math.abs((served[flow] ?? 0) - (rounds * weight) / total)).toBeLessThanOrEqual(weights.length + 1);
        });
      }),
    );
  });
});

describe("a pool that is not taken back", () => {
  it("leaves room for the next flow", () => {
    const own = [0, 0, 0];
    const used = (): number => own.reduce((sum, count) => sum + count, 0);
    for (let flow = 0; flow < own.length; flow++)
      while (leavesRoom(own[flow] ?? 0, 1, used(), 64)) own[flow] = (own[flow] ?? 0) + 1;
    expect(own).toEqual([32, 16, 8]);
  });
});
