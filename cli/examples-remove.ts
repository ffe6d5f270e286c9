// precedent examples remove: takes examples out of the pool for good, by tombstones on the topic.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { exampleMessages } from "../pipelines/curate/example-messages.ts";
import { findExamples } from "./examples-read.ts";
import { CommandError, type Io } from "./io.ts";
import { runningConfig } from "./running-config.ts";
import { openRunning } from "./with-session.ts";

export function addRemovingExamples(examples: Command, io: Io): void {
  examples
    .command("remove")
    .description("take examples out of the pool; they can be admitted or imported again")
    .argument("<id...>", "of the examples; the first 12 digits will do")
    .action(async (ids: string[], _options: object, command: Command) => {
      const session = await openRunning(runningConfig(command, io), io);
      // Removes all of them or none. Its transactional id is unique, so concurrent commands do not
      // fence each other.
      const producer = session.kafka.transactionalProducer(
        `${session.config.kafka.prefix}examples-remove-${randomUUID()}`,
      );
      try {
        // All of them are found before one is removed.
        const found = [];
        for (const id of ids) {
          if (id.length < 12) throw new CommandError(`${id} is too short an id: at least 12 digits`);
          found.push(...(await findExamples(session.clickhouse, id)));
        }
        const changes = found.map(({ id, domain }) => ({ id, domain, value: null }));
        const messages = await exampleMessages(session, changes);
        await producer.initialise();
        await producer.transact({ group: "", member: { id: "", generation: -1 }, offsets: [], messages });
        io.out(`removed ${found.length} ${found.length === 1 ? "example" : "examples"}\n`);
      } finally {
        await Promise.allSettled([producer.close(), session.close()]);
      }
    });
}
