// onnxruntime's binaries send events to Microsoft, and write an id of the machine below the home
// folder, unless this variable is set before they are loaded.

/** To be called in the main thread: native code does not see the environment of a worker thread. */
export function disableTelemetry(): void {
  process.env["ORT_DISABLE_TELEMETRY"] ??= "1";
}
