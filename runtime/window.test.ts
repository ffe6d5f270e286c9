import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeFinished, encodeFinished, windowOffsets } from "./finished-offsets.ts";
import { createWindow } from "./window.ts";

describe("finished offsets", () => {
  test("come back as they were, in fewer characters than the broker allows", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(windowOffsets - 1), { maxLength: 3_000 }), (offsets) => {
        const sorted = offsets.sort((a, b) => a - b);
        const text = encodeFinished(sorted);
        expect(text.length).toBeLessThan(4_096);
        expect(decodeFinished(text)).toEqual(sorted);
      }),
      { numRuns: 100 },
    );
  });
  test("the worst window is a bitmap of 2,732 characters and its sign", () => {
    const every = Array.from({ length: windowOffsets / 2 }, (_, i) => 2 * i + 1);
    expect(encodeFinished(every).length).toBe(2_733);
  });
  test("a long run is short", () => {
    expect(encodeFinished(Array.from({ length: 10_000 }, (_, i) => i + 1)).length).toBeLessThan(12);
  });
  test("outside the window is refused", () => {
    expect(() => encodeFinished([windowOffsets])).toThrow(RangeError);
  });
  test("foreign metadata is refused", () => {
    expect(() => decodeFinished("hello")).toThrow("unknown form");
  });
});

describe("window", () => {
  test("commits the first unfinished offset and what is finished beyond it", () => {
    const window = createWindow<string>(10, []);
    const entries = [10, 11, 13, 14].map((offset) => window.add(offset, "x"));
    window.advanceTo(17); // two control markers
    const taken = new Set([entries[1]!, entries[3]!]);
    const position = window.position(taken);
    expect(position.offset).toBe(10);
    expect(decodeFinished(position.metadata)).toEqual([1, 4]);
    window.commit(taken);
    const rest = new Set([entries[0]!, entries[2]!]);
    expect(window.position(rest)).toEqual({ offset: 17, metadata: "" });
  });

  test("a restored finished offset stays in the metadata until it is passed, delivered again or not", () => {
    const window = createWindow<string>(10, [12, 500]);
    const ten = window.add(10, "x")!;
    expect(window.add(12, "x")).toBeUndefined();
    const eleven = window.position(new Set([ten]));
    expect(eleven.offset).toBe(13);
    expect(decodeFinished(eleven.metadata)).toEqual([487]);
  });

  test("whatever the order and wherever it crashes, every record is done exactly once", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.record({ deliver: fc.nat(20), finish: fc.nat(19), crash: fc.boolean() }), { maxLength: 40 }),
        (total, steps) => {
          let committed = { offset: 0, metadata: "" };
          const done: number[] = [];
          let window = createWindow<number>(0, []);
          const restart = (): void => {
            const finished = decodeFinished(committed.metadata).map((o) => o + committed.offset);
            window = createWindow(committed.offset, finished);
          };
          const finish = (count: number): void => {
            const taken = new Set(
              window
                .entries()
                .filter((e) => e.state === "waiting")
                .reverse()
                .slice(0, count),
            );
            committed = window.position(taken);
            window.commit(taken);
            for (const entry of taken) done.push(entry.offset);
          };
          for (const step of steps) {
            for (let i = 0; i < step.deliver && window.next() < total; i++) window.add(window.next(), 0);
            finish(step.finish);
            if (step.crash) restart();
          }
          restart();
          while (window.next() < total) window.add(window.next(), 0);
          finish(total);
          expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, i) => i));
          expect(window.position()).toEqual({ offset: total, metadata: "" });
        },
      ),
    );
  });
});
