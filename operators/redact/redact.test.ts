import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { mask, withheldText, type MaskItem } from "../../algorithms/privacy/mask.ts";
import { pseudonym } from "../../algorithms/privacy/placeholders.ts";
import { TextError } from "../../connections/text/port.ts";
import { createLines } from "../../runtime/lines.ts";
import type { Lines, Row, TableLines } from "../../runtime/rows.ts";
import { createRedact, type RedactDependencies } from "./redact.ts";

const options = { key: "a secret of sixteen" };
const never = new AbortController().signal;
const source = {
  topic: "t",
  partition: 0,
  record: { offset: 1, key: null, value: null, headers: {}, timestamp: 0 },
};
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const response = (text: string, more: object = {}): Row => ({
  ...{ created_at: "2026-03-01 00:00:00.000", request_id: "r1", tenant: "acme", text, passthrough: "" },
  ...{ error_message: null, ...more },
});
const request = (...contents: string[]): Row => ({
  ...{ created_at: "2026-03-01 00:00:00.000", request_id: "r1", tenant: "acme", passthrough: "", stop: ["bob@x.org"] },
  messages: contents.map((content) => ({ role: "user", content })),
  metadata: { user: "ann", note: "from ann@x.org" },
});

function linesOf(rows: readonly Row[]): Lines {
  const lines = createLines();
  for (const row of rows) lines.add(row, source);
  return lines;
}
const rowsOf = (lines: Lines): Row[] => Array.from({ length: lines.length }, (_, index) => lines.row(index));

async function redacted(
  tables: Record<string, Row[]>,
  text: Partial<RedactDependencies["text"]> = {},
): Promise<{ rows: Record<string, Row[]>; withheld: number; waits: number }> {
  let [withheld, waits] = [0, 0];
  let got: readonly TableLines[] = [];
  const redact = createRedact({
    text: { mask: (items, how) => Promise.resolve(mask(items, how)), check: () => Promise.resolve(), ...text },
    options,
    insert: async (lines) => {
      await delay(1);
      got = lines;
    },
    onWithheld: (texts) => (withheld += texts),
    onWaiting: () => waits++,
  });
  const given = Object.entries(tables).map(([table, rows]) => ({
    table,
    lines: linesOf(rows),
  }));
  await redact(given, never);
  return {
    rows: Object.fromEntries(got.map(({ table, lines }) => [table, rowsOf(lines)])),
    withheld,
    waits,
  };
}

