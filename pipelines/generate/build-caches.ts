// precedent kv build: makes the caches of examples and documents in a process of its own, the most
// valuable first. It writes into the arm's folder; what is there is not made again.
import { join } from "node:path";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { llamaInput, piecesOf } from "../../arms/llama/input.ts";
import { type LoadedLlama, loadLlama } from "../../arms/llama/load.ts";
import { contextChunks } from "../../arms/linked/context.ts";
import type { LlamaArmConfig } from "../../config/schema.ts";
import { documentKey } from "../../connections/documents/port.ts";
import { KvError } from "../../connections/kv/port.ts";
import { chunkId } from "../../operators/documents.ts";
import { readTable } from "../../runtime/table.ts";
import type { Piece } from "../../schemas/types.ts";
import { createBuildAgenda } from "../../state/inventory/agenda.ts";
import type { Session } from "../session.ts";
import { documentPrompt } from "./document-builds.ts";

export interface BuildOptions {
  /** This sharing domain alone: tenant/domain. */
  domain?: string | undefined;
  /** Examples at most, the most valuable first. */
  top?: number | undefined;
  /** Bytes that the arm's folder may hold in the end; absent: nine tenths of linked.diskBytes. */
  bytes?: number | undefined;
  /** Documents in place of examples. */
  documents?: boolean | undefined;
  signal: AbortSignal;
  onProgress(done: BuildProgress, all: number): void;
}

export interface BuildProgress {
  /** Examples or documents looked at. */
  done: number;
  caches: number;
  /** Computed, prefixes included. */
  tokens: number;
  /** Bytes of the arm's folder. */
  bytes: number;
}

export interface BuildSummary extends BuildProgress {
  ended: "done" | "full" | "interrupted";
}

interface Task {
  domain: string;
  /** Caches of a document's pieces are named by it: acme/handbook#1. */
  name?: string;
  /** null: it is gone. */
  pieces(): Promise<Piece[] | null> | Piece[];
}

/** Rejects with LlamaError, and where the model's caches can't be linked. */
export async function buildCaches(
  session: Session,
  config: LlamaArmConfig,
  options: BuildOptions,
): Promise<BuildSummary> {
  const { signal, onProgress, bytes: mostBytes = Infinity } = options;
  const loaded = await loadLlama(await llamaInput(config, join(session.config.stack.folder, "kv")));
  const progress = { done: 0, caches: 0, tokens: 0, bytes: 0 };
  try {
    if (loaded.unlinkable !== null)
      throw new Error(`nothing of arm "${config.name}" can be linked: ${loaded.unlinkable}`);
    const tasks = await (options.documents === true ? documentTasks : exampleTasks)(session, config, options);
    for (const { domain, name, pieces } of tasks) {
      if (signal.aborted) return { ...progress, ended: "interrupted" };
      const prompt = await pieces();
      const built = prompt === null ? undefined : await loaded.build(prompt, domain, signal);
      await loaded.store.flush();
      if (name !== undefined && prompt !== null) await nameCaches(loaded, prompt, { domain, name });
      progress.done++;
      progress.caches += built?.caches ?? 0;
      progress.tokens += built?.tokens ?? 0;
      progress.bytes = loaded.store.stats().diskBytes;
      onProgress({ ...progress }, tasks.length);
      if (built?.full === true || progress.bytes >= mostBytes) return { ...progress, ended: "full" };
    }
    return { ...progress, ended: "done" };
  } catch (error) {
    if (signal.aborted) return { ...progress, ended: "interrupted" };
    throw error;
  } finally {
    await loaded.close();
  }
}

/** By piece, also as /first in a prompt. What has no room, or too long a name, has none. */
async function nameCaches(
  { chunked: chunkedOf, model, store }: LoadedLlama,
  prompt: Piece[],
  { domain, name }: Required<Pick<Task, "domain" | "name">>,
): Promise<void> {
  const chunked = chunkedOf(prompt);
  const { chunks } = model.keyed(chunked, domain);
  const pieces = chunks.filter((_, i) => chunked.chunks[i]?.kind === "document");
  for (const [index, { chunk }] of pieces.entries()) {
    const variants = store.variants(chunk);
    for (const { key, convention, ids } of variants) {
      const id = `${chunkId(name, index + 1)}${convention === "system" && variants.length > 1 ? "/first" : ""}`;
      if (!ids.includes(id)) await store.create(id, key).catch(exceptUnnamed);
    }
  }
}

const exceptUnnamed = (error: unknown): void => {
  if (!(error instanceof KvError && (error.code === "budget" || error.code === "invalid"))) throw error;
};

async function exampleTasks(
  session: Session,
  config: LlamaArmConfig,
  { domain, top }: Pick<BuildOptions, "domain" | "top">,
): Promise<Task[]> {
  const agenda = createBuildAgenda(session, config.name);
  const ids = await agenda.ids(domain);
  return ids.slice(0, top).map((one) => ({
    domain: one.domain,
    async pieces() {
      const item = await agenda.item(one, contextChunks);
      return item && piecesOf(config, item);
    },
  }));
}

async function documentTasks(
  { kafka, codec, log, topic, text, config: { documents } }: Session,
  { template, system }: LlamaArmConfig,
  { domain, top }: Pick<BuildOptions, "domain" | "top">,
): Promise<Task[]> {
  const all = await readTable({ kafka, codec, log, topic: topic("documents"), record: "documents" });
  const tenantOf = (sharing: string): string | undefined => sharing.split("/")[0];
  const isWanted = ({ tenant }: { tenant: string }): boolean =>
    domain === undefined || tenantOf(domain) === tenantOf(sharingDomain(tenant, null));
  return [...all.values()]
    .filter(isWanted)
    .slice(0, top)
    .map(({ tenant, id, title, text: whole }) => ({
      name: documentKey(tenant, id),
      // Requests that name no domain are of the tenant's default one.
      domain: domain ?? sharingDomain(tenant, null),
      async pieces() {
        const pieces = await text.split(whole, documents.split, documents.chunkTokens);
        return documentPrompt({ template, system }, { tenant, id, title, pieces });
      },
    }));
}
