// Unicode NFC in linear time: V8's normalize() sorts runs of combining marks by insertion, minutes
// for 160,000. Runs above Unicode's bound of 30 (UAX #15) stay.

/** NFC; a text with more than 32 combining marks in a row is not changed. */
export const normalise = (text: string): string => (longRunOfMarks.test(text) ? text : text.normalize("NFC"));

const longRunOfMarks = /\p{M}{33}/u;
