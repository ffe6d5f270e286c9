// The prompt in pieces: system, examples as chat turns with the most helpful last, then the conversation (spec 10).
// A piece is what can be cached and linked on its own, so nothing of the request may leak into an example's piece.
import type { Message, Piece } from "../../schemas/types.ts";
import type { SelectedExample } from "../flow.ts";

/** Recorded with every decision; a change of the layout below is a new version. */
export const TEMPLATE = "chat-turns@1";

const turn = ({ role, content }: Message): Piece => ({ kind: "turn", id: null, role, text: content });

/** system: the arm's own, used where the request brings none. examples: the most helpful last. */
export function chatTurns(
  messages: readonly Message[],
  system: string | undefined,
  examples: readonly SelectedExample[],
): Piece[] {
  const firstTurn = messages.findIndex(({ role }) => role !== "system");
  const start = firstTurn < 0 ? messages.length : firstTurn;
  const own = messages.slice(0, start).map(({ content }) => content);
  const texts = own.length > 0 ? own : system === undefined || system === "" ? [] : [system];
  return [
    ...texts.map((text): Piece => ({ kind: "system", id: null, role: "system", text })),
    ...examples.flatMap(({ id, request, response }): Piece[] => [
      { kind: "example", id, role: "user", text: request },
      { kind: "example", id, role: "assistant", text: response },
    ]),
    ...messages.slice(start).map(turn),
  ];
}
