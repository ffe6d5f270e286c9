// What a preset makes of a row of another system's export. Pure; RowProblem where it is neither.
import { conversationOf, type ForeignAnswer, type Turn } from "../conversation.ts";
import { isNone, RowProblem, type Json } from "../foreign.ts";
import type { Column } from "../log-row.ts";

/** Feedback on requests that are imported, which another file of the export holds. */
export interface ForeignFeedback {
  id: string;
  /** Id of the request, or what all requests of a group have in this member of their metadata. */
  target: string;
  group: string | null;
  /** [0, 1]; null: a correction. */
  value: number | null;
  text: string | null;
  /** What was measured, by which all of it can be withdrawn. */
  author: string;
  /** Milliseconds since the epoch; null: when the request was made. */
  createdAt: number | null;
}

export type Mapped = { columns: Partial<Record<Column, unknown>> } | { feedback: ForeignFeedback };
export type Preset = (row: Json) => Mapped;

export function asked(value: unknown, where: string): Turn[] {
  const turns = isNone(value) ? null : conversationOf(value);
  if (turns === null) throw new RowProblem(`${where} holds no question in words`);
  return turns;
}

export const answered = (answer: ForeignAnswer | null) => ({
  answer: answer?.text ?? null,
  tool_calls: answer === null || answer.calls.length === 0 ? null : answer.calls,
  finish_reason: answer?.finishReason ?? null,
});
