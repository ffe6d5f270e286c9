// precedent examples replay run --dry-run: shows what a run would ask, its expected savings and its
// expected cost. Reads ClickHouse, calls no arm, writes nothing.
import type { Command } from "commander";
import { computing } from "../arms/routed.ts";
import { createArms } from "../state/arms.ts";
import { readAgenda, type Agenda } from "../operators/example-replay/agenda.ts";
import { describeCutOff } from "./examples-replay-show.ts";
import { UsageError, type Io } from "./io.ts";
import { configOf } from "./options.ts";
import { oneLine, tableOf, withClickHouse } from "./reading.ts";

export interface AgendaRequest {
  top?: number;
  samples?: number;
  arm?: string;
  cutOff?: number;
  run?: string;
  json?: boolean;
}

export async function showAgenda(options: AgendaRequest, command: Command, io: Io): Promise<void> {
  const { config } = configOf(command, io);
  const { exampleReplay } = config.curate;
  const names = config.arms.map(({ name }) => name);
  if (options.arm !== undefined && !names.includes(options.arm))
    throw new UsageError(`--arm ${options.arm}: one of ${names.join(", ")}`);
  const agenda = await withClickHouse(command, io, (clickhouse) =>
    readAgenda({
      ...{ clickhouse, runId: options.run ?? "", most: options.top ?? exampleReplay.top },
      ...{ samples: options.samples ?? exampleReplay.samples, arm: options.arm, cutOff: options.cutOff },
      armCosts: new Map(computing(createArms(config.arms).routed()).map(({ name, cost }) => [name, cost])),
    }),
  );
  io.out(options.json === true ? asJson(agenda) : describeAgenda(agenda));
}

const round = (value: number): number => Number(value.toPrecision(3));

const asJson = ({ items, left, cutOff }: Agenda): string =>
  `${JSON.stringify({
    items: items.map(({ example, gain, arm, saving, cost, beyond }) => ({
      ...{ id: example.id, request: example.request, gain, arm, saving, cost, beyond, replays: example.replays },
    })),
    left,
    cutOff: { ...cutOff, gain: Number.isFinite(cutOff.gain) ? cutOff.gain : null },
  })}\n`;

function describeAgenda({ items, left, cutOff }: Agenda): string {
  const table = tableOf(
    ["gain", "saving", "cost", "arm", "replays", "id", "request"],
    items.map(({ example, gain, saving, cost, arm, beyond }) => [
      ...[round(gain), round(saving), round(cost), arm, example.replays, example.id.slice(0, 12)],
      `${beyond ? "(below the cut-off, to learn from) " : ""}${oneLine(example.request, 50)}`,
    ]),
  );
  const sum = (of: (item: Agenda["items"][number]) => number): number =>
    round(items.reduce((total, item) => total + of(item), 0));
  return `${items.length === 0 ? "" : table}${items.length} examples would be asked again, to save ${sum(({ saving }) => saving)} for ${sum(
    ({ cost }) => cost,
  )}; ${left} more are not worth it\n${describeCutOff(cutOff)}\n`;
}
