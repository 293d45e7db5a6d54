/**
 * Which regular expressions a store takes. The embedded one cannot be interrupted: what takes too long costs the store its
 * thread, and every caller waits until it is open again. PostgreSQL ends the search of one at its deadline, but not the
 * making of its automaton, which grows with repetitions that are written out.
 */

/** Times that repeated parts are written out in all; an engine state each. A UUID has 32, a SHA-512 128. */
const MOST_REPEATED = 200;

/** What is refused in it; null when it may run. `interruptible`: whether the store can end a search that has begun. */
export function costlyRegex(regex: string, interruptible = false): string | null {
  if (/^\*\*\*/.test(regex) || /^\(\?[a-z]*[beqx]/i.test(regex)) return "another syntax than the usual one";
  // Syntax within a comment has no meaning.
  if (regex.includes("(?#")) return "comments";
  let repeated = 0;
  let size = 0;
  /** Sizes of the groups around this place, and of what was last closed or read: a bound repeats it. */
  const around: number[] = [];
  let last = 0;
  /** A group under `*` or `+` is written out once more, so that groups within one another double each time. */
  let isGroup = false;
  for (let at = 0; at < regex.length; at += 1) {
    const unit = regex[at];
    if (unit === "\\") {
      at += 1;
      if (!interruptible && /[1-9]/.test(regex[at] ?? "")) return "back references";
    } else if (unit === "[") {
      at = endOfBrackets(regex, at);
    } else if (unit === "(") {
      if (!interruptible && /^\(\?(?:=|!|<[=!])/.test(regex.slice(at, at + 4))) return "lookahead and lookbehind";
      around.push(size);
      size = 0;
      last = 0;
      continue;
    } else if (unit === ")") {
      last = size;
      isGroup = true;
      size += around.pop() ?? 0;
      continue;
    } else if (unit === "{") {
      const bound = /^\{(\d{1,5})(?:,(\d{0,5}))?\}/.exec(regex.slice(at, at + 14));
      if (bound !== null) {
        const times = Math.max(1, Number(bound[1]), Number(bound[2] ?? 0));
        repeated += last * (times - 1);
        size += last * (times - 1);
        last *= times;
        at += bound[0].length - 1;
        if (repeated > MOST_REPEATED) return `more than ${MOST_REPEATED} repeated parts in all`;
        continue;
      }
    } else if (unit === "*" || unit === "+") {
      if (!isGroup) continue;
      repeated += last;
      size += last;
      last *= 2;
      if (repeated > MOST_REPEATED) return `more than ${MOST_REPEATED} repeated parts in all`;
      continue;
    } else if (unit === "?") {
      continue;
    }
    last = 1;
    isGroup = false;
    size += 1;
  }
  return null;
}

/** The index of the bracket that ends an expression in brackets; the last one of the text where none does. */
function endOfBrackets(regex: string, start: number): number {
  let at = start + 1;
  if (regex[at] === "^") at += 1;
  if (regex[at] === "]") at += 1;
  for (; at < regex.length; at += 1) {
    const unit = regex[at];
    if (unit === "]") return at;
    if (unit === "\\") {
      at += 1;
    } else if (unit === "[" && /[:.=]/.test(regex[at + 1] ?? "")) {
      const end = regex.indexOf(`${regex[at + 1]}]`, at + 2);
      if (end === -1) return regex.length;
      at = end + 1;
    }
  }
  return regex.length;
}
