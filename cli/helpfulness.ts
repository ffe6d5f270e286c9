// precedent helpfulness train|show: the model of which examples help.
import type { Command } from "commander";
import { openPolicyLog } from "../pipelines/policies.ts";
import type { Session } from "../pipelines/session.ts";
import { trainHelpfulness } from "../pipelines/learn/train.ts";
import {
  helpfulnessRows,
  trainAndPublishHelpfulness,
  type HelpfulnessTraining,
} from "../pipelines/learn/train-helpfulness.ts";
import { policyHistory } from "../state/policies/history.ts";
import { HELPFULNESS } from "../state/policies/helpfulness.ts";
import { describePolicy } from "./describe-policy.ts";
import { CommandError, type Io } from "./io.ts";
import { parseCount } from "./options.ts";
import { printWithSession } from "./with-session.ts";

interface TrainOptions {
  force?: boolean;
  rows?: number;
  json?: boolean;
}

export function addHelpfulness(program: Command, io: Io): void {
  const helpfulness = program.command("helpfulness").description("the model of which examples help an arm");

  helpfulness
    .command("train")
    .description("train it on trials, comparisons and feedback, and publish it when it beats similarity")
    .option("--force", "also from few rows, and when it is no better than similarity")
    .option("-n, --rows <count>", "rows at most; 50,000 by default", parseCount)
    .option("--json", "as JSON")
    .action(async (options: TrainOptions, command: Command) => {
      await printWithSession(command, io, (session) => train(session, options));
    });

  helpfulness
    .command("show")
    .description("the newest version, and the evidence there is for the next")
    .option("--json", "as JSON")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      await printWithSession(command, io, (session) => show(session, json === true));
    });
}

async function train(session: Session, { force = false, rows, json }: TrainOptions): Promise<string> {
  const { config, clickhouse, log } = session;
  const { helpfulness } = config.learn;
  const policies = openPolicyLog(session, HELPFULNESS);
  try {
    await policies.open();
    const training = await trainAndPublishHelpfulness(
      { clickhouse, policies, log, clock: Date.now, train: trainHelpfulness },
      { ...(rows === undefined ? {} : { rows }), minimumRows: force ? 1 : helpfulness.minimumRows, force },
    );
    if (json === true) return `${JSON.stringify(summaryOf(training), null, 2)}\n`;
    return describeTraining(training, helpfulness.minimumRows);
  } finally {
    await policies.close();
  }
}

function summaryOf(training: HelpfulnessTraining): object {
  if (training.outcome !== "trained") return training;
  const { published, ...rest } = training;
  const version = published.outcome === "published" ? published.policy.version : null;
  return { ...rest, outcome: published.outcome, version };
}

const evidence = ({ trial, direct, observed }: HelpfulnessTraining["kinds"]): string =>
  `${trial} trials, ${direct} comparisons, ${observed} observed uses`;

export function describeTraining(training: HelpfulnessTraining, minimumRows: number): string {
  const { kinds } = training;
  if (training.outcome === "paused")
    throw new CommandError(
      `a revert of the helpfulness model stands; to let learning go on: precedent policy resume ${HELPFULNESS}`,
    );
  if (training.outcome === "few")
    throw new CommandError(
      `there are ${evidence(kinds)}, fewer than learn.helpfulness.minimumRows (${minimumRows}): let examples be used and give feedback, or --force`,
    );
  const { kind, metrics, published } = training;
  const figure = (name: string): string => metrics[name]?.toFixed(3) ?? "unknown";
  const reported = `trained on ${evidence(kinds)}: ${kind}, AUC ${figure("auc")} on requests held out, similarity ${figure("auc_similarity")}\n`;
  switch (published.outcome) {
    case "published":
      return `${reported}${HELPFULNESS} ${published.policy.version} is published; plan takes it up while it runs\n`;
    case "worse":
      return `${reported}not published: it tells helpful from harmful no better than similarity or a guess; --force publishes it all the same\n`;
    case "paused":
      throw new CommandError(`the helpfulness model was reverted meanwhile: precedent policy resume ${HELPFULNESS}`);
  }
}

async function show({ clickhouse }: Session, json: boolean): Promise<string> {
  const [[newest], { kinds }] = await Promise.all([
    policyHistory(clickhouse, HELPFULNESS, { limit: 1 }),
    helpfulnessRows(clickhouse),
  ]);
  if (json) {
    const { body, ...policy } = newest ?? { body: "" };
    return `${JSON.stringify({ policy: newest === undefined ? null : { ...policy, bodyBytes: body.length }, evidence: kinds }, null, 2)}\n`;
  }
  const policy =
    newest === undefined ? `no ${HELPFULNESS} is published: similarity stands in\n` : describePolicy(newest);
  return `${policy}evidence      ${evidence(kinds)} (precedent helpfulness train)\n`;
}
