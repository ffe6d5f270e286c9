// Inventories of caches from generate to plan (topic kv-inventory): published on change and now and
// then, void when not renewed. Best effort.
import { setTimeout as sleep } from "node:timers/promises";
import type { Arm, ArmInventory } from "../../arms/arm.ts";
import { createInventoryTable, renewMs } from "./table.ts";
import { createKvMetrics } from "./metrics.ts";
import { repeating } from "../../runtime/repeat.ts";
import { applyTo, followTable } from "../../runtime/table.ts";
import type { Session, SessionOf } from "../session.ts";
import { lazyProducer } from "../../runtime/send-once.ts";

const everyMs = 5_000;
/** A broker that is away must not hold up the end of the stage. */
const goodbyeMs = 1_000;

export interface InventoryPublisher {
  /** Withdraws the published inventory: no process serves these caches any more. */
  stop(): Promise<void>;
}

export interface PublisherOptions {
  arm: Pick<Arm, "name" | "inventory">;
  instance: string;
  log: Session["log"];
}

export function publishInventory(
  session: Pick<SessionOf<{ outputs: ["kv-inventory"] }>, "kafka" | "codec" | "topic" | "metrics">,
  { arm, instance, log }: PublisherOptions,
): InventoryPublisher {
  const { kafka, codec, topic, metrics } = session;
  if (arm.inventory === undefined) return { stop: () => Promise.resolve() };
  const figures = createKvMetrics(metrics);
  const key = `${arm.name}/${instance}`;
  const producer = lazyProducer(kafka);
  let last: { inventory: ArmInventory; at: number } | null = null;
  const send = (value: Buffer | null): Promise<void> => producer.send([{ topic: topic("kv-inventory"), key, value }]);

  async function pass(): Promise<void> {
    const inventory = (await arm.inventory?.()) ?? null;
    if (inventory === null) return;
    figures.set(arm.name, inventory);
    const now = Date.now();
    // Nothing was said yet, and there is nothing to say.
    if (last === null && inventory.chunks === 0) return;
    if (last !== null && same(last.inventory, inventory) && now - last.at < renewMs) return;
    const { bloom, hashes, chunks, bytes } = inventory;
    await send(
      codec.encode("kv-inventory", {
        ...{ arm: arm.name, tenant: "default", instance, bloom: Buffer.from(bloom), hashes, chunks, bytes },
        createdAt: now,
      }),
    );
    last = { inventory, at: now };
  }
  const publishing = repeating(pass, { everyMs, log });

  return {
    async stop() {
      const goodbye = publishing.stop().then(() => (last === null ? undefined : send(null)));
      await Promise.race([goodbye.catch(() => undefined), sleep(goodbyeMs)]);
      await producer.close();
      figures.remove(arm.name);
    },
  };
}

const same = (a: ArmInventory, b: ArmInventory): boolean =>
  a.chunks === b.chunks && a.hashes === b.hashes && Buffer.compare(a.bloom, b.bloom) === 0;

/** Keeps a table of what the arms' processes say of their caches, by arm/instance. */
export function followInventories(
  { kafka, codec, topic }: Pick<SessionOf<{ tables: ["kv-inventory"] }>, "kafka" | "codec" | "topic">,
  log: Session["log"],
) {
  const table = createInventoryTable(Date.now);
  const reader = followTable({
    ...{ kafka, codec, log, topic: topic("kv-inventory"), record: "kv-inventory" as const },
    apply: applyTo(table),
  });
  return { table, caughtUp: reader.caughtUp, stop: (): Promise<void> => reader.stop() };
}
