import { describe, expect, it } from "vitest";
import { tokenAuthor } from "../../algorithms/identity/identity.ts";
import { createCandidates, type Cursor } from "./candidates.ts";

type Query = { sql: string; parameters: Record<string, unknown> };

function setUp(cursors: Cursor[], answers: { rewarded?: object[]; corrected?: object[]; observed?: object[] }) {
  const asked: Query[] = [];
  const candidates = createCandidates({
    clickhouse: {
      query: async <Row>(sql: string, parameters: Record<string, unknown> = {}) => {
        asked.push({ sql, parameters });
        const rows = sql.includes("FROM cursors")
          ? cursors
          : sql.includes("FROM observations")
            ? answers.observed
            : parameters["source"] === "correction"
              ? answers.corrected
              : answers.rewarded;
        return (rows ?? []) as Row[];
      },
    },
    observations: "p.observations",
    limit: 2,
    overlapMs: 1_000,
  });
  return { candidates, asked };
}

describe("candidates", () => {
  it("look back over the overlap of the rewards, and go on at the offsets of the observations", async () => {
    const { candidates, asked } = setUp(
      [
        { source: "rewards", partition: 0, position: 5_000_000 },
        { source: "p.observations", partition: 3, position: 8 },
      ],
      {},
    );
    expect(await candidates()).toEqual({ candidates: [], cursors: [], more: false });
    const parameters = asked.map((query) => query.parameters);
    expect(parameters).toContainEqual({ since: 4_000_000, limit: 2, source: "response", tokenAuthor });
    expect(parameters).toContainEqual({ topic: "p.observations", positions: new Map([[3, 8]]), limit: 2 });
  });

  it("never look back before the beginning, and move the cursors to what was read", async () => {
    const { candidates, asked } = setUp([], {
      rewarded: [{ requestId: "a", rewardVersion: 7 }],
      corrected: [{ requestId: "a", rewardVersion: 9 }],
      observed: [
        { requestId: "o", kafkaPartition: 1, kafkaOffset: 4 },
        { requestId: "p", kafkaPartition: 1, kafkaOffset: 6 },
      ],
    });
    const batch = await candidates();
    expect(asked.find(({ parameters }) => "since" in parameters)?.parameters["since"]).toBe(0);
    expect(batch.candidates.map(({ requestId, source }) => [requestId, source])).toEqual([
      ["a", "response"],
      ["a", "correction"],
      ["o", "observation"],
      ["p", "observation"],
    ]);
    expect(batch.cursors).toEqual([
      { source: "rewards", partition: 0, position: 9 },
      { source: "p.observations", partition: 1, position: 7 },
    ]);
    expect(batch.more).toBe(true);
  });

  it("never move the cursor of the rewards back", async () => {
    const { candidates } = setUp([{ source: "rewards", partition: 0, position: 50 }], {
      rewarded: [{ requestId: "late", rewardVersion: 40 }],
    });
    expect((await candidates()).cursors).toEqual([]);
  });
});

it("of rewards of which none is new are not read at all", async () => {
  const asked: string[] = [];
  const candidates = (newest: number) =>
    createCandidates({
      clickhouse: {
        query: <Row>(sql: string) => {
          asked.push(sql);
          return Promise.resolve((sql.includes("max(version)") ? [{ newest }] : []) as Row[]);
        },
      },
      ...{ observations: "p.observations", limit: 2, overlapMs: 0 },
    })();
  expect(await candidates(0)).toEqual({ candidates: [], cursors: [], more: false });
  expect(asked.filter((sql) => sql.includes("FROM responses"))).toEqual([]);
  await candidates(1);
  expect(asked.filter((sql) => sql.includes("FROM responses"))).toHaveLength(1);
});
