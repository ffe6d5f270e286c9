// Personal data in rows, replaced before every insert where privacy.redact.clickhouse says so; with
// a worker of its own.
import type { Logger } from "pino";
import type { Config } from "../../config/schema.ts";
import { maskOptions } from "../../config/sections/privacy.ts";
import { createTextWork } from "../../connections/text/supervised.ts";
import type { MaskingDependencies } from "../../operators/redact/redact.ts";

export interface OpenedMasking extends Pick<MaskingDependencies, "masking"> {
  close(): Promise<void>;
}

export function openMasking(config: Config, log: Logger): OpenedMasking {
  const options = maskOptions(config);
  if (!config.privacy.redact.clickhouse || options === undefined)
    return { masking: undefined, close: () => Promise.resolve() };
  const text = createTextWork({ limitMs: config.limits.textMs, log: log.child({ worker: "text" }) });
  const onWithheld = (texts: number): void =>
    log.warn({ texts }, "what is personal in some texts could not be told in time: they are withheld");
  return { masking: { text, options, onWithheld }, close: text.close };
}
