// What to try next. Commands here are those that the README and docs/getting-started.md explain.
import pc from "picocolors";
import type { Scene } from "../scene.ts";

export const next: Scene = async ({ screen }) => {
  screen.heading("Try next");
  const commands: readonly (readonly [string, string])[] = [
    ["npx precedent -c samples/demo.yaml up", "the same system, until Ctrl-C; then in another terminal:"],
    ['npx precedent ask -d shell "count the lines of all python files"', ""],
    ['npx precedent sql "SELECT question, arm, probability, text FROM outcomes ORDER BY created_at DESC LIMIT 5"', ""],
    ["npx precedent topology", "the flow as a Mermaid diagram, from the code that runs it"],
    ["docs/clients/ask.mjs, docs/clients/ask.py", "the same from outside, with nothing but a Kafka client"],
  ];
  for (const [command, about] of commands) screen.line(`  ${command}${about === "" ? "" : pc.dim(`  # ${about}`)}`);
  screen.line();
};
