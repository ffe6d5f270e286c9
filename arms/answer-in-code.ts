// An arm whose answers are code: what a model put around a command (a code block, backticks) is not
// part of its answer. Models do it although they are asked not to.
import { answerCode } from "../algorithms/text/answer-code.ts";
import type { Arm } from "./arm.ts";

/** The arm with answers as answerCode() has them; a stream gives its answer at the end. */
export function answerInCode(arm: Arm): Arm {
  return {
    ...arm,
    async answer(request, signal, onText) {
      // The call is still streamed, so that the time of its first token is known.
      let attempt = 1;
      const listen = onText && ((_text: string, of: number): void => void (attempt = of));
      const result = await arm.answer(request, signal, listen);
      if (result.kind === "failure") return result;
      const text = answerCode(result.text);
      if (text !== "") onText?.(text, attempt);
      return { ...result, text };
    },
  };
}
