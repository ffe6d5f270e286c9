// How large a record and a batch of records may be. Topics are made by it, what is sent is measured
// by it, and what is fetched is read within it.

export const mebibyte = 1024 * 1024;

/** `max.message.bytes` of the topics with the largest records: work and dead-letters. */
export const mostMessageBytes = 32 * mebibyte;

/**
 * What a batch may hold once it is decompressed: twice what a topic would take as it is. No bound of
 * Kafka's holds for that, and a thousand to one is easily reached.
 */
export const mostBatchBytes = 2 * mostMessageBytes;

/** What is decompressed of one answer, and how many records of it are read; the rest comes next. */
export const mostOfAnswer = { bytes: mostBatchBytes, records: 65_536 };