describe("redact", () => {
  it("replaces what people wrote, with the same placeholder in all rows of a request", async () => {
    const { rows } = await redacted({
      decisions: [{ created_at: "x", text: "bob@x.org stays: it is no text of anybody" }],
      requests: [request("mail bob@x.org", "mail eve@x.org")],
      responses: [
        response("to bob@x.org", { passthrough: '{"a":"Dear Bob,\\nhi"}', stop_sequence: "bob@x.org" }),
        response("nothing", { stop_sequence: "END" }),
      ],
      feedback: [{ ...response("say eve@x.org"), author: "ann", comment: null }],
    });
    const mail = /<EMAIL_\d{9}>/.exec(String(rows.responses![0]!.text))![0];
    const [{ messages, stop, metadata }] = rows.requests as unknown as [
      { messages: { content: string }[]; stop: string[]; metadata: Record<string, string> },
    ];
    expect(messages.map(({ content }) => content)).toEqual([
      `mail ${mail}`,
      expect.stringMatching(/^mail <EMAIL_\d{9}>$/),
    ]);
    expect(messages[1]!.content).not.toContain(mail);
    expect(stop).toEqual([mail]);
    expect(metadata).toEqual({
      user: expect.stringMatching(/^user-[0-9a-f]{16}$/),
      note: expect.stringMatching(/^from <EMAIL_\d{9}>$/),
    });
    expect(rows.responses).toMatchObject([
      {
        redacted: true,
        stop_sequence: mail,
        passthrough: expect.stringMatching(/^\{"a":"Dear <NAME_\d{9}>,\\nhi"\}$/),
      },
      { redacted: false, text: "nothing", passthrough: "", stop_sequence: "END" },
    ]);
    expect(rows.feedback).toMatchObject([
      { author: expect.stringMatching(/^author-[0-9a-f]{16}$/), text: messages[1]!.content.replace("mail", "say") },
    ]);
    expect(rows.decisions![0]!.text).toContain("bob@x.org");
  });

  it("replaces what an endpoint that failed says of the request; the answer is what the client got", async () => {
    const failed_arms = [{ arm: "small", code: "endpoint_rejected", message: "no access for bob@x.org" }];
    const { rows } = await redacted({ responses: [response("hello", { failed_arms })] });
    expect(rows.responses).toMatchObject([
      {
        failed_arms: [{ arm: "small", message: expect.stringMatching(/^no access for <EMAIL_\d{9}>$/) }],
        redacted: false,
      },
    ]);
  });

  it("keeps a session together that is named after a person, and its outcome with it", async () => {
    const of = (id: string, metadata: Record<string, string>): Row => ({ ...request("hi"), request_id: id, metadata });
    const name = "ann@x.org";
    const { rows } = await redacted({
      requests: [
        of("r1", { session: name }),
        of("r2", { session_id: name }),
        of("r3", { conversation_id: "visit 7", session: "" }),
      ],
      feedback: [
        { ...response("well"), author: "", comment: null, session: name },
        { ...response("well"), author: "", comment: null, session: "" },
      ],
    });
    const named = pseudonym(options.key, "session", name);
    expect(named).toMatch(/^session-[0-9a-f]{16}$/);
    expect(rows.requests!.map(({ metadata }) => metadata)).toEqual([
      { session: named },
      { session_id: named },
      { conversation_id: "visit 7", session: "" },
    ]);
    expect(rows.feedback!.map(({ session }) => session)).toEqual([named, ""]);
  });

  it("withholds the bytes of dead letters, and keeps by what they are found", async () => {
    const letter = (key: string | null): Row => ({
      ...{ created_at: "x", tenant: "", source_topic: "t.requests", source_partition: 1, source_offset: 7 },
      ...{
        reason: "no text: bob@x.org",
        key_base64: key === null ? null : base64(key),
        value_base64: base64("bob@x.org"),
      },
      headers_base64: { "precedent-id": base64("r1"), mine: base64("bob@x.org") },
      headers_list_base64: [
        ["mine", base64("bob@x.org")],
        ["precedent-id", base64("r1")],
        ["bob@x.org", null],
      ],
    });
    const { rows } = await redacted({ dead_letters: [letter("r1"), letter("bob@x.org"), letter(null)] });
    const gone = base64(withheldText);
    expect(rows.dead_letters!.map(({ key_base64: key }) => key)).toEqual([base64("r1"), gone, null]);
    for (const row of rows.dead_letters!)
      expect(row).toMatchObject({
        reason: expect.stringMatching(/^no text: <EMAIL_\d{9}>$/),
        value_base64: gone,
        headers_base64: { "precedent-id": base64("r1"), mine: gone },
        headers_list_base64: [
          ["mine", gone],
          ["precedent-id", base64("r1")],
          [expect.stringMatching(/^<EMAIL_\d{9}>$/), null],
        ],
      });
  });

  it("withholds exactly the texts that take too long, or with which the worker dies", async () => {
    const hostile = (items: readonly MaskItem[], word: string): boolean =>
      items.some(({ text }) => text.startsWith(word));
    const { rows, withheld } = await redacted(
      { responses: [response("a"), response("slow"), response("b"), response("deadly"), response("ann@x.org")] },
      {
        mask: (items, how) => {
          if (hostile(items, "slow")) return Promise.reject(new TextError("text_timeout", "too long"));
          if (hostile(items, "deadly")) return Promise.reject(new TextError("text_unavailable", "it died"));
          return Promise.resolve(mask(items, how));
        },
      },
    );
    const texts = rows.responses!.map(({ text }) => text);
    expect(texts).toEqual(["a", withheldText, "b", withheldText, expect.stringMatching(/^<EMAIL_\d{9}>$/)]);
    expect(rows.responses!.map((row) => row.redacted)).toEqual([false, true, false, true, true]);
    expect(withheld).toBe(2);
  });

  it("waits while there is no worker: nothing is withheld for that", async () => {
    let failures = 3;
    const away = new TextError("text_unavailable", "it does not start");
    const { rows, withheld, waits } = await redacted(
      { responses: [response("ann@x.org")] },
      {
        mask: (items, how) => (failures-- > 0 ? Promise.reject(away) : Promise.resolve(mask(items, how))),
        check: () => (failures > 0 ? Promise.reject(away) : Promise.resolve()),
      },
    );
    expect({ withheld, waits }).toEqual({ withheld: 0, waits: 3 });
    expect(rows.responses![0]!.text).toMatch(/^<EMAIL_\d{9}>$/);
  });

  it("gives the worker some texts at a time, and long ones alone", async () => {
    const sizes: number[] = [];
    await redacted(
      { responses: Array.from({ length: 1_200 }, () => response("x")).concat(response("y".repeat(100_000))) },
      {
        mask: (items, how) => {
          sizes.push(items.length);
          return Promise.resolve(mask(items, how));
        },
      },
    );
    expect(sizes).toEqual([512, 512, 176, 1]);
  });
});
