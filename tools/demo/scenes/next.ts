// What to try next. Commands here are those that the README and docs/getting-started.md explain.
import pc from "picocolors";
import type { Scene } from "../scene.ts";

export const next: Scene = async ({ screen, client, stages }) => {
  screen.heading("Try next");
  const commands: readonly (readonly [about: string, ...commands: string[]])[] = [
    ["the same system, until Ctrl-C", "npx precedent -c deploy/demo.yaml up"],
    [
      "then, in another terminal",
      'npx precedent ask -d shell "count the lines of all python files"',
      'npx precedent sql "SELECT question, arm, probability, text FROM outcomes ORDER BY created_at DESC LIMIT 5"',
    ],
    [
      "the page of it: http://127.0.0.1:7717/; and as any OpenAI client asks",
      `curl -s http://127.0.0.1:7717/v1/chat/completions -H 'content-type: application/json' -d '{"model": "auto", "messages": [{"role": "user", "content": "list hidden files"}], "precedent": {"domain": "shell"}}'`,
    ],
    ["why a request was answered as it was", `npx precedent explain ${client.last ?? "REQUEST_ID"}`],
    ...(stages.has("learn")
      ? [["what the router has learnt, version by version", "npx precedent policy history"] as const]
      : []),
    ["the flow as a Mermaid diagram, from the code that runs it", "npx precedent -c deploy/demo.yaml topology"],
  ];
  for (const [about, ...lines] of commands) {
    screen.line(pc.dim(`  # ${about}`));
    for (const line of lines) screen.line(`  ${line}`);
    screen.line();
  }
  screen.line(`  ${pc.dim("# the same from outside, with nothing but a Kafka client")}`);
  screen.line("  docs/clients/ask.mjs, docs/clients/ask.py");
  screen.line();
};
