// A row of docs/import.md's columns as a row of the log. Pure; RowProblem says what is wrong.
import { hash } from "node:crypto";
import { finishReasonOf } from "../../algorithms/text/finish-reason.ts";
import { bytesOf, mostMetadataBytes, nameProblem } from "../../algorithms/identity/names.ts";
import { wellFormedJson } from "../../algorithms/text/well-formed.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { LogRow } from "../../state/log-replay-row.ts";
import { answerOf, conversationOf, type Turn } from "./conversation.ts";
import { unstreamed } from "./stream.ts";
import { usageOf } from "./usage.ts";
import { listOf } from "../../algorithms/text/json-shape.ts";
import {
  amountOf,
  countOf,
  firstName,
  isNone,
  membersOf,
  mostCount,
  nameOf,
  objectOf,
  parsed,
  RowProblem,
  textsOf,
  timeOf,
  type Json,
} from "./foreign.ts";

/** Columns of the files that import and log-replay read, and export writes. */
export const columns = [
  ...[
    "id",
    "time",
    "tenant",
    "domain",
    "user",
    "metadata",
    "request",
    "messages",
    "tools",
    "max_tokens",
    "temperature",
  ],
  ...["arm", "model", "answer", "tool_calls", "finish_reason", "reward", "outcome", "propensity", "correction"],
  ...["prompt_tokens", "cached_tokens", "completion_tokens", "cost", "first_token_ms", "total_ms"],
] as const;
export type Column = (typeof columns)[number];

function number(row: Json, name: Column, least: number, most: number): number | null {
  const given = row[name];
  if (isNone(given) || (typeof given === "string" && /^(?:nan)?$/i.test(given.trim()))) return null;
  const read = typeof given === "string" ? Number(given) : given;
  if (typeof read !== "number" || Number.isNaN(read)) throw new RowProblem(`${name}: it is no number`);
  if (read < least || read > most) throw new RowProblem(`${name}: it is not within ${least} and ${most}`);
  return read;
}
const count = (row: Json, name: Column): number | null => {
  const read = number(row, name, 0, mostCount);
  return read === null ? null : Math.round(read);
};
const amount = (row: Json, name: Column): number | null => number(row, name, 0, Number.MAX_VALUE);

function share(row: Json, name: Column): number | null {
  const given = typeof row[name] === "string" ? row[name].trim().toLowerCase() : row[name];
  if (given === true || given === "true") return 1;
  return given === false || given === "false" ? 0 : number(row, name, 0, 1);
}

function text(row: Json, name: Column): string | null {
  const given = row[name];
  if (isNone(given)) return null;
  if (typeof given !== "string") return wellFormedJson(given);
  return given.toWellFormed();
}
const named = (row: Json, name: Column): string | null => nameOf(row[name]);

/** Who asked, where the file has no column `user`: precedent forget goes by it. */
const userOf = (row: Json): string | null => {
  const metadata = membersOf(row["metadata"]);
  const inColumns = [row["user"], row["end_user"], row["userId"], row["user_id"]];
  return firstName(...inColumns, metadata["user"], metadata["user_id"], metadata["userId"]);
};

function metadataOf(row: Json, onCut?: RowContext["onCut"]): Record<string, string> {
  const user = userOf(row);
  // Once, where redaction and forgetting know it.
  const isUser = (name: string, value: string): boolean => (name === "user_id" || name === "userId") && value === user;
  const given = Object.entries(textsOf(row["metadata"])).filter(([name, value]) => !isUser(name, value));
  const own = user === null ? {} : { user };
  const all = Object.entries({ ...own, ...Object.fromEntries(given), ...own });
  let bytes = 0;
  const kept = all.filter(([name, value]) => {
    const more = bytes + bytesOf(name) + bytesOf(value);
    if (more > mostMetadataBytes.recorded && name !== "user") return false;
    bytes = more;
    return true;
  });
  if (kept.length < all.length) onCut?.("metadata: members beyond 64 KiB");
  return Object.fromEntries(kept.map(([name, one]) => [name.toWellFormed(), one.toWellFormed()]));
}

function timeAt(row: Json, index: number): number {
  // A log without times is one request a second.
  const read = isNone(row["time"]) ? index * 1_000 : timeOf(row["time"]);
  if (!(read >= 0 && read < Date.UTC(2100, 0, 1)))
    throw new RowProblem(
      "time: it is no time (2026-03-29T01:30:00Z, or seconds since 1970)",
      `time: ${text(row, "time")?.slice(0, 60)} is no time (2026-03-29T01:30:00Z, or seconds since 1970)`,
    );
  return read;
}

function turnsOf(row: Json): Turn[] {
  if (isNone(row["messages"])) {
    const question = text(row, "request");
    if (question !== null && question.trim() !== "") return [{ role: "user", content: question }];
    throw new RowProblem(
      "it has neither request nor messages; --columns request=NAME says which column holds the question",
    );
  }
  const turns = conversationOf(row["messages"]);
  if (turns === null || typeof parsed(row["messages"]) === "string")
    throw new RowProblem("messages: it is no conversation with a user's text");
  return turns;
}

