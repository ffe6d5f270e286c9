import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { armSchema } from "../config/schema.ts";
import { createArm } from "./create.ts";

const log = pino({ level: "silent" });

describe("createArm", () => {
  it("makes an endpoint's arm without calling the endpoint", async () => {
    const config = armSchema.parse({
      name: "large",
      type: "openai",
      baseUrl: "http://127.0.0.1:9/v1",
      model: "m",
      concurrency: 3,
    });
    const arm = await createArm(config, { log });
    expect(arm).toMatchObject({ name: "large", model: "m", concurrency: 3 });
    await arm.close();
  });

  it.each([
    [
      { type: "llama", model: "/nowhere/model.gguf" },
      /Arm "a": there is no model at \/nowhere\/model\.gguf\. Check its "model"/,
    ],
    [{ type: "recorded", file: "/nowhere/log.jsonl" }, /log of arm "a" can't be read: .*\/nowhere\/log\.jsonl/],
  ])("says what is missing for %j", async (what, message) => {
    await expect(createArm(armSchema.parse({ name: "a", ...what }), { log })).rejects.toThrow(message);
  });
});
