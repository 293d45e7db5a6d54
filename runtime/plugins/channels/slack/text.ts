/** Text as Slack writes it (Formatting message text): three characters are escaped, and what is between `<` and `>` stands for something. */

import { COMMAND_USAGE } from "../../../domain/command-line.ts";

const COMMANDS = [...Object.keys(COMMAND_USAGE), "start", "help"].join("|");
const TYPED = new RegExp(`^!(?=(?:${COMMANDS})(?:\\s|$))`, "i");
const NAMED = new RegExp(`(^|[\\s"'(\`])/(?=(?:${COMMANDS})(?:[^\\w/]|$))`, "g");

/** What somebody has written, as they see it. */
export function readable(text: string): string {
  return text.replaceAll(/<([^<>]*)>/g, (_, inner: string) => shown(inner)).replaceAll(/&(amp|lt|gt);/g, unescaped);
}

/** Shown by Slack as it is: nothing in it mentions anybody. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Slack keeps what begins with a slash to itself: commands are typed as `!stop`. Undefined where the text is no command. */
export function commandLine(text: string): string | undefined {
  const line = text.replace(TYPED, "/");
  return /^\/[a-z_]+(?=\s|$)/i.test(line) ? line : undefined;
}

/** The service's own words, with its commands as they are typed. */
export function asTyped(text: string): string {
  return text.replaceAll(NAMED, "$1!");
}

function shown(inner: string): string {
  const [what = "", label] = split(inner);
  if (/^[@#]/.test(what)) return label === undefined ? what : `${what[0]}${label.replace(/^[@#]/, "")}`;
  // A group, a date, or everybody.
  if (what.startsWith("!")) return label ?? `@${what.slice(1)}`;
  const address = what.replace(/^mailto:/, "");
  if (label === undefined || label === address || address.replace(/^https?:\/\//, "").replace(/\/$/, "") === label) {
    return label ?? address;
  }
  return `${label} (${address})`;
}

function split(inner: string): readonly string[] {
  const bar = inner.indexOf("|");
  return bar < 0 ? [inner] : [inner.slice(0, bar), inner.slice(bar + 1)];
}

function unescaped(_: string, name: string): string {
  return name === "amp" ? "&" : name === "lt" ? "<" : ">";
}
