// Traces in our own words; the adapter (otlp.ts) knows a standard. Nothing waits: what can't be
// exported is lost, and counted.

/** W3C trace context of a span: headers of a record or an HTTP call. */
export type TraceHeaders = Readonly<Record<string, string>>;
/** Headers as they came, from anybody: what is malformed counts as absent. */
export type ForeignHeaders = Readonly<Record<string, string | string[] | Buffer | undefined>>;

/** server: HTTP. send: produces. process: a record's work. model: a call. inside: a part. */
export type SpanKind = "server" | "send" | "process" | "model" | "inside";

/** What is known of the work. Never a text of a prompt, an answer or an error: codes and counts. */
export interface Facts {
  // HTTP request.
  method?: string | undefined;
  route?: string | undefined;
  status?: number | undefined;
  // Record.
  topic?: string | undefined;
  partition?: number | undefined;
  offset?: number | undefined;
  group?: string | undefined;
  // Model call.
  provider?: string | undefined;
  requestModel?: string | undefined;
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  seed?: number | undefined;
  responseModel?: string | undefined;
  finishReasons?: string[] | undefined;
  inputTokens?: number | undefined;
  cachedTokens?: number | undefined;
  cacheWriteTokens?: number | undefined;
  outputTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  /** Seconds. */
  firstTokenAfter?: number | undefined;
  // Precedent's own attributes.
  stage?: string | undefined;
  requestId?: string | undefined;
  tenant?: string | undefined;
  domain?: string | undefined;
  /** ok, failed, refused, handed_over, dead_letter, abandoned. */
  outcome?: string | undefined;
  /** The stable code of a failure or refusal. */
  code?: string | undefined;
  source?: string | undefined;
  cached?: boolean | undefined;
  duplicate?: boolean | undefined;
  arm?: string | undefined;
  propensity?: number | undefined;
  policyVersion?: number | undefined;
  examples?: number | undefined;
  attempts?: number | undefined;
  failedArms?: string[] | undefined;
  cost?: number | undefined;
  degraded?: string[] | undefined;
}

export interface SpanStart {
  name: string;
  kind: SpanKind;
  facts?: Facts;
  /** Milliseconds since the epoch; now by default. */
  at?: number;
}

export interface SpanEnd {
  /** A stable code; absent: it went well. */
  error?: string | undefined;
  /** Milliseconds since the epoch; now by default. */
  at?: number;
}

export interface Span {
  /** Handed on with what comes of it, whether it is exported or not. */
  readonly headers: TraceHeaders;
  /** false: the trace is not exported, and its facts need not be gathered. */
  readonly isRecorded: boolean;
  child(start: SpanStart): Span;
  set(facts: Facts): void;
  /** What the work starts while it runs has this span as the current one, across all its waits. */
  during<T>(work: () => T): T;
  end(end?: SpanEnd): void;
}

export interface Tracing {
  /** The span continues the trace that the headers name; without one it begins a trace. */
  follow(headers: ForeignHeaders, start: SpanStart): Span;
  /** What the caller is done during, if anything. */
  current(): Span | undefined;
  /** Sends the remaining spans, within a time limit. */
  close(): Promise<void>;
}
