// precedent examples synthesize: makes the examples that members of a domain share where they show
// each other none of their own (sharing.DOMAIN.synthetic).
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { createArm } from "../arms/create.ts";
import { openEmbedder } from "../pipelines/embedder.ts";
import type { Session } from "../pipelines/session.ts";
import { secureNormal } from "../analysis/synthesize/normal.ts";
import { readPrivateQuestions } from "../analysis/synthesize/private-questions.ts";
import { synthesize, SynthesisError } from "../analysis/synthesize/synthesize.ts";
import type { Observation } from "../schemas/types.ts";
import { startProgress, type Progress } from "../stack/progress.ts";
import { embedderOptions } from "./embedder-options.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { armNamed, parseAboveZero, parseCount } from "./options.ts";
import { runningConfig } from "./running-config.ts";
import { openRunning } from "./with-session.ts";

interface Options {
  arm: string;
  writer?: string;
  count: number;
  rounds: number;
  epsilon?: number;
  quality?: number;
  run?: string;
  json?: boolean;
}

export function addSynthesizingExamples(examples: Command, io: Io): void {
  examples
    .command("synthesize")
    .description("make differentially private examples for a domain that shares synthetic ones alone")
    .argument("<domain>", "its name under sharing")
    .requiredOption("-a, --arm <name>", "the arm that answers the questions")
    .option("-w, --writer <name>", "the arm that writes them; the same by default")
    .option("-n, --count <count>", "examples to make", parseCount, 100)
    .option("--rounds <count>", "looks at the private examples, each through noise", parseCount, 5)
    .option("--epsilon <epsilon>", "of this run; all that is left of the budget by default", parseAboveZero)
    .option(
      "--quality <quality>",
      "what the answers are taken for; curate.admit.minimumQuality by default",
      parseAboveZero,
    )
    .option("-r, --run <id>", "go on with this run")
    .option("--json", "the result as JSON")
    .action(async (domain: string, options: Options, command: Command) => {
      const config = runningConfig(command, io, { callsArms: true });
      const rule = Object.hasOwn(config.sharing, domain) ? config.sharing[domain] : undefined;
      if (rule?.synthetic === undefined)
        throw new UsageError(
          `sharing.${domain}.synthetic is not in the configuration: it says how private examples are`,
        );
      const { about, ...budget } = rule.synthetic;
      const { minimumQuality } = config.curate.admit;
      const quality = options.quality ?? minimumQuality;
      // curate would refuse all of it, when the budget is spent.
      if (quality < minimumQuality || quality > 1)
        throw new UsageError(`--quality ${quality}: from ${minimumQuality} (curate.admit.minimumQuality) to 1`);
      const session = await openRunning(config, io);
      const runId = options.run ?? uuid();
      io.note(`run ${runId}\n`);
      const closers: (() => Promise<unknown>)[] = [];
      const open = async (option: string, name: string) => {
        const arm = await createArm(armNamed(config, option, name), { log: session.log });
        closers.push(() => arm.close());
        return arm;
      };
      const progress = createSteps();
      try {
        const answerer = await open("--arm", options.arm);
        const writer = options.writer === undefined ? answerer : await open("--writer", options.writer);
        const embedder = await openEmbedder(config, { ...embedderOptions(config, io), log: session.log });
        closers.push(() => embedder.close());
        const publish = publishing(session);
        closers.push(publish.close);
        const made = await synthesize(
          {
            ...{ clickhouse: session.clickhouse, embedder, writer, answerer, publish: publish.send },
            privateQuestions: () => readPrivateQuestions(session.clickhouse, { domain, tenants: rule.tenants }),
            normal: secureNormal,
            clock: Date.now,
          },
          {
            ...{ runId, domain, about, budget, signal: io.signal, onProgress: progress.update },
            ...{ epsilon: options.epsilon, count: options.count, rounds: options.rounds, quality },
          },
        );
        progress.finish();
        io.out(
          options.json === true
            ? `${JSON.stringify(made)}\n`
            : `${made.published} examples on their way to +/${domain}; of epsilon ${budget.epsilon} is spent ${made.epsilonSpent.toPrecision(3)} (delta ${budget.delta})\n`,
        );
      } catch (error) {
        if (!(error instanceof SynthesisError)) throw error;
        throw new CommandError(`${error.message}; go on with --run ${runId}`);
      } finally {
        await Promise.allSettled([...closers.map((close) => close()), session.close()]);
      }
    });
}

function publishing({ kafka, codec, topic }: Session) {
  const producer = kafka.plainProducer();
  return {
    send: (observation: Observation): Promise<void> =>
      producer.send([
        { topic: topic("observations"), key: observation.tenant, value: codec.encode("observations", observation) },
      ]),
    close: () => producer.close(),
  };
}

function createSteps() {
  let current: { step: string; progress: Progress } | undefined;
  const finish = (): void => current?.progress.finish();
  return {
    finish,
    update(step: string, done: number, all: number): void {
      if (current?.step !== step) {
        finish();
        current = { step, progress: startProgress(step, all, "texts") };
      }
      current.progress.update(done);
    },
  };
}
