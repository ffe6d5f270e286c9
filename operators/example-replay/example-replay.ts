// Third verb of curate, offline: asks an example's request again, several samples, keeps the best
// by the judge. Only a score above a tie replaces. Publishes nothing.
import { exampleId } from "../../algorithms/identity/identity.ts";
import { replacePersonalData, type PersonalDataOptions } from "../../algorithms/privacy/pii.ts";
import { withoutTemplateMarkers } from "../../algorithms/text/template-markers.ts";
import type { Arm } from "../../arms/arm.ts";
import type { Example, Piece } from "../../schemas/types.ts";
import type { ExampleChange } from "../../state/examples/port.ts";
import { tieWithin } from "../../algorithms/routing/comparison.ts";
import type { Judge } from "./judge.ts";

/** replaced: better; kept: none better; same: same text; failed: no answer; unjudged. */
export type ExampleReplayOutcome = "replaced" | "kept" | "same" | "failed" | "unjudged";

export interface ExampleReplayResult {
  outcome: ExampleReplayOutcome;
  /** Quality of the stored answer, as judged where the judge can tell. */
  oldQuality: number;
  newQuality: number | null;
  /** All of them, and those of the judge. */
  tokens: number;
  judgeTokens: number;
  cost: number;
  samples: number;
  /** Id of the example that replaces it; null: it stays. */
  newId: string | null;
  changes: ExampleChange[];
}

export interface ExampleReplayDependencies {
  arm: Pick<Arm, "answer" | "model" | "name">;
  system: string | undefined;
  judge: Judge;
  samples: number;
  temperature: number;
  personalData: PersonalDataOptions;
  /** Whether one more call may be made, after so much has been spent on this example. */
  affords: (spent: { tokens: number; cost: number }) => boolean;
  /** Asked before every call, and waited for; false: no more calls. */
  mayAsk: (signal: AbortSignal) => Promise<boolean>;
  callMs: number;
  clock: () => number;
}

/** Replays of an example over all runs. */
export const mostExampleReplays = 5;

/** Rejects only when the signal is aborted. */
export async function replayExample(
  example: Example,
  dependencies: ExampleReplayDependencies,
  signal: AbortSignal,
): Promise<ExampleReplayResult> {
  const { arm, judge, samples, personalData, affords, mayAsk, clock } = dependencies;
  const spent = { tokens: 0, judgeTokens: 0, cost: 0, samples: 0 };
  const seen = new Set([example.response]);
  let best = { response: example.response, quality: example.quality, model: example.source.model };
  let oldQuality: number | undefined;
  let newQuality: number | null = null;
  let answers = 0;
  let judged = 0;

  for (let sample = 0; sample < samples && affords(spent); sample++) {
    if (!(await mayAsk(signal))) break;
    signal.throwIfAborted();
    spent.samples++;
    const answer = await arm.answer(
      {
        requestId: `example-replay-${example.id}-${example.replays}-${sample}`,
        pieces: promptOf(example.request, dependencies.system),
        params: {
          maxTokens: null,
          temperature: dependencies.temperature,
          topP: null,
          // Others than in the replays before.
          seed: example.replays * samples + sample + 1,
          stop: [],
        },
        deadline: clock() + dependencies.callMs,
        caching: { domain: example.domain, mayStore: true },
      },
      signal,
    );
    signal.throwIfAborted();
    if (answer.kind === "failure") continue;
    spent.tokens += answer.usage.prompt + answer.usage.completion;
    spent.cost += answer.cost;
    if (answer.finishReason !== "stop" || answer.text.trim() === "") continue;
    answers++;
    const kept = replacePersonalData([example.request, answer.text], personalData).texts;
    const response = withoutTemplateMarkers(kept[1] ?? "");
    if (seen.has(response)) continue;
    seen.add(response);
    const judgement = await judge.compare(
      {
        exampleId: example.id,
        request: example.request,
        stored: best.response,
        storedQuality: best.quality,
        candidate: response,
      },
      signal,
    );
    if (judgement === null) continue;
    judged++;
    spent.tokens += judgement.tokens;
    spent.judgeTokens += judgement.tokens;
    spent.cost += judgement.cost;
    oldQuality ??= judgement.storedQuality;
    newQuality = Math.max(newQuality ?? 0, judgement.quality);
    if (judgement.score > tieWithin) best = { response, quality: judgement.quality, model: answer.model };
  }

  const replays = example.replays + 1;
  const tried = { oldQuality: oldQuality ?? example.quality, newQuality, ...spent };
  const { id, domain } = example;
  if (best.response === example.response) {
    const outcome = answers === 0 ? "failed" : seen.size === 1 ? "same" : judged === 0 ? "unjudged" : "kept";
    return { ...tried, outcome, newId: null, changes: [{ id, domain, value: { ...example, replays } }] };
  }
  const newId = exampleId(domain, example.request, best.response);
  const value: Example = {
    ...example,
    id: newId,
    response: best.response,
    source: { ...example.source, arm: arm.name, model: best.model },
    quality: best.quality,
    bytes: example.bytes - Buffer.byteLength(example.response) + Buffer.byteLength(best.response),
    replays,
    createdAt: clock(),
  };
  return {
    ...tried,
    outcome: "replaced",
    newId,
    changes: [
      { id, domain, value: null },
      { id: newId, domain, value },
    ],
  };
}

function promptOf(request: string, system: string | undefined): Piece[] {
  const turn: Piece = { kind: "turn", id: null, role: "user", text: request };
  return system === undefined ? [turn] : [{ kind: "system", id: null, role: "system", text: system }, turn];
}
