/** What the operators of `${...}` make of values; UNKNOWN where a pattern would have to be matched. */

import { bounded, UNKNOWN } from "./state.ts";

/**
 * `${x:-other}` and its like. With a colon an empty value counts as none; `isSet`: whether the variable is known to be
 * set.
 */
export function withDefault(
  operator: string,
  values: readonly string[],
  isSet: boolean,
  other: () => readonly string[],
): readonly string[] {
  const colon = operator.startsWith(":");
  const filled = values.filter((value) => value !== "");
  const maySet = colon ? filled.length > 0 : true;
  const mayLack = colon ? filled.length < values.length || values.includes(UNKNOWN) : !isSet;
  if (operator.endsWith("+")) return bounded([...(mayLack ? [""] : []), ...(maySet ? other() : [])]);
  const own = colon || !isSet ? filled : values;
  // `${x:?}` ends the shell where there is no value: what follows does not run.
  if (operator.endsWith("?")) return own.length > 0 ? own : [UNKNOWN];
  return bounded([...own, ...(mayLack ? other() : [])]);
}

/** `${x:offset:length}` */
export function slice(
  values: readonly string[],
  offsets: readonly string[],
  lengths: readonly string[] | null,
): readonly string[] {
  const [offset, length] = [Number(offsets[0]), lengths === null ? undefined : Number(lengths[0])];
  if (!Number.isInteger(offset) || (length !== undefined && !Number.isInteger(length))) return [UNKNOWN];
  return values.map((value) => {
    if (value.includes(UNKNOWN)) return UNKNOWN;
    const start = offset < 0 ? Math.max(0, value.length + offset) : offset;
    return value.slice(start, length === undefined ? undefined : length < 0 ? length : start + length);
  });
}

/** `${x/pattern/text}`, `${x//pattern/text}` */
export function replace(
  values: readonly string[],
  patterns: readonly string[],
  texts: readonly string[],
  all: boolean,
): readonly string[] {
  const [pattern = "", text = ""] = [patterns[0], texts[0]];
  if (pattern === "" || /[*?[\u{e000}]/u.test(pattern)) return [UNKNOWN];
  return values.map((value) => (all ? value.split(pattern).join(text) : value.replace(pattern, () => text)));
}

/** `${x#pattern}`, `${x%pattern}` */
export function remove(values: readonly string[], patterns: readonly string[], front: boolean): readonly string[] {
  const pattern = patterns[0] ?? "";
  if (/[*?[\u{e000}]/u.test(pattern)) return [UNKNOWN];
  return values.map((value) => {
    if (front) return value.startsWith(pattern) ? value.slice(pattern.length) : value;
    return value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) : value;
  });
}
