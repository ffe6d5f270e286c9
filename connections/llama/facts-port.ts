// What is known of devices, models and chunk caches. A part of port.ts, which exports it all.

export interface Device {
  name: string;
  description: string;
  /** gpu: a discrete one; software: a GPU's interface on the CPU, such as Mesa's llvmpipe. */
  kind: "cpu" | "gpu" | "integrated" | "software" | "accelerator";
  totalBytes: number;
  freeBytes: number;
}

export interface RopeFacts {
  /** Which dimensions are rotated together: norm (2i, 2i + 1), neox (i, i + dimensions / 2). */
  type: "norm" | "neox";
  dimensions: number;
  base: number;
  scale: number;
  scaling: string;
  /** YaRN's; extrapolation 0 is no YaRN. */
  extrapolation: number;
  betaFast: number;
  betaSlow: number;
  originalContext: number;
  factors: boolean;
  /** Hash of the frequencies: caches of models with other tables are incompatible. */
  hash: string;
}

export interface ModelFacts {
  fingerprint: string;
  name: string;
  architecture: string;
  description: string;
  /** Jinja; "" when the file has none. */
  chatTemplate: string;
  layers: number;
  heads: number;
  keyHeads: number;
  headDimension: number;
  valueDimension: number;
  embedding: number;
  vocabulary: number;
  trainContext: number;
  parameters: number;
  bytes: number;
  /** -1: none. */
  bos: number;
  eos: number;
  addBos: boolean;
  /** That the model runs on: "CPU (AMD EPYC)". */
  devices: string[];
  /** Whether chunk caches can be made and moved. */
  linkable: boolean;
  /** Why not: sliding window, recurrent, M-RoPE, latent attention, ...; null: linkable. */
  unlinkable: string | null;
  /** Null where it is not linkable. */
  rope: RopeFacts | null;
}

export type KvType = "f32" | "f16" | "q8_0";

/** Caches of equal formats, and only those, can be linked into a context. */
export interface ChunkFormat {
  fingerprint: string;
  ropeHash: string;
  kvType: KvType;
  flashAttention: boolean;
  layers: number;
  /** Bytes of a chunk cache for each token; 128 and the token ids come on top. */
  tokenBytes: number;
}

export interface ChunkFacts extends ChunkFormat {
  tokens: Int32Array;
  first: number;
}
