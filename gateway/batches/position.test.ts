import { describe, expect, test } from "vitest";
import { createPosition } from "./position.ts";

const at = (line: number) => ({ line, offset: 100 + line });

describe("the position in a batch", () => {
  test("goes on from the first line that is not finished, and counts each line once", () => {
    const position = createPosition({ line: 0, offset: 100, completed: 0, failed: 0, deferred: 0 });
    for (const line of [1, 2, 4]) expect(position.begin(at(line))).toBe(true);
    position.finish(2, "failed");
    position.finish(2, "completed");
    expect(position.counts()).toEqual({
      ...at(1),
      completed: 0,
      failed: 0,
      completedAhead: 0,
      failedAhead: 1,
      deferred: 0,
    });
    expect([position.ahead(), position.begun()]).toEqual([3, 3]);
    position.finish(1, "completed");
    expect(position.counts()).toEqual({
      ...at(4),
      completed: 1,
      failed: 1,
      completedAhead: 0,
      failedAhead: 0,
      deferred: 0,
    });
    position.finish(4, "completed");
    expect(position.counts()).toEqual({
      ...at(5),
      completed: 2,
      failed: 1,
      completedAhead: 0,
      failedAhead: 0,
      deferred: 0,
    });
    expect([position.ahead(), position.begun()]).toEqual([0, 3]);
  });
  test("lines that are read again are asked only if they are not finished", () => {
    const position = createPosition({ line: 0, offset: 100, completed: 0, failed: 0, deferred: 0 });
    [1, 2, 3].forEach((line) => position.begin(at(line)));
    position.finish(2, "completed");
    expect([1, 2, 3, 4].map((line) => position.begin(at(line)))).toEqual([true, false, true, true]);
    expect(position.begun()).toBe(4);
  });
  test("after a restart those below the recorded line are not asked again", () => {
    const first = createPosition({ line: 0, offset: 100, completed: 0, failed: 0, deferred: 0 });
    [1, 2, 3].forEach((line) => first.begin(at(line)));
    first.finish(1, "completed");
    first.finish(3, "completed");
    const again = createPosition(first.counts());
    expect(again.next()).toEqual(at(2));
    expect([1, 2, 3].map((line) => again.begin(at(line)))).toEqual([false, true, true]);
    again.finish(2, "completed");
    again.finish(3, "completed");
    expect(again.counts()).toMatchObject({ completed: 3, failed: 0, completedAhead: 0 });
  });
  test("what was never begun is not finished", () => {
    const position = createPosition({ line: 5, offset: 105, completed: 3, failed: 1, deferred: 0 });
    position.finish(9, "completed");
    expect(position.counts()).toMatchObject({ line: 5, completed: 3, failed: 1, completedAhead: 0 });
  });
  test("lines whose answers come later are passed, and count once these are recorded", () => {
    const first = createPosition({ line: 0, offset: 100, completed: 0, failed: 0, deferred: 0 });
    [1, 2, 4, 5].forEach((line) => first.begin(at(line)));
    first.finish(1, "completed");
    [2, 4, 5].forEach((line) => first.finish(line, "deferred"));
    expect([first.ahead(), first.deferred(), first.begun()]).toEqual([0, 3, 4]);
    const again = createPosition(first.counts());
    expect([again.next(), again.deferred()]).toEqual([at(6), 3]);
    again.recorded({ completed: 2, failed: 1 });
    expect(again.counts()).toMatchObject({ completed: 2, failed: 1, deferred: 1 });
    // Rows of the first two were erased meanwhile.
    again.recorded({ completed: 1, failed: 2 });
    expect(again.counts()).toMatchObject({ completed: 2, failed: 2, deferred: 0 });
  });
});
