/** How much a parsed JSON value holds. JSON.stringify would throw where it nests deep, and make the whole text. Pure. */

/** About its characters as JSON; it stops counting above `most`. */
export function jsonSize(value: unknown, most: number): number {
  const rest: unknown[] = [value];
  let size = 0;
  while (rest.length > 0 && size <= most) {
    const one = rest.pop();
    // Quotes, a comma or a bracket, or a number.
    size += 4;
    if (typeof one === "string") size += one.length;
    else if (Array.isArray(one)) for (const inner of one) rest.push(inner);
    else if (typeof one === "object" && one !== null) {
      for (const [key, inner] of Object.entries(one)) {
        size += key.length + 4;
        rest.push(inner);
      }
    }
  }
  return size;
}
