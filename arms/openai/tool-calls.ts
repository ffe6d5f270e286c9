// Calls of tools, put together from what endpoints stream: by index, by id, or in the order they
// come. A used index with another id, another name, or behind complete arguments is another call.
// Never a call without a name, nor of a function with arguments that are no object. Linear.
import { randomUUID } from "node:crypto";
import { isObject, jsonOf } from "../../algorithms/text/json-shape.ts";
import { wellFormedPieces, type Pieces } from "../../algorithms/text/well-formed.ts";
import type { CallPiece } from "../../schemas/types.ts";
import { BrokenCall, NotACompletion } from "./errors.ts";
import { merged } from "./extra.ts";
import { createJsonEnd, type JsonEnd } from "./json-end.ts";

type Json = Record<string, unknown>;

/** An entry of tool_calls, as it was read. */
interface Entry {
  index: number | null;
  id: string | null;
  name: string | null;
  type: string | null;
  kind: "function" | "custom";
  text: string;
  rest: Json;
  restOfIt: Json;
}

interface Call extends Omit<Entry, "text" | "id"> {
  /** As the endpoint has it, and as readers see it. */
  id: string | null;
  shownId: string;
  order: number;
  parts: string[];
  /** Characters of the parts. */
  length: number;
  end: JsonEnd;
  /** Where it was streamed; null: readers get it with the whole answer. */
  position: number | null;
  pass: Pieces;
}

export function createToolCalls() {
  const calls: Call[] = [];
  const byIndex = new Map<number, Call>();
  const byId = new Map<string, Call>();
  /** Order of the next call, and position of the next one that is streamed. */
  let [next, streamed, length] = [0, 0, 0];
  /** Streamed calls come in the final order: from index 0, without a gap. */
  let inOrder = true;

  const find = ({ index, id, name }: Entry): Call | undefined => {
    if (index === null) return (id === null ? undefined : byId.get(id)) ?? (id === null ? calls.at(-1) : undefined);
    const known = byIndex.get(index) ?? (name === null && id !== null ? byId.get(id) : undefined);
    if (known !== undefined || name !== null || id !== null) return known;
    // Its first piece had no index.
    const last = calls.at(-1);
    return last?.index === null ? last : undefined;
  };

  const open = (entry: Entry): Call => {
    const { index } = entry;
    const isNew = index !== null && !byIndex.has(index);
    inOrder &&= entry.name !== null && entry.kind === "function" && (!isNew || index === next);
    const call: Call = {
      ...entry,
      type: entry.type ?? entry.kind,
      order: isNew ? index : next,
      shownId: entry.id ?? `call_${randomUUID().replaceAll("-", "")}`,
      parts: [],
      length: 0,
      end: createJsonEnd(),
      position: inOrder ? streamed++ : null,
      pass: wellFormedPieces(),
    };
    next = Math.max(next, call.order) + 1;
    calls.push(call);
    return call;
  };

  const take = (entry: Entry, isWhole: boolean): CallPiece | null => {
    const { index, id } = entry;
    let call = find(entry);
    const text = call === undefined ? entry.text : behind(call, entry.text);
    length += text.length + (entry.name?.length ?? 0);
    const saysNothing = !isWhole && call === undefined && id === null && entry.name === null && text === "";
    if (saysNothing || (call !== undefined && isRepeated(call, entry))) return null;
    const isName = call !== undefined && isNamePiece(call, entry);
    const isFirst = call === undefined || (!isName && isAnother(call, entry));
    if (call === undefined || isFirst) call = open(entry);
    else {
      call.name = isName ? nameOf(call.name ?? "", entry.name ?? "") : (call.name ?? entry.name);
      call.rest = merged(call.rest, entry.rest) as Json;
      call.restOfIt = merged(call.restOfIt, entry.restOfIt) as Json;
    }
    call.id ??= id;
    if (call.position === null && call.id !== null) call.shownId = call.id;
    if (id !== null) byId.set(id, call);
    if (index !== null) byIndex.set(index, call);
    if (text !== "") call.parts.push(text);
    call.length += text.length;
    call.end.add(text);
    if (call.position === null) return null;
    const piece = { index: call.position, id: null, type: null, name: null, arguments: call.pass(text) };
    if (isFirst) return { ...piece, id: call.shownId, type: call.type, name: call.name };
    return piece.arguments === "" ? null : piece;
  };

  return {
    /** Takes tool_calls; returns what may be streamed. isWhole: of whole calls. NotACompletion. */
    add: (value: unknown, isWhole: boolean): CallPiece[] =>
      listOf(value, "tool_calls").flatMap((one, at) => {
        const entry = entryOf(one);
        const piece = take(isWhole ? { ...entry, index: at, text: unwrapped(entry) } : entry, isWhole);
        return piece === null ? [] : [piece];
      }),
    /** Characters of names and arguments. */
    length: (): number => length,
    texts: (): string[] => calls.flatMap(({ name, parts }) => [name ?? "", parts.join("")]),
    /** All calls, as a message has them. Throws BrokenCall unless the answer was cut (`isCut`). */
    whole: (isCut: boolean): Json[] =>
      [...calls].sort((one, other) => one.order - other.order).map((call) => messageCall(call, isCut)),
  };
}

