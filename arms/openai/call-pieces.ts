// Tool calls in a stream, as they come. Only OpenAI's form is passed on (numbered, id and name
// first); from another form on the complete answer has it all (extra.ts). Linear.
import { z } from "zod";
import type { CallPiece } from "../../schemas/types.ts";

const pieceSchema = z.object({
  index: z.number().int().nonnegative(),
  id: z.string().nullish(),
  type: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }),
});

export function createCallPieces(): (toolCalls: unknown) => CallPiece[] {
  const heads: { id: string; type: string | null; name: string }[] = [];
  let usual = true;

  const take = (value: unknown): CallPiece | null => {
    const read = pieceSchema.safeParse(value);
    if (!read.success || read.data.index > heads.length) return null;
    const { index, id, type, function: called } = read.data;
    const text = called.arguments ?? "";
    const head = heads[index];
    if (head === undefined) {
      if (!id || !called.name) return null;
      const first = { id, type: type ?? null, name: called.name };
      heads.push(first);
      return { index, ...first, arguments: text };
    }
    // Some endpoints repeat them with every piece.
    const isSame = [
      [id, head.id],
      [type, head.type],
      [called.name, head.name],
    ].every(([again, reported]) => !again || again === reported);
    return isSame ? { index, id: null, type: null, name: null, arguments: text } : null;
  };

  return (toolCalls) => {
    const pieces: CallPiece[] = [];
    for (const one of Array.isArray(toolCalls) ? (toolCalls as unknown[]) : []) {
      const piece = usual ? take(one) : null;
      if (piece === null) usual = false;
      else if (piece.id !== null || piece.arguments !== "") pieces.push(piece);
    }
    return pieces;
  };
}
