// The calls of tools of a stream: what of them may be sent when (stream-parts.ts has the rule). The
// id, type and name of a call are sent once, with the first piece of its arguments.
import type { CallPiece } from "../schemas/types.ts";
import { createPrefixGuard, type PrefixGuard } from "./prefix-guard.ts";

type Head = Pick<CallPiece, "id" | "type" | "name">;

interface Call {
  /** What was received of this attempt. */
  received: Head | null;
  sent: Head | null;
  arguments: PrefixGuard;
}

export interface StreamCalls {
  restart(): void;
  add(piece: CallPiece): void;
  /** False: what came since the beginning is not what was sent. */
  agree(): boolean;
  next(): CallPiece[];
  /** What is left of the final calls, for chunks; null: what was sent is not their beginning. */
  rest(final: unknown): object[] | null;
}

export function createStreamCalls(): StreamCalls {
  /** In their order, from index 0. */
  const calls: Call[] = [];
  /** Those with something new, so that a piece costs its own length. */
  const touched = new Set<number>();
  let agrees = true;

  return {
    restart() {
      agrees = true;
      touched.clear();
      for (const call of calls) {
        call.received = null;
        call.arguments.restart();
      }
    },
    add({ index, arguments: piece, ...head }) {
      if (index === calls.length) calls.push({ received: null, sent: null, arguments: createPrefixGuard() });
      const call = calls[index];
      if (call === undefined) {
        agrees = false;
        return;
      }
      call.received ??= head;
      agrees &&= call.received.id !== null && (call.sent === null || isSame(call.sent, call.received));
      call.arguments.add(piece);
      agrees &&= call.arguments.agrees();
      touched.add(index);
    },
    agree: () => agrees,
    next() {
      if (!agrees) return [];
      const pieces: CallPiece[] = [];
      for (const index of touched) {
        const call = calls[index];
        if (call === undefined || call.received === null) continue;
        const piece = call.arguments.next();
        if (call.sent === null) pieces.push({ index, ...call.received, arguments: piece });
        else if (piece !== "") pieces.push({ index, id: null, type: null, name: null, arguments: piece });
        call.sent ??= call.received;
      }
      touched.clear();
      return pieces;
    },
    rest(final) {
      const whole = Array.isArray(final) ? (final as unknown[]) : [];
      if (calls.some(({ sent }, index) => sent !== null && index >= whole.length)) return null;
      const rests = whole.map((one, index) => restOf(one as FinalCall, index, calls[index]));
      return rests.some((rest) => rest === null)
        ? null
        : (rests.filter((rest) => rest !== null && rest !== nothing) as object[]);
    },
  };
}

const isSame = (one: Head, other: Head): boolean =>
  one.id === other.id && one.type === other.type && one.name === other.name;

interface FinalCall extends Record<string, unknown> {
  function?: Record<string, unknown> | null;
}
const nothing = {};

function restOf(final: FinalCall | null, index: number, call: Call | undefined): object | null {
  if (call === undefined || call.sent === null) return { index, ...final };
  // An endpoint may send any JSON here, whatever the type says.
  if (typeof final !== "object" || final === null || typeof (final.function ?? null) !== "object") return null;
  const { id, type, function: called, ...more } = final;
  const { name, arguments: all, ...moreOfIt } = called ?? {};
  const { sent } = call;
  if (id !== sent.id || name !== sent.name || typeof all !== "string") return null;
  if (sent.type !== null && type !== sent.type) return null;
  const rest = call.arguments.rest(all);
  if (rest === null) return null;
  const late = sent.type === null && type !== undefined ? { type, ...more } : more;
  const ofFunction = { ...moreOfIt, ...(rest !== "" && { arguments: rest }) };
  const isNothing = Object.keys(late).length + Object.keys(ofFunction).length === 0;
  return isNothing ? nothing : { index, ...late, ...(Object.keys(ofFunction).length > 0 && { function: ofFunction }) };
}
