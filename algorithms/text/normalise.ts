// Unicode NFC in linear time: é is the same text however it was composed. V8's normalize() sorts
// runs of combining marks by insertion, so that a prompt of 160,000 marks takes it minutes. Written
// languages have a few on a letter; Unicode's own bound for streams is 30 (UAX #15).

/** NFC; a text with more than 32 combining marks in a row is not changed. */
export const normalise = (text: string): string => (longRunOfMarks.test(text) ? text : text.normalize("NFC"));

const longRunOfMarks = /\p{M}{33}/u;
