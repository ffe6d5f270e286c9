import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { arms, settingsOf } from "./arms.ts";
import { appendRow, readAnswers, type Row, saveAnswers, type Sitting } from "./log.ts";

const row = (position: number, more: Partial<Row> = {}): Row => ({
  ...{ position, hash: "0123456789ab", domain: "nl2bash", arm: "small-with", settings: settingsOf(arms[0]) },
  ...{ score: 0.5, lenient: 0.5, copy: null, similarity: null, cpu: { model: 1, ours: 0, servers: 0 } },
  ...{ firstTokenMs: null, finish: "stop", context: [1], commit: null },
  usage: { prompt: 1, linked: 0, recomputed: 0, prefilled: 1, completion: 1 },
  ...more,
});
const sitting: Sitting = {
  ...{ commit: "abc", date: "2026-11-26T00:00:00.000Z", build: null },
  overhead: { ours: 1, servers: 1, requests: 1, in_flight: 16, alone_ms: 1 },
};

test("answers are kept without their text, and another run goes on with them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "serve-"));
  try {
    const [here, beside] = [join(folder, "answers.jsonl"), join(folder, "saved.json")];
    expect((await readAnswers(here, beside)).rows.size).toBe(0);
    await appendRow(here, { ...row(1), text: "SECRET" });
    await appendRow(here, { ...row(0), text: "SECRET" });
    await appendRow(here, { ...row(2, { settings: "other" }), text: "SECRET" });
    await saveAnswers({ ...(await readAnswers(here, beside)), sittings: [sitting] }, beside);
    expect(await readFile(beside, "utf8")).not.toContain("SECRET");
    // A machine without the first file; then one that has asked again.
    const elsewhere = await readAnswers(join(folder, "none.jsonl"), beside);
    expect(elsewhere).toEqual({
      sittings: [sitting],
      rows: new Map([0, 1].map((at) => [`${at} small-with`, row(at)])),
    });
    await appendRow(here, { ...row(1, { score: 1 }), text: "" });
    expect((await readAnswers(here, beside)).rows.get("1 small-with")?.score).toBe(1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
