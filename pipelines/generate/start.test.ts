import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { parseConfig } from "../../config/load.ts";
import { createMetricsRegistry } from "../../runtime/metrics/stage.ts";
import { startGenerate } from "./start.ts";

type Session = Parameters<typeof startGenerate>[0];

it("leaves no reader running when the arm can't be opened", async () => {
  const config = parseConfig("arms: [{ name: small, type: llama, model: /nowhere.gguf }]", {
    ...{ source: "test", folder: "/", environment: {} },
  });
  const stop = vi.fn(() => Promise.resolve());
  const readTopic = vi.fn(() => ({ caughtUp: Promise.resolve(), stop }));
  const session = {
    ...{ config, log: pino({ level: "silent" }), metrics: createMetricsRegistry() },
    kafka: { readTopic },
    topic: (name: string) => name,
  } as unknown as Session;
  const [arm] = config.arms;
  const unused = () => ({}) as never;
  await expect(startGenerate(session, "1", arm!, unused, unused)).rejects.toThrow("there is no model");
  expect(readTopic).toHaveBeenCalledOnce();
  expect(stop).toHaveBeenCalledOnce();
});
