// The port of a provider's batches, as the collector needs them.

export interface BatchLine {
  /** Unique among all requests of the arm: 40 hexadecimal digits. */
  id: string;
  /** JSON of the body of a call that is not streamed. */
  body: string;
}

export interface ProviderBatch {
  id: string;
  createdAt: number;
  isOpen: boolean;
  /** How it ended, with the provider's codes; "cancelling" while it is being cancelled. */
  ended: string;
  /** It was never created after all: its lines may be submitted again. */
  isVoid?: boolean;
}

export interface LineResult {
  id: string;
  /** Null: the line was not called; error says why. text: JSON of the body. */
  response: { status: number; body: unknown; text: string } | null;
  error: string;
}

/** All reject with APIError and what a connection rejects with. */
export interface Provider<B extends ProviderBatch = ProviderBatch> {
  /** The arm's batches created since then, milliseconds since the epoch. */
  list(since: number): Promise<B[]>;
  /** Ids of the lines, or their first 16 digits. */
  lines(batch: B): AsyncGenerator<string>;
  /** Resolves with what create() is called with. */
  upload(lines: readonly BatchLine[]): Promise<string>;
  create(uploaded: string): Promise<B>;
  look(id: string): Promise<B>;
  cancel(id: string): Promise<void>;
  results(batch: B): AsyncGenerator<LineResult>;
}
