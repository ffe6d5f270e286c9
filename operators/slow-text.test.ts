// No text makes the functions slow that production code gives texts of users to: all of them get
// texts of which a super-linear one would make minutes or hours, in a worker with a limit that
// linear ones stay far below. The lint rules of eslint-plugin-regexp see most such patterns; this
// sees what they can't (lookaheads, patterns made of parts, loops, V8's own functions).
import { afterAll, expect, it } from "vitest";
import { connectWorker, type WorkerClient } from "../connections/worker/rpc.ts";
import type { SlowTextMethods, TextWork } from "./slow-text.testing.ts";

const limitMs = 30_000;
/** Personal data is looked for by forty rules, in several passes. */
const lengthOf = (work: TextWork): number => (work === "replacePersonalData" ? 25_000 : 250_000);

/** What patterns begin with, go on with, or stop at. */
const units =
  "a| |\t|\n|\n\n |\r|A|1|1 |-|.|. |@|a@|é@a.|+1 |(1) |sk-|sk-a|eyJ-|eyJaaaaaaaa.|A-|A'|I'm |my name is |my name is Al van |Mr. |Dear |thanks\n|call me |" +
  "password |password=|Bearer a|://a:|-----BEGIN |-----BEGIN PRIVATE KEY-----|DE89 |1 A |1 Aa St, |Aweg |<EMAIL_1>|<|ghp_|AKIA|1.1.1.|score |score: |score is |" +
  '"|`|/|~|a.b|。|\u0315|é|👍|{|</question|<\\|im_start\\|>|PRECEDENTmessage0CONTENT|${|\u2028|\u00a0';
const texts = (length: number): string[] => {
  const runs = units
    .split(/(?<!\\)\|/)
    .map((unit) => unit.replaceAll("\\|", "|").repeat(Math.ceil(length / unit.length)));
  return [
    ...runs.map((run) => `${run}!`),
    `${"a".repeat(3_000)}.${" ".repeat(length)}b`,
    `${"a".repeat(3_000)}${"\n".repeat(length)}b`,
    `a${"\u0315".repeat(length / 2)}${"\u0334".repeat(length / 2)}`,
  ];
};

let worker: WorkerClient<SlowTextMethods> | undefined;
const connected = (): WorkerClient<SlowTextMethods> =>
  (worker ??= connectWorker({
    name: "slow text",
    entry: new URL("./slow-text.testing.ts", import.meta.url),
    data: null,
  }));
afterAll(() => worker?.close());

it("every function ends in good time with every text", { timeout: 40 * limitMs }, async () => {
  const names = await connected().call("names", null);
  expect(names.length).toBeGreaterThan(15);
  for (const work of names) {
    for (const text of texts(lengthOf(work))) {
      const running = connected();
      const limit = setTimeout(
        () => running.kill(`${work} is not done with ${JSON.stringify(text.slice(0, 20))}...`),
        limitMs,
      );
      await running.call("run", { work, text });
      clearTimeout(limit);
    }
  }
});
