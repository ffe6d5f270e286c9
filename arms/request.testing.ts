// A request to an arm for tests: one user turn, no parameter set, a minute of time.
import type { Piece } from "../schemas/types.ts";
import type { ArmRequest } from "./arm.ts";

type Change = Partial<Omit<ArmRequest, "params">> & { params?: Partial<ArmRequest["params"]> };

export const aTurn = (text: string): Piece => ({ kind: "turn", id: null, role: "user", text });

export function armRequest({ params, ...change }: Change = {}): ArmRequest {
  return {
    requestId: "r1",
    pieces: [aTurn("list all files")],
    params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [], ...params },
    deadline: Date.now() + 60_000,
    ...change,
  };
}
