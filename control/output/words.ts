/** Numbers in words. */

/** `42 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  const [first, second] = UNITS.reduce<{ rest: number; parts: string[] }>(
    ({ rest, parts }, [size, name]) => {
      const count = Math.floor(rest / size);
      return {
        rest: rest - count * size,
        parts: count > 0 || parts.length > 0 ? [...parts, `${count} ${name}`] : parts,
      };
    },
    { rest: seconds, parts: [] },
  ).parts;
  if (first === undefined) return "0 s";
  return second === undefined || second.startsWith("0 ") ? first : `${first} ${second}`;
}

/** `512 B`, `1.5 kB`, `12.0 MB`. */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  const step = Math.min(SIZES.length, Math.floor(Math.log10(count) / 3));
  return `${(count / 1_000 ** step).toFixed(1)} ${SIZES[step - 1]}`;
}

/** `Reading the memory: 12.0 MB`; without a number as long as it tells nothing. */
export function soFar(doing: string, count: number): string {
  return count < SMALLEST_NAMED ? doing : `${doing}: ${bytes(count)}`;
}

/** Bytes; fewer are through before anybody could follow the number. */
const SMALLEST_NAMED = 1_000_000;

const UNITS: readonly (readonly [number, string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];
const SIZES = ["kB", "MB", "GB", "TB"] as const;