/** Some endpoints (Baidu) say all arguments so far with every piece: what is new of them. */
function behind({ kind, parts, length, end }: Call, text: string): string {
  const mayRepeat = kind === "function" && length > 0 && text.length > length && !end.isComplete();
  return mayRepeat && text.startsWith(parts.join("")) ? text.slice(length) : text;
}

/** Another call at a place that is taken. Throws NotACompletion where its name is missing. */
function isAnother(call: Call, { id, name, text }: Entry): boolean {
  // Some endpoints make up an id for every piece.
  const isOpen = call.kind === "function" && !call.end.isComplete();
  const goesOn = isOpen && (name === null || (name === call.name && call.length > 0));
  if (id !== null && call.id !== null && id !== call.id) return !goesOn;
  if (name !== null && call.name !== null && name !== call.name) return true;
  const begins = call.kind === "function" && call.end.isComplete() && text.trimStart().startsWith("{");
  if (begins && (name === null || id !== null)) throw new NotACompletion("two calls of tools in one");
  return begins;
}

/**
 * The name comes in pieces, or as far as it is known, before the arguments. To readers of a stream
 * that have its beginning the gateway says in the end that the call is another one.
 */
const isNamePiece = (call: Call, { index, id, name }: Entry): boolean =>
  name !== null &&
  call.name !== null &&
  name !== call.name &&
  call.parts.length === 0 &&
  (id === null ? index !== null : id === call.id);
const nameOf = (before: string, next: string): string => (next.startsWith(before) ? next : before + next);

/**
 * Some endpoints say a call once more when it is complete, or its arguments alone (parsers of vLLM,
 * at the end of the stream).
 */
const isRepeated = (call: Call, { id, name, text }: Entry): boolean =>
  call.kind === "function" &&
  (name === null || name === call.name) &&
  (id === null ? name === null : id === call.id) &&
  text !== "" &&
  text.length === call.length &&
  call.end.isComplete() &&
  text === call.parts.join("");

function messageCall({ name, type, kind, rest, restOfIt, shownId, parts }: Call, isCut: boolean): Json {
  const text = parts.join("");
  if (name === null) throw new BrokenCall("without a name");
  if (kind === "function" && !isCut && text.trim() !== "" && !isObject(jsonOf(text)))
    throw new BrokenCall("whose arguments are no object");
  const called = { name, [kind === "custom" ? "input" : "arguments"]: text, ...restOfIt };
  return { id: shownId, type, [kind]: called, ...rest };
}

/** Some endpoints write the text of the object as JSON, too. */
function unwrapped({ kind, text }: Entry): string {
  const inner = kind === "function" && text.trimStart().startsWith('"') ? jsonOf(text) : null;
  return typeof inner === "string" && isObject(jsonOf(inner)) ? inner : text;
}

/** A single value counts as a list of itself. Throws NotACompletion. */
export function listOf(value: unknown, member: string): Json[] {
  if (value === undefined || value === null) return [];
  const list = Array.isArray(value) ? (value as unknown[]).filter((one) => one !== null) : [value];
  if (!list.every(isObject)) throw new NotACompletion(`its ${member} can't be read`);
  return list;
}

function entryOf({ index, id, type, function: called, custom, ...rest }: Json): Entry {
  const body = called ?? custom ?? {};
  if (!isObject(body)) throw new NotACompletion("a call of a tool can't be read");
  const { name, arguments: args, input, ...restOfIt } = body;
  const kind = isObject(custom) && !isObject(called) ? "custom" : "function";
  return {
    index: indexOf(index),
    id: wordOf(id),
    name: wordOf(name),
    type: wordOf(type),
    kind,
    rest,
    restOfIt,
    text: textOf(args ?? input),
  };
}

/** null: it is none. */
export function indexOf(value: unknown): number | null {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

const wordOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** Arguments should be text; some endpoints send the object. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (isObject(value)) return JSON.stringify(value);
  throw new NotACompletion("the arguments of a call of a tool are no text");
}
