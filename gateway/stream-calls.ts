// Calls of tools in a stream: the head of a call is its id, type and name, its text the arguments.
import type { CallPiece } from "../schemas/types.ts";
import { createStreamHeads, type StreamHeads } from "./stream-heads.ts";

type Head = Pick<CallPiece, "type" | "name"> & { id: string };

export interface StreamCalls extends Pick<StreamHeads<Head>, "restart" | "agree"> {
  add(piece: CallPiece): void;
  next(): CallPiece[];
  /** What is left of the final calls, for chunks; null: what was sent is not their beginning. */
  rest(final: unknown): object[] | null;
}

const noHead = { id: null, type: null, name: null };

export function createStreamCalls(): StreamCalls {
  const heads = createStreamHeads<Head>(
    (one, other) => one.id === other.id && one.type === other.type && one.name === other.name,
  );
  return {
    ...heads,
    add: ({ index, arguments: piece, id, type, name }) =>
      heads.add(index, id === null ? null : { id, type, name }, piece),
    next: () => heads.next().map(({ index, head, text }) => ({ index, ...(head ?? noHead), arguments: text })),
    rest(final) {
      const whole = Array.isArray(final) ? (final as unknown[]) : [];
      if (heads.isBeyond(whole.length)) return null;
      const rests = whole.map((one, index) => restOf(one as FinalCall, index, heads.sent(index)));
      return rests.some((rest) => rest === null)
        ? null
        : (rests.filter((rest) => rest !== null && rest !== nothing) as object[]);
    },
  };
}

interface FinalCall extends Record<string, unknown> {
  function?: Record<string, unknown> | null;
}
const nothing = {};

function restOf(final: FinalCall | null, index: number, sent: ReturnType<StreamHeads<Head>["sent"]>): object | null {
  if (sent === null) return { index, ...final };
  // An endpoint may send any JSON here, whatever the type says.
  if (typeof final !== "object" || final === null || typeof (final.function ?? null) !== "object") return null;
  const { id, type, function: called, ...more } = final;
  const { name, arguments: all, ...moreOfIt } = called ?? {};
  const { head } = sent;
  if (id !== head.id || name !== head.name || typeof all !== "string") return null;
  if (head.type !== null && type !== head.type) return null;
  const rest = sent.rest(all);
  if (rest === null) return null;
  const late = head.type === null && type !== undefined ? { type, ...more } : more;
  const ofFunction = { ...moreOfIt, ...(rest !== "" && { arguments: rest }) };
  const isNothing = Object.keys(late).length + Object.keys(ofFunction).length === 0;
  return isNothing ? nothing : { index, ...late, ...(Object.keys(ofFunction).length > 0 && { function: ofFunction }) };
}
