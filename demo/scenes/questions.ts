// A few new requests, one after another in front of the reader: what each was shown, who answered and why, how long it took.
import pc from "picocolors";
import { describeAnswered } from "../describe.ts";
import { createExampleTexts } from "../example-texts.ts";
import type { Scene } from "../scene.ts";
import { seconds } from "../screen.ts";

const asked = 5;

export const questions: Scene = async ({ screen, session, client, data, commandedAt }) => {
  screen.heading(
    "New requests",
    "Each goes through plan and generate as a record in Kafka. Similar requests answered before are shown to the cheap arm; a Thompson sample decides who answers.",
  );
  const texts = createExampleTexts(session.clickhouse, data);
  for (const [index, { request, references }] of spread(data.questions, asked).entries()) {
    const answered = await client.ask(request, { scene: "questions" });
    if (index === 0) screen.line(pc.dim(`first answer ${seconds(Date.now() - commandedAt)} after the command\n`));
    const ids = (answered.decision?.arms ?? []).flatMap(({ examples }) => examples.map(({ id }) => id));
    const known = await texts(ids);
    const options = { question: request, references, example: (id: string) => known.get(id), width: screen.width };
    for (const line of describeAnswered(answered, options)) screen.line(line);
    screen.line();
  }
};

/** `count` of them, evenly from the whole list. */
function spread<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, Math.floor(all.length / count));
  return all.filter((_, index) => index % step === 0).slice(0, count);
}
