// What two models answered to the same questions and whether it was right, with the time that each
// answer would take: so many milliseconds a token of it.
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { loadRoutingLog } from "../routing/data.ts";

export type ArmName = "small" | "large";

/** The small model is five times as fast. */
const msPerToken: Readonly<Record<ArmName, number>> = { small: 1, large: 5 };

export interface Question {
  request: string;
  answers: Record<ArmName, { response: string; latencyMs: number; quality: number }>;
}

/** Each question once. Throws an error for people where the file is no such log. */
export async function loadQuestions(data: string | undefined): Promise<Question[]> {
  const { rows, lines } = await loadRoutingLog(data);
  const questions = new Map<string, Question>();
  rows.forEach((row, i) => {
    const answerOf = (arm: ArmName) => {
      const { response } = lines[i]!.value[arm] as { response?: unknown };
      const reported = typeof response === "string" ? response : "";
      return {
        response: reported,
        latencyMs: msPerToken[arm] * Math.max(20, estimateTokens(reported)),
        quality: row[arm],
      };
    };
    questions.set(row.request, {
      request: row.request,
      answers: { small: answerOf("small"), large: answerOf("large") },
    });
  });
  return [...questions.values()];
}
