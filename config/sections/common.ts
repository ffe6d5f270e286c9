// What keys of several sections are made of.
import { z } from "zod";

export const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "lower-case letters, digits and dashes, at most 63");
export const milliseconds = z.number().int().positive();
export const price = z.number().nonnegative();
