// Every benchmark there is. A new one is a folder, and a line here; it is only loaded when it is
// run. What has answered its question is archived: code and result stay as they were
// (bench/archive/README.md).
import type { Benchmark } from "./benchmark.ts";

export const benchmarks: Readonly<Record<string, () => Promise<Benchmark>>> = {
  batch: async () => (await import("./batch/batch.ts")).batch,
  cache: async () => (await import("./cache/cache.ts")).cache,
  embed: async () => (await import("./embed/embed.ts")).embed,
  eviction: async () => (await import("./eviction/eviction.ts")).eviction,
  faults: async () => (await import("./faults/faults.ts")).faults,
  gateway: async () => (await import("./gateway/gateway.ts")).gateway,
  helpfulness: async () => (await import("./helpfulness/helpfulness.ts")).helpfulness,
  serve: async () => (await import("./serve/serve.ts")).serve,
  learning: async () => (await import("./learning/learning.ts")).learning,
  ladder: async () => (await import("./ladder/ladder.ts")).ladder,
  linked: async () => (await import("./linked/linked.ts")).linked,
  loop: async () => (await import("./loop/loop.ts")).loop,
  offpolicy: async () => (await import("./offpolicy/offpolicy.ts")).offpolicy,
  overload: async () => (await import("./overload/overload.ts")).overload,
  page: async () => (await import("./page/page.ts")).page,
  prefix: async () => (await import("./prefix/prefix.ts")).prefix,
  privacy: async () => (await import("./privacy/privacy.ts")).privacy,
  replay: async () => (await import("./replay/replay.ts")).replay,
  stage: async () => (await import("./stage/stage.ts")).stage,
  replicas: async () => (await import("./replicas/replicas.ts")).replicas,
  reuse: async () => (await import("./reuse/reuse.ts")).reuse,
  routing: async () => (await import("./routing/routing.ts")).routing,
  selection: async () => (await import("./selection/selection.ts")).selection,
};

/** Their results lie beside them. */
export const archived: Readonly<Record<string, () => Promise<Benchmark>>> = {
  "archive/clickhouse-codecs": async () =>
    (await import("./archive/clickhouse-codecs/clickhouse-codecs.ts")).clickhouseCodecs,
  "archive/import": async () => (await import("./archive/import/import.ts")).importExamples,
  "archive/linked-scattered": async () =>
    (await import("./archive/linked-scattered/linked-scattered.ts")).linkedScattered,
  "archive/topic-compression": async () =>
    (await import("./archive/topic-compression/topic-compression.ts")).topicCompression,
};
