// bench -- linked --only caches: what prefetch and the bonus for cached examples change, on arms of
// SmolLM2 in this process.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../connections/errors.ts";
import { modelFile } from "../../config/models.ts";
import { parseConfig } from "../../config/load.ts";
import { createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import { loadHelpfulnessModel } from "../../connections/helpfulness/onnx.ts";
import type { HelpfulnessModel } from "../../connections/helpfulness/port.ts";
import { createLog } from "../../runtime/log.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { loadHelpfulnessData } from "../helpfulness/data.ts";
import { significant } from "../support/statistics.ts";
import { type BenchArm, openArm } from "./bench-arm.ts";
import { measureBonus } from "./bonus.ts";
import { type BonusRow, bonusRows } from "./bonus-figures.ts";
import { type CachePlan, fullCachePlan, quickCachePlan } from "./cache-plan.ts";
import { measurePrefetch } from "./prefetch.ts";
import { type PrefetchRow, prefetchRows } from "./prefetch-figures.ts";
import { developmentRequests, loadWorkloads } from "./workloads.ts";

type Arm = Omit<BenchArm, "memoryMib" | "folder">;

const contextTokens = 4_096;
/** All caches of the bonus' stream fit: which of them stay is not its question. */
const plentyMib = 2_048;
const log = createLog({ level: "error" });

export async function runCaches(context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quickCachePlan : fullCachePlan;
  const path = modelFile();
  const arm: Arm = { path, fingerprint: await fingerprintOf(path), contextTokens };
  const prefetch = await prefetchOf(context, plan, arm);
  const bonus = await bonusOf(context, plan, arm);
  const device = prefetch.rows.some(({ files }) => files === "device");
  return {
    part: "caches",
    figures: { prefetch: prefetch.rows, streams: prefetch.streams, bonus: bonus.rows },
    reasons: {
      ...(device ? {} : { "prefetch.device": "this system's dd can't take files out of the page cache" }),
      ...(bonus.why === null ? {} : { "bonus.proxy": bonus.why }),
    },
  };
}

async function prefetchOf(context: BenchContext, { streams }: CachePlan, arm: Arm) {
  const { checkpoints, folder, signal, progress } = context;
  const model = await openLlamaModel(arm);
  try {
    const workloadOf = await loadWorkloads(context, createChat(model), model);
    const rows: PrefetchRow[] = [];
    const extents: Record<string, unknown>[] = [];
    const bar = progress("streams with and without prefetch", streams.length, "streams");
    for (const [done, plan] of streams.entries()) {
      const { workload, requests, memoryMib, waiting } = plan;
      const streamed = await checkpoints.part(`prefetch of ${workload}`, () => {
        const { item } = workloadOf(workload);
        const items = Array.from({ length: requests }, (_, index) => item(index));
        return measurePrefetch({ plan, items, arm, folder, signal });
      });
      rows.push(...prefetchRows(plan, streamed));
      const { cachesMib, chunks } = streamed;
      extents.push({ workload, requests, waiting, chunks, caches_mib: significant(cachesMib), memory_mib: memoryMib });
      bar.update(done + 1);
    }
    bar.finish();
    return { rows, streams: extents };
  } finally {
    model.close();
  }
}

async function bonusOf(context: BenchContext, { bonus: plan }: CachePlan, arm: Arm) {
  const { checkpoints, signal, progress } = context;
  const folder = join(context.folder, "..", "helpfulness");
  const data = await loadHelpfulnessData({ folder, progress, data: undefined }, { train: 0, dev: developmentRequests });
  const { selection } = parseConfig("arms: [{ name: bench, type: llama }]", {
    ...{ source: "bench", folder: context.folder, environment: {} },
  });
  const { model, why } = await keptHelpfulnessModel(folder);
  const rows: BonusRow[] = [];
  try {
    for (const [helpfulness, rating] of [["similarity", null] as const, ["proxy", model] as const]) {
      if (helpfulness === "proxy" && rating === null) continue;
      const bar = progress(`bonus by ${helpfulness}`, plan.topics * plan.requests, "requests");
      const asked = await checkpoints.part(`bonus by ${helpfulness}`, async () => {
        const arms = await Promise.all(plan.bonuses.map(() => openArm({ ...arm, memoryMib: plentyMib, folder: null })));
        try {
          return await measureBonus({
            ...{ plan, data, selection, helpfulnessModel: rating, arms, log, signal },
            update: (done) => bar.update(done),
          });
        } finally {
          for (const opened of arms) await opened.close();
        }
      });
      bar.finish();
      rows.push(...bonusRows(helpfulness, asked));
    }
    return { rows, why };
  } finally {
    await model?.close();
  }
}

/** The newest that bench -- helpfulness has trained and kept. */
async function keptHelpfulnessModel(folder: string): Promise<{ model: HelpfulnessModel | null; why: string | null }> {
  const names = (await readdir(folder)).filter((name) => /^helpfulness-[0-9a-f]+\.json$/.test(name));
  const dated = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })));
  const newest = dated.sort((one, other) => other.at - one.at)[0];
  if (newest === undefined)
    return { model: null, why: "bench -- helpfulness, which trains the helpfulness model, has not run here" };
  try {
    const { onnx } = JSON.parse(await readFile(join(folder, newest.name), "utf8")) as { onnx: string };
    return { model: await loadHelpfulnessModel({ bytes: Buffer.from(onnx, "base64"), version: 1, log }), why: null };
  } catch (error) {
    const reason = messageOf(error);
    return { model: null, why: `the helpfulness model that bench -- helpfulness kept is no good any more: ${reason}` };
  }
}
