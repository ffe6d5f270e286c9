// precedent kv build: caches of examples and documents before the first request shows them.
import { constants, setPriority } from "node:os";
import type { Command } from "commander";
import type { Config, LlamaArmConfig } from "../config/schema.ts";
import { buildCaches, type BuildSummary } from "../pipelines/generate/build-caches.ts";
import { templates } from "../arms/templates.ts";
import { startProgress, type Progress } from "../stack/progress.ts";
import { UsageError, type Io } from "./io.ts";
import { configOf, domainNamed, parseCount } from "./options.ts";
import { withSession } from "./with-session.ts";

interface Options {
  arm?: string;
  domain?: string;
  top?: number;
  bytes?: number;
  documents?: boolean;
}

export function addKvBuild(kv: Command, io: Io): void {
  kv.command("build")
    .description("make the caches of examples before requests show them, the most valuable first; again: goes on")
    .option("-d, --domain <name>", "of this sharing domain alone, as tables write it: acme/geo")
    .option("--documents", "of the documents, in place of examples")
    .option("--top <count>", "of so many examples or documents at most", parseCount)
    .option("--bytes <count>", "until the arm's caches have so many bytes (default: 9/10 of its diskBytes)", parseCount)
    .action(async (_options: Options, command: Command) => {
      const { arm: name, domain, ...options } = command.optsWithGlobals<Options>();
      const arm = llamaArm(configOf(command, io).config, name);
      // An arm that serves beside it goes before; its threads have the priority, too.
      setPriority(constants.priority.PRIORITY_LOW);
      await withSession(command, io, async (session) => {
        const started = performance.now();
        let progress: Progress | undefined;
        const summary = await buildCaches(session, arm, {
          ...options,
          domain: domainNamed(domain),
          signal: io.signal,
          onProgress: ({ done }, all) =>
            (progress ??= startProgress(
              `caches of ${arm.name}`,
              all,
              options.documents === true ? "documents" : "examples",
            )).update(done),
        }).finally(() => progress?.finish());
        io.out(describeBuild(arm.name, summary, (performance.now() - started) / 1_000));
      });
    });
}

function llamaArm({ arms }: Pick<Config, "arms">, name: string | undefined): LlamaArmConfig {
  const llamas = arms.filter((arm) => arm.type === "llama");
  const names = llamas.map((arm) => arm.name).join(", ") || "none";
  const found = name === undefined && llamas.length === 1 ? llamas[0] : llamas.find((arm) => arm.name === name);
  if (found === undefined) throw new UsageError(`--arm ${name ?? "NAME"}: llama arms are ${names}`);
  const { convention, policy } = found.linked;
  if (policy === "full") throw new UsageError(`arm ${found.name} links nothing: its linked.policy is full`);
  if (convention === "seen")
    throw new UsageError(`arm ${found.name} takes its caches from prompts as they come: its linked.convention is seen`);
  if (!templates[found.template].linkable)
    throw new UsageError(`arm ${found.name} links no examples: its template is ${found.template}`);
  return found;
}

const endings: Readonly<Record<BuildSummary["ended"], string>> = {
  done: "all are there",
  full: "the bytes are used up: raise linked.diskBytes or --bytes for more",
  interrupted: "interrupted: the same command goes on",
};

function describeBuild(arm: string, { done, caches, tokens, bytes, ended }: BuildSummary, seconds: number): string {
  const gibibytes = (bytes / 1_073_741_824).toFixed(2);
  const made = `${caches} caches made for ${done} prompts in ${seconds.toFixed(0)} s (${Math.round(tokens / seconds)} tokens/s)`;
  return `${arm}: ${made}, ${gibibytes} GiB on disk; ${endings[ended]}\n`;
}
