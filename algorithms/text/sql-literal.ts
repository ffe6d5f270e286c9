// Text as ClickHouse's SQL has it between quotes.

export const sqlLiteral = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;
