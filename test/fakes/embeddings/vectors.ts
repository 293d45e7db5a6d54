/** Vectors from words, the same for the same words: what says the same with other words of the list is near. */

/** Words of one row mean the same. */
const SYNONYMS: readonly (readonly string[])[] = [
  ["car", "automobile", "vehicle"],
  ["doctor", "physician"],
  ["bought", "purchased", "acquired"],
  ["ill", "sick", "unwell"],
  ["sea", "ocean"],
];

export function vectorOf(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["?"]) {
    const meaning = SYNONYMS.find((words) => words.includes(word))?.[0] ?? word;
    const place = hash(meaning);
    vector[place % dimensions] = (vector[place % dimensions] ?? 0) + 1;
    vector[(place >>> 8) % dimensions] = (vector[(place >>> 8) % dimensions] ?? 0) + 0.5;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** FNV-1a. */
function hash(word: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(word)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}
