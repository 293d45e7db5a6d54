import { types as builtins, type CustomTypesConfig } from "pg";

/** How column values become JavaScript values, the same on both backends (see contracts/database.ts). */

const { DATE, INT8, TIMESTAMP, TIMESTAMPTZ } = builtins.builtins;
const INT8_ARRAY = 1016;
// The driver's typings list no array types.
const TEXT_ARRAY = 1009 as Parameters<typeof builtins.getTypeParser>[0];

/**
 * bigint: number while it is a safe integer, else BigInt (so that nothing is rounded unnoticed); timestamptz: Date;
 * timestamp: Date, read as UTC; date: text `YYYY-MM-DD`; numeric: text; json and jsonb: parsed.
 */
export function columnTypes(): CustomTypesConfig {
  const parseTimestamptz: (text: string) => unknown = builtins.getTypeParser(TIMESTAMPTZ);
  const parseTexts: (text: string) => (string | null)[] = builtins.getTypeParser(TEXT_ARRAY);
  const own = new Map<number, (text: string) => unknown>([
    [INT8, parseBigint],
    [INT8_ARRAY, (text) => parseTexts(text).map((item) => (item === null ? null : parseBigint(item)))],
    [TIMESTAMP, (text) => parseTimestamptz(text.endsWith("infinity") ? text : `${text}+00`)],
    [DATE, (text) => text],
  ]);
  return {
    getTypeParser: (oid: number, format?: "text" | "binary") =>
      (format === "binary" ? undefined : own.get(oid)) ?? builtins.getTypeParser(oid, format),
  };
}

function parseBigint(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
