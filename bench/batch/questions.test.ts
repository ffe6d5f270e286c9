import { describe, expect, it } from "vitest";
import { figuresOf } from "./figures.ts";
import { questionsOf } from "./questions.ts";

describe("the requests", () => {
  it.each([200, 2_000])("%i: a tenth repeat an earlier one", (count) => {
    const questions = questionsOf(count);
    expect(questions).toHaveLength(count);
    expect(new Set(questions.map(({ text }) => text)).size).toBe(0.9 * count);
    expect(questions[9]).toBe(questions[4]);
  });
});

describe("the figures", () => {
  const [questions, seconds] = [questionsOf(4), 1];
  const rows = ["a", "b", "c", "d"].map((id, i) => ({
    ...{ id, status: "ok", arm: i === 0 ? "large" : "small", source: i === 3 ? "cache" : "generated" },
    cost: i === 3 ? 0 : 1,
  }));
  const answered = rows.map(({ id }, index) => ({ index, id }));

  it("are of all requests", () => {
    const figures = figuresOf({ questions, rows, answered, calls: 3, seconds });
    expect(figures).toMatchObject({ cost: 3, shares: { large: 0.25, small: 0.5 }, cache_hits: 1, lost: 0, doubled: 0 });
    // 0 and 3 are hard.
    expect(figures.quality).toBeCloseTo((0.9 + 0.9 + 0.9 + 0.2) / 4, 3);
  });

  it("count lost answers, second answers and calls without one", () => {
    const less = { questions, rows: rows.slice(1), answered: answered.slice(1), seconds };
    expect(figuresOf({ ...less, calls: 2 })).toMatchObject({ lost: 1, doubled: 0 });
    const twice = { questions, rows: [...rows, rows[0]!], answered: [...answered, answered[1]!], seconds };
    expect(figuresOf({ ...twice, calls: 4 })).toMatchObject({ lost: 0, doubled: 2 });
    expect(figuresOf({ questions, rows, answered, calls: 5, seconds })).toMatchObject({ lost: 0, doubled: 2 });
  });
});
