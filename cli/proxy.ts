// precedent proxy train|show: the model of which examples help, learnt from what ClickHouse holds.
// Going back: precedent policy revert proxy.
import type { Command } from "commander";
import { openPolicyLog } from "../pipelines/policies.ts";
import type { Session } from "../pipelines/session.ts";
import { trainHelpfulness } from "../pipelines/learn/train.ts";
import { proxyRows, trainAndPublishProxy, type ProxyTraining } from "../pipelines/learn/train-helpfulness.ts";
import { policyHistory } from "../state/policies/history.ts";
import { PROXY } from "../state/policies/helpfulness.ts";
import { describePolicy } from "./describe-policy.ts";
import { CommandError, type Io } from "./io.ts";
import { parseCount } from "./options.ts";
import { printWithSession } from "./with-session.ts";

interface TrainOptions {
  force?: boolean;
  rows?: number;
  json?: boolean;
}

export function addProxy(program: Command, io: Io): void {
  const proxy = program.command("proxy").description("the model of which examples help an arm");
  const on = (command: Command, work: (session: Session) => Promise<string>): Promise<void> =>
    printWithSession(command, io, work);

  proxy
    .command("train")
    .description("train it on trials, comparisons and feedback, and publish it when it beats similarity")
    .option("--force", "also from few rows, and when it is no better than similarity")
    .option("-n, --rows <count>", "rows at most; learn.proxy.rows by default", parseCount)
    .option("--json", "as JSON")
    .action(async (options: TrainOptions, command: Command) => {
      await on(command, (session) => train(session, options));
    });

  proxy
    .command("show")
    .description("the newest version, and the evidence there is for the next")
    .option("--json", "as JSON")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      await on(command, (session) => show(session, json === true));
    });
}

async function train(session: Session, { force = false, rows, json }: TrainOptions): Promise<string> {
  const { config, clickhouse, log } = session;
  const { proxy } = config.learn;
  const policies = openPolicyLog(session, PROXY);
  try {
    await policies.open();
    const training = await trainAndPublishProxy(
      { clickhouse, policies, log, clock: Date.now, train: trainHelpfulness },
      { rows: rows ?? proxy.rows, minimumRows: force ? 1 : proxy.minimumRows, force },
    );
    if (json === true) return `${JSON.stringify(summaryOf(training), null, 2)}\n`;
    return describeTraining(training, proxy.minimumRows);
  } finally {
    await policies.close();
  }
}

/** Without the model's bytes. */
function summaryOf(training: ProxyTraining): object {
  if (training.outcome !== "trained") return training;
  const { published, ...rest } = training;
  const version = published.outcome === "published" ? published.policy.version : null;
  return { ...rest, outcome: published.outcome, version };
}

const evidence = ({ trial, direct, observed }: ProxyTraining["kinds"]): string =>
  `${trial} trials, ${direct} comparisons, ${observed} observed uses`;

export function describeTraining(training: ProxyTraining, minimumRows: number): string {
  const { kinds } = training;
  if (training.outcome === "paused")
    throw new CommandError(
      `a revert of the helpfulness model stands; to let learning go on: precedent policy resume ${PROXY}`,
    );
  if (training.outcome === "few")
    throw new CommandError(
      `there are ${evidence(kinds)}, fewer than learn.proxy.minimumRows (${minimumRows}): let examples be used and give feedback, or --force`,
    );
  const { kind, metrics, published } = training;
  const figure = (name: string): string => metrics[name]?.toFixed(3) ?? "unknown";
  const told = `trained on ${evidence(kinds)}: ${kind}, AUC ${figure("auc")} on requests held out, similarity ${figure("auc_similarity")}\n`;
  switch (published.outcome) {
    case "published":
      return `${told}${PROXY} ${published.policy.version} is published; plan takes it up while it runs\n`;
    case "worse":
      return `${told}not published: it tells helpful from harmful no better than similarity or a guess; --force publishes it all the same\n`;
    case "paused":
      throw new CommandError(`the helpfulness model was reverted meanwhile: precedent policy resume ${PROXY}`);
  }
}

async function show({ clickhouse, config }: Session, json: boolean): Promise<string> {
  const [[newest], { kinds }] = await Promise.all([
    policyHistory(clickhouse, PROXY, { limit: 1 }),
    proxyRows(clickhouse, config.learn.proxy.rows),
  ]);
  if (json) {
    const { body, ...policy } = newest ?? { body: "" };
    return `${JSON.stringify({ policy: newest === undefined ? null : { ...policy, bodyBytes: body.length }, evidence: kinds }, null, 2)}\n`;
  }
  const policy = newest === undefined ? `no ${PROXY} is published: similarity stands in\n` : describePolicy(newest);
  return `${policy}evidence      ${evidence(kinds)} (precedent proxy train)\n`;
}
