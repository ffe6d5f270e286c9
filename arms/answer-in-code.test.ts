import { expect, it } from "vitest";
import { answerInCode } from "./answer-in-code.ts";
import type { Arm, ArmAnswer, ArmResult } from "./arm.ts";
import { armRequest } from "./request.testing.ts";
import { NO_USAGE } from "../schemas/no-usage.ts";

const answered = (text: string): ArmAnswer => ({
  ...{ kind: "answer", text, finishReason: "stop", model: "m", cost: 2, attempts: 2, queueMs: 3, firstTokenMs: 4 },
  usage: { ...NO_USAGE, prompt: 1, prefilled: 1, completion: 5 },
});

/** Says the texts, the first in an attempt that failed. */
function anArm(texts: readonly string[], result: ArmResult): Arm {
  return {
    ...{ name: "small", model: "m", concurrency: 1, close: () => Promise.resolve() },
    answer(_request, _signal, onText) {
      onText?.("```", 1);
      for (const text of texts) onText?.(text, 2);
      return Promise.resolve(result);
    },
  };
}

it("answers with the code alone, and streams exactly that, as of the attempt that answered", async () => {
  const arm = answerInCode(anArm(["```bash\n", "ls -l\n", "```"], answered("```bash\nls -l\n```")));
  const heard: [string, number][] = [];
  const listen = (text: string, attempt: number): void => void heard.push([text, attempt]);
  const result = await arm.answer(armRequest({}), new AbortController().signal, listen);
  expect(result).toEqual(answered("ls -l"));
  expect(heard).toEqual([["ls -l", 2]]);
});

it("leaves failures alone, and answers that have nothing around them", async () => {
  const never = new AbortController().signal;
  const failure: ArmResult = { kind: "failure", code: "model_failed", message: "x", attempts: 2, retriable: true };
  expect(await answerInCode(anArm([], failure)).answer(armRequest({}), never)).toEqual(failure);
  const plain = answered("echo `date`");
  expect(await answerInCode(anArm([], plain)).answer(armRequest({}), never)).toEqual(plain);
});
