// Loads onnxruntime in a worker, for a model that is none; "enabled": with its telemetry.
import { pino } from "pino";
import { loadHelpfulnessModel } from "../helpfulness/onnx.ts";

if (process.argv[2] === "enabled") process.env["ORT_DISABLE_TELEMETRY"] = "0";
await loadHelpfulnessModel({ bytes: new Uint8Array(8), version: 1, log: pino({ level: "silent" }) }).catch(
  (error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "bad_model")) throw error;
  },
);
