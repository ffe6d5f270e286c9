// Examples in lists and whole, with how they were used.

export interface ExampleRow {
  id: string;
  tenant: string;
  domain: string;
  request: string;
  response: string;
  gain: number;
  uses: number;
  ratedUses: number;
  meanQuality: number;
  quality: number;
  replays: number;
  sourceArm: string;
}

export interface ExampleList {
  rows: ExampleRow[];
  /** Figures are of uses since then; null: of all in two weeks. */
  countedFrom: number | null;
}

/** example: null where the pool does not have it, or not yet. */
export interface WholeExample {
  example:
    | (Pick<ExampleRow, "id" | "tenant" | "domain" | "request" | "response" | "quality" | "sourceArm"> & {
        sourceModel: string;
        /** Request that it came from; null: another system's. */
        requestId: string | null;
        createdAt: number;
        expiresAt: number | null;
      })
    | null;
  uses: ExampleUse[];
}

export interface ExampleUse {
  requestId: string;
  tenant: string;
  question: string;
  arm: string;
  createdAt: number;
  similarity: number;
  helpfulness: number;
  rated: boolean;
  quality: number;
}