/** What the conversation has beyond text, as the gateway keeps it; null: nothing. */
function passthroughOf(turns: readonly Turn[], tools: unknown): string | null {
  const isPlain = turns.every(({ role, tool_calls: calls }) => role !== "tool" && calls === undefined);
  const offered = listOf(parsed(tools)).filter((tool) => objectOf(tool) !== undefined);
  if (isPlain && offered.length === 0) return null;
  return wellFormedJson({
    ...(offered.length === 0 ? {} : { tools: offered }),
    ...(isPlain ? {} : { messages: turns }),
  });
}

/** Endpoints take 2 at most. */
const mostHeat = 100;

export interface RowContext {
  /** The row's number in its file, from 1. */
  index: number;
  /** Called with what of the row is not kept. */
  onCut?: ((what: string) => void) | undefined;
  /** What an arm's answer costs, by the file's name for the arm; absent: nothing. */
  costOf?:
    ((arm: string, usage: { prompt: number; cached: number; completion: number }, at: number) => number) | undefined;
}

export function logRowOf(row: Json, { index, costOf, onCut }: RowContext): LogRow {
  const ids = {
    ...{ id: named(row, "id"), tenant: named(row, "tenant"), domain: named(row, "domain"), arm: named(row, "arm") },
  };
  // Two of them could become one.
  if (typeof row["id"] === "string" && /[\0\uFFFD]/.test(row["id"]))
    throw new RowProblem("id: its bytes are no text (toString(id) of ClickHouse writes UUIDs as text)");
  const problem = nameProblem(ids);
  if (problem !== null) throw new RowProblem(problem);
  const turns = turnsOf(row).map((turn) => ({ ...turn, content: turn.content.toWellFormed() }));
  const passthrough = passthroughOf(turns, row["tools"]);
  const createdAt = timeAt(row, index);
  const request = plainRequest("", {
    id: ids.id ?? ownId(index, createdAt, turns),
    tenant: ids.tenant ?? "default",
    domain: ids.domain,
    messages: turns.map(({ role, content }) => ({ role, content })),
    metadata: metadataOf(row, onCut),
    createdAt,
    passthrough,
    requires: passthrough === null ? [] : ["tools"],
  });
  const [maxTokens, heat] = [countOf(row["max_tokens"]) || null, amountOf(row["temperature"])];
  request.params = { ...request.params, maxTokens, temperature: heat === null || heat > mostHeat ? null : heat };
  const rated = { reward: share(row, "reward") ?? share(row, "outcome"), propensity: number(row, "propensity", 0, 1) };
  // A probability of 0 can't have led to what was chosen.
  const propensity = rated.propensity || null;
  const answer =
    ids.arm === null ? null : { ...loggedAnswer(row, ids.arm, createdAt, costOf), reward: rated.reward, propensity };
  return { request, answer, correction: text(row, "correction"), load: 0, saturation: {} };
}

/** The same in a copy of the file under another name, and another in another file. */
const ownId = (index: number, createdAt: number, turns: readonly Turn[]): string =>
  `row-${index}-${hash("sha256", JSON.stringify([createdAt, turns])).slice(0, 16)}`;

function loggedAnswer(
  row: Json,
  arm: string,
  at: number,
  costOf: RowContext["costOf"],
): Omit<NonNullable<LogRow["answer"]>, "reward" | "propensity"> {
  const stored = unstreamed(row["answer"]);
  // A provider's body, or what it streamed; a text is the answer itself.
  const isBody = typeof stored === "object" && stored !== null;
  const body = isBody ? answerOf(stored) : null;
  const used = usageOf(membersOf(objectOf(stored)?.["usage"]));
  const calls = isNone(row["tool_calls"])
    ? (body?.calls ?? [])
    : (answerOf({ tool_calls: parsed(row["tool_calls"]) })?.calls ?? []);
  const given = count(row, "prompt_tokens") ?? used.prompt ?? 0;
  const cached = count(row, "cached_tokens") ?? used.cached ?? 0;
  const completion = count(row, "completion_tokens") ?? used.completion ?? 0;
  // More than the prompt has: they are counted beside it, as by Anthropic.
  const prompt = cached > given ? Math.min(mostCount, given + cached) : given;
  return {
    ...{ arm, model: named(row, "model") },
    text: (isBody ? body?.text.toWellFormed() : text(row, "answer")) ?? (calls.length === 0 ? null : ""),
    passthrough: calls.length === 0 ? null : wellFormedJson({ message: { tool_calls: calls } }),
    finishReason:
      finishReasonOf(named(row, "finish_reason") ?? body?.finishReason ?? null) ??
      (calls.length === 0 ? "stop" : "tool_calls"),
    ...{ promptTokens: prompt, prefilledTokens: prompt - cached, completionTokens: completion },
    cost: amount(row, "cost") ?? costOf?.(arm, { prompt, cached, completion }, at) ?? 0,
    ...{ firstTokenMs: amount(row, "first_token_ms"), serviceMs: amount(row, "total_ms") },
  };
}
