// precedent models list|fetch|verify: the models that configurations can name. They come from the
// package registry this machine is set up for, and are known by the checksum of their file.
import type { Command } from "commander";
import { fetchedModelFile, namedByArms, namedModel, namedModels, type NamedModel } from "../config/models.ts";
import {
  fetchModel,
  megabytes,
  modelIsRight,
  modelState,
  requantisedState,
  requantiseModel,
} from "../connections/models/models.ts";
import { CommandError, type Io, UsageError } from "./io.ts";
import { configOf } from "./options.ts";
import { tableOf } from "./reading.ts";

export function addModels(program: Command, io: Io): void {
  const models = program.command("models").description("the models that arms can name, and fetching them");

  models
    .command("list")
    .description("every model there is: how large, under which licence, from where, and whether it is here")
    .option("--json", "one object a line")
    .action(async ({ json }: { json?: boolean }) => {
      const rows = await Promise.all(namedModels.map(rowOf));
      io.out(json === true ? rows.map((row) => `${JSON.stringify(row)}\n`).join("") : describe(rows));
    });

  models
    .command("fetch")
    .description("fetches models that are not here yet; one that was broken off goes on")
    .argument("[names...]", "of the list; by default those that the arms of the configuration name")
    .action(async (names: string[], _options: object, command: Command) => {
      const wanted = names.length > 0 ? names.map(known) : namedByArms(configOf(command, io).config.arms);
      if (wanted.length === 0) io.note("no arm of the configuration names a model of the list\n");
      for (const model of wanted) await fetch(model, io);
    });

  models
    .command("verify")
    .description("reads the models that are here and compares their SHA-256; ends with 1 when one is another")
    .argument("[names...]", "of the list; by default all that are here")
    .action(async (names: string[]) => {
      const wanted = names.length > 0 ? names.map(known) : await here();
      const wrong: string[] = [];
      for (const model of wanted) {
        const state = await modelState(model);
        const right = state === "there" && (await modelIsRight(model));
        const verdict = right ? "right" : state === "there" || state === "wrong" ? "wrong" : "not here";
        io.out(`${model.name}: ${verdict}\n`);
        if (!right) wrong.push(model.name);
      }
      if (wrong.length > 0) throw new CommandError(`precedent models fetch ${wrong.join(" ")} brings what is right`);
    });
}

interface Row {
  name: string;
  file: string;
  bytes: number;
  sha256: string;
  licence: string;
  from: string;
  /** absent, partial, there, wrong; of its copy in Q8_0 too, null where none is wanted. */
  state: string;
  q8_0: string | null;
}

async function rowOf(model: NamedModel): Promise<Row> {
  const { name, bytes, sha256, licence, from, parts } = model;
  const [first, last] = [parts[0]!, parts.at(-1)!];
  const packages = parts.length === 1 ? first.package : `${first.package} to ${last.package}`;
  return {
    ...{ name, file: fetchedModelFile(model), bytes, sha256, licence },
    from: `${from}; PyPI ${packages} ${first.version}`,
    state: await modelState(model),
    q8_0: await requantisedState(model),
  };
}

const describe = (rows: readonly Row[]): string =>
  `${tableOf(
    ["model", "MB", "licence", "from", "here", "as Q8_0", "SHA-256"],
    rows.map((row) => [
      ...[row.name, megabytes(row.bytes), row.licence, row.from, row.state],
      ...[row.q8_0 ?? "as it is", `${row.sha256.slice(0, 12)}…`],
    ]),
  )}An arm of type llama serves one with "model: NAME"; precedent models fetch NAME brings it.\n`;

function known(name: string): NamedModel {
  const model = namedModel(name);
  if (model === undefined)
    throw new UsageError(`there is no model ${name}; there are ${namedModels.map((one) => one.name).join(", ")}`);
  return model;
}

async function here(): Promise<NamedModel[]> {
  const states = await Promise.all(namedModels.map(modelState));
  return namedModels.filter((_, i) => states[i] === "there" || states[i] === "wrong");
}

async function fetch(model: NamedModel, io: Io): Promise<void> {
  const say = (line: string): void => io.note(`${model.name}: ${line}\n`);
  const file = await fetchModel(model, say);
  const made = await requantiseModel(model, say);
  if (made?.made === false) say(`no copy in Q8_0 (${made.reason}): the model serves as it came, slower`);
  io.out(`${model.name}: ${file}\n`);
}
