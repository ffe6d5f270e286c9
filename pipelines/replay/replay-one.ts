// Replays one example of the agenda. Its outcome and the changes of the pool are one transaction.
import type { Arm } from "../../arms/arm.ts";
import type { Agenda, AgendaItem } from "../../operators/example-replay/agenda.ts";
import { replayExample, type ExampleReplayResult } from "../../operators/example-replay/example-replay.ts";
import type { Judge } from "../../operators/example-replay/judge.ts";
import type { createRanking } from "../../operators/example-replay/ranking.ts";
import type { Sent } from "../../runtime/declaration.ts";
import type { Lease } from "../../runtime/singleton.ts";
import type { ExampleReplay } from "../../schemas/types.ts";
import type { OffPeak } from "../../state/off-peak.ts";
import type { SessionOf } from "../../state/session.ts";
import { exampleMessages } from "../curate/example-messages.ts";
import { exampleReplay } from "./pipeline.ts";
import type { Totals } from "./totals.ts";

const callMs = 120_000;

export interface ReplayOneOptions {
  session: SessionOf<typeof exampleReplay>;
  run: { runId: string; judge: Judge; samples: number };
  arm: (name: string) => Promise<Arm>;
  ranking: ReturnType<typeof createRanking>;
  affords: Totals["affords"];
  gate: OffPeak;
  lease: Lease<Sent<typeof exampleReplay>>;
  signal: AbortSignal;
}

export function createReplayOne({ session, run, arm, ranking, affords, gate, lease, signal }: ReplayOneOptions) {
  const publish = async (item: AgendaItem, result: ExampleReplayResult, costs: Agenda["costs"]): Promise<void> => {
    const { example, gain } = item;
    // Evicted or changed meanwhile: the attempt is recorded, the pool is left alone.
    const stands = await ranking.stands(example);
    const messages = await exampleMessages(session, stands ? result.changes : []);
    const row: ExampleReplay = {
      ...{ runId: run.runId, tenant: example.tenant, exampleId: example.id, attempt: example.replays + 1 },
      ...{ newExampleId: stands ? result.newId : null, gain, arm: item.arm },
      ...{ oldQuality: result.oldQuality, newQuality: result.newQuality, outcome: result.outcome },
      ...{ tokens: result.tokens, cost: result.cost, samples: result.samples, createdAt: Date.now() },
      relativeCost: costs.of(result, item.arm, run.judge.name),
    };
    const value = session.codec.encode("example-replays", row);
    await lease.publish([...messages, { topic: session.topic("example-replays"), key: example.id, value }]);
  };
  return async (item: AgendaItem, costs: Agenda["costs"]): Promise<ExampleReplayResult> => {
    const system = session.arms.configured().find(({ name }) => name === item.arm)?.system;
    const pass = exampleReplay.bind({
      again: async () =>
        replayExample(
          item.example,
          {
            ...{ arm: await arm(item.arm), system, judge: run.judge, samples: run.samples, temperature: 0.8 },
            ...{ personalData: session.config.curate.personalData, affords, mayAsk: gate.pass, callMs },
            clock: Date.now,
          },
          signal,
        ),
      publish: (result) => publish(item, result, costs),
      observe: () => undefined,
    });
    return (await pass()).replayed;
  };
}
