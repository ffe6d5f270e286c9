import { describe, expect, it } from "vitest";
import type { Judged } from "../../operators/judge/judge-unrated.ts";
import type { Judgement, Unrated } from "../../operators/judge/unrated.ts";
import type { Feedback } from "../../schemas/types.ts";
import { createJudgeAll } from "./judge-unrated.ts";

const item = (requestId: string): Unrated => ({
  ...{ requestId, tenant: "t", arm: "a", text: "x", otherArm: "b", otherText: "y", messages: [], maxTokens: null },
});
const agendaOf = (...ids: string[]) => ({
  items: ids.map(item),
  spent: { cost: 0, lastHour: 0 },
  meanCost: null,
  usedUp: null,
});

function setUp({ away = [], rated = [], spendLimit }: { away?: string[]; rated?: string[]; spendLimit?: number } = {}) {
  const done: string[] = [];
  const gone = new Set(away);
  let looks = 0;
  const judgeAll = createJudgeAll({
    clickhouse: {
      query: <Row>(_: string, parameters?: Record<string, unknown>) =>
        Promise.resolve(rated.includes(String(parameters?.["requestId"])) ? [] : [1 as Row]),
      insert: (_, given) => {
        for (const one of given) done.push(`row ${(one as Judgement).request_id}`);
        return Promise.resolve();
      },
    },
    gate: { pass: () => Promise.resolve(++looks > 0) },
    judge: ({ requestId }) => {
      const judgement = { request_id: requestId, cost: 1 } as Judgement;
      const unanswered = gone.has(requestId);
      const feedback = unanswered ? null : ({ requestId } as Feedback);
      return Promise.resolve<Judged>({ judgement, feedback, unanswered });
    },
    publish: ({ requestId }) => Promise.resolve(void done.push(`feedback ${requestId}`)),
    ...{ spendLimit, metrics: { judged: () => undefined, waits: () => undefined, due: () => undefined } },
    signal: new AbortController().signal,
  });
  return { judgeAll, done, gone, looks: () => looks };
}

describe("judging what is unrated", () => {
  it("publishes before it records, and leaves out what was rated meanwhile", async () => {
    const { judgeAll, done, looks } = setUp({ rated: ["2"] });
    expect(await judgeAll(agendaOf("1", "2", "3"))).toBe(2);
    expect(done).toEqual(["feedback 1", "row 1", "feedback 3", "row 3"]);
    // The load is looked at before each.
    expect(looks()).toBe(3);
  });

  it("ends where the spend limit does", async () => {
    const { judgeAll } = setUp({ spendLimit: 2 });
    expect(await judgeAll(agendaOf("1", "2", "3"))).toBe(2);
    expect(await judgeAll({ ...agendaOf("4"), spent: { cost: 2, lastHour: 2 } })).toBe(0);
  });

  it("records nothing and rejects while the judge is away, and gives up what alone has no answer", async () => {
    const { judgeAll, done, gone } = setUp({ away: ["1", "2", "3", "4"] });
    await expect(judgeAll(agendaOf("1", "2", "3", "4"))).rejects.toThrow(/gave no answer/);
    expect(done).toEqual([]);
    gone.delete("4");
    // What had no answer goes last, so 4 has its turn.
    expect(await judgeAll(agendaOf("1", "2", "3", "4"))).toBe(1);
    expect(done).toEqual(["feedback 4", "row 4", "row 1", "row 2", "row 3"]);
  });
});
