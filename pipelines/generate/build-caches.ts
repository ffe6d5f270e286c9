// precedent kv build: makes the caches of examples and documents in a process of its own, the most
// valuable first. It writes into the arm's folder; what is there is not made again.
import { join } from "node:path";
import { sharingDomain } from "../../algorithms/identity/identity.ts";
import { llamaInput, piecesOf } from "../../arms/llama/input.ts";
import { loadLlama } from "../../arms/llama/load.ts";
import { contextChunks } from "../../arms/linked/context.ts";
import { templates } from "../../arms/templates.ts";
import type { LlamaArmConfig } from "../../config/schema.ts";
import type { HeldDocument } from "../../connections/documents/port.ts";
import { findDocuments, withDocuments } from "../../operators/documents.ts";
import { readTable } from "../../runtime/table.ts";
import type { Piece } from "../../schemas/types.ts";
import { createBuildAgenda } from "../../state/inventory/agenda.ts";
import type { Session } from "../session.ts";

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
    for (const { domain, pieces } of tasks) {
      if (signal.aborted) return { ...progress, ended: "interrupted" };
      const prompt = await pieces();
      const built = prompt === null ? undefined : await loaded.build(prompt, domain, signal);
      await loaded.store.flush();
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
      // Requests that name no domain are of the tenant's default one.
      domain: domain ?? sharingDomain(tenant, null),
      async pieces() {
        const pieces = await text.split(whole, documents.split, documents.chunkTokens);
        const held: HeldDocument = { tenant, id, title, pieces };
        const found = findDocuments({ get: () => held }, tenant, [id]);
        const turn = [{ role: "user" as const, content: id }];
        return withDocuments(templates[template].pieces({ messages: turn, system, examples: [] }), found.pieces);
      },
    }));
}
