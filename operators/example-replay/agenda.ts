// What an example replay run tries: the ranking down to the cut-off and one beyond, to learn of too
// high a cut-off. Rejects as the ClickHouse port does.
import type { SavingCurve } from "../../algorithms/routing/example-replay-cut-off.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Example } from "../../schemas/types.ts";
import { createRanking } from "./ranking.ts";
import { readExampleReplayCosts, readSavingCurve } from "./savings.ts";

export interface AgendaItem {
  example: Example;
  gain: number;
  arm: string;
  /** Expected, in average answers of an arm of cost 1. */
  saving: number;
  cost: number;
  beyond: boolean;
}

export interface CutOff {
  /** Gains from here on are worth a replay; Infinity: none was worth it so far. */
  gain: number;
  from: SavingCurve["from"] | "given";
  /** Past replays that are known. */
  replays: number;
  cost: number;
}

export type Agenda = Awaited<ReturnType<typeof readAgenda>>;

export interface AgendaOptions {
  clickhouse: Pick<ClickHouse, "query">;
  runId: string;
  most: number;
  samples: number;
  /** Asked whatever the source of an example; absent: each its own. */
  arm?: string | undefined;
  /** Normalised cost of each arm that can be asked. */
  armCosts: ReadonlyMap<string, number>;
  /** In place of the one that past replays say; 0: none. */
  cutOff?: number | undefined;
}

export async function readAgenda(options: AgendaOptions) {
  const { clickhouse, runId, most, samples, arm, armCosts } = options;
  const ranking = createRanking(clickhouse);
  const [top, curve, costs] = await Promise.all([
    ranking.top(runId, most, arm === undefined ? [...armCosts.keys()] : []),
    readSavingCurve(clickhouse),
    readExampleReplayCosts(clickhouse, armCosts),
  ]);
  const ranked = top.map(({ example, gain }) => {
    const asked = arm ?? example.source.arm;
    return {
      ...{ example, gain, arm: asked },
      ...{ saving: curve.expected(gain), cost: costs.expected(example, asked, samples) },
    };
  });
  const cost = ranked.reduce((sum, item) => sum + item.cost, 0) / Math.max(1, ranked.length);
  const found = curve.cutOff(cost);
  const cutOff: CutOff =
    options.cutOff === undefined
      ? { gain: found, from: curve.from, replays: curve.replays, cost }
      : { gain: options.cutOff, from: "given", replays: curve.replays, cost };
  const worth = ranked.filter(({ gain }) => gain >= cutOff.gain).length;
  const tried = options.cutOff === undefined ? worth + 1 : worth;
  return {
    items: ranked.slice(0, tried).map((item, index) => ({ ...item, beyond: index >= worth })),
    /** Examples in question that lie beyond the cut-off and are not tried. */
    left: Math.max(0, ranked.length - tried),
    cutOff,
    costs,
  };
}
