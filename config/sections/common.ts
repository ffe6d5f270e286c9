// What keys of several sections are made of.
import { z } from "zod";

export const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "lower-case letters, digits and dashes, at most 63");

/** setTimeout takes 32 bits: a longer time would be over at once. */
const mostMs = 2_000_000_000;
export const millisecondsUpTo = (most: number, least = 1) => z.number().int().min(least).max(most);
export const milliseconds = millisecondsUpTo(mostMs);
export const millisecondsOrNone = z.number().int().min(0).max(mostMs);
export const hours = z.number().min(0).max(87_600);
/** ClickHouse's dates end in 2106: rows that expire later would expire at once. */
export const days = z.number().min(0).max(10_000);

export const count = z.number().int().min(1).max(1_000_000_000);
export const countOrNone = z.number().int().min(0).max(1_000_000_000);
export const bytes = z
  .number()
  .int()
  .min(1)
  .max(2 ** 42);
/** Weights, steepnesses and prices: beyond, sums of floating-point numbers lose the rest. */
export const factor = z.number().min(0).max(1_000_000);
export const factorAboveNone = z.number().gt(0).max(1_000_000);

/** A server's address; user and password have keys of their own. */
export const httpUrl = z
  .url({ protocol: /^https?$/, error: "a URL such as http://host:8080" })
  .superRefine((text, context) => {
    if (!URL.canParse(text)) return;
    const { username, password, hash } = new URL(text);
    if (username !== "" || password !== "")
      context.addIssue({
        code: "custom",
        message: "has a user or password in it: leave them out, there are keys for them",
      });
    if (hash !== "")
      context.addIssue({ code: "custom", message: 'has a "#", of which servers see nothing: leave it out' });
  });
