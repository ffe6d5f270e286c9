// A few new requests, one after another in front of the reader: what each was shown, who answered
// and why, how long it took.
import pc from "picocolors";
import { modelOf } from "../../../state/arms.ts";
import type { ArmConfig } from "../../../config/schema.ts";
import { anthropicUrl } from "../../../config/sections/arms.ts";
import { pricesAt } from "../../../config/price-bands.ts";
import { priceList } from "../../../config/prices.ts";
import { describeAnswered } from "../describe.ts";
import { createExampleTexts } from "../example-texts.ts";
import type { Scene } from "../scene.ts";
import { seconds } from "../screen.ts";

const asked = 5;

export const questions: Scene = async ({ screen, session, client, data, commandedAt }) => {
  const { arms } = session.config;
  const late = arms.filter(({ name }) => !session.arms.configured().some((arm) => arm.name === name));
  screen.heading(
    "New requests",
    "Each goes through plan and generate as a record in Kafka. Similar requests answered before are shown to the model; a sample of what was learnt of the two decides which one answers.",
  );
  const widest = Math.max(...arms.map(({ name }) => name.length));
  for (const arm of arms) screen.line(`  ${pc.green(arm.name.padEnd(widest))}  ${describeArm(arm)}`);
  if (late.length > 0) {
    const names = late.map(({ name }) => name).join(", ");
    screen.line(pc.dim(`  ${names} joins when its model has been fetched and loaded: until then the others answer.`));
  }
  screen.line();
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

function describeArm(arm: ArmConfig): string {
  const examples = arm.examples ? "shown similar examples" : "asked without examples";
  const { prompt, completion } = pricesAt(priceList(arm), Date.now(), 0);
  // deploy/demo.yaml counts the time of models on this machine as their price.
  const unit = arm.type === "llama" ? " CPU seconds" : "";
  const cost =
    completion > 0 ? `, ${prompt} and ${completion}${unit} per million tokens read and written` : ", without a price";
  switch (arm.type) {
    case "llama":
      return `${modelOf(arm)} on this CPU, ${examples}${cost}`;
    case "recorded":
      return `a recorded log, ${examples}${cost} ${pc.dim("(OPENAI_BASE_URL and OPENAI_API_KEY: a real endpoint)")}`;
    case "reuse":
      return "answers of similar requests, given again as they are";
    case "openai":
    case "anthropic":
      return `${arm.model} at ${new URL(arm.baseUrl ?? arm.endpoints?.[0]?.baseUrl ?? anthropicUrl).host}, ${examples}${cost}`;
  }
}

/** `count` of them, evenly from the whole list. */
function spread<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, Math.floor(all.length / count));
  return all.filter((_, index) => index % step === 0).slice(0, count);
}
