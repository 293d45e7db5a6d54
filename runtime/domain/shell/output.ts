/** What simple programs print, as far as it follows from their arguments and input: this reveals hidden text. */

import { posix } from "node:path";
import { HOME, UNKNOWN } from "./state.ts";

/** The text that `echo` prints. */
export function echoOutput(args: readonly string[]): string {
  let rest = args;
  let escapes = false;
  let newline = "\n";
  while (/^-[neE]+$/.test(rest[0] ?? "")) {
    const option = rest[0] ?? "";
    if (option.includes("e")) escapes = true;
    if (option.includes("E")) escapes = false;
    if (option.includes("n")) newline = "";
    rest = rest.slice(1);
  }
  const text = rest.join(" ");
  return (escapes ? withoutEscapes(text) : text) + newline;
}

/** The text that `printf` prints, or UNKNOWN for formats beyond strings and numbers. */
export function printfOutput(args: readonly string[]): string {
  const operands = args[0] === "--" ? args.slice(1) : args;
  const format = operands[0];
  if (format === undefined) return "";
  const values = operands.slice(1);
  const directives = format.match(/%(%|-?\d*(\.\d+)?[sbdiuqc])/g) ?? [];
  const consuming = directives.filter((directive) => directive !== "%%").length;
  if (/%[^%sbdiuqc\-\d.]/.test(format)) return UNKNOWN;
  const rounds = consuming === 0 ? 1 : Math.max(1, Math.ceil(values.length / consuming));
  let output = "";
  let next = 0;
  for (let round = 0; round < Math.min(rounds, 64); round += 1) {
    output += withoutEscapes(format).replace(/%(%|-?\d*(\.\d+)?[sbdiuqc])/g, (directive) => {
      if (directive === "%%") return "%";
      const value = values[next] ?? "";
      next += 1;
      if (directive.endsWith("b")) return withoutEscapes(value);
      return directive.endsWith("c") ? value.slice(0, 1) : value;
    });
  }
  return output;
}

/**
 * What a filter makes of its input: null when it is no filter that is known here. Decoders are followed, so that what
 * they hide is inspected like plain text.
 */
export function filterOutput(program: string, args: readonly string[], input: string): string | null {
  const options = args.filter((arg) => arg.startsWith("-"));
  const has = (...names: string[]) => options.some((option) => names.includes(option));
  switch (program) {
    case "cat":
      return args.every((arg) => arg.startsWith("-")) ? input : null;
    case "tee":
      return input;
    case "rev":
      return input
        .split("\n")
        .map((line) => [...line].reverse().join(""))
        .join("\n");
    case "base64":
    case "openssl":
      return has("-d", "-D", "--decode", "-di") ? decode(input, "base64") : UNKNOWN;
    case "xxd":
      return options.some((option) => /^-[a-z]*r/.test(option)) ? decode(input, "hex") : UNKNOWN;
    case "tr":
      return translate(args, input);
    default:
      return null;
  }
}

/** Where `command -v`, `which` and `type -P` find a program: under its own name. */
export function lookupOutput(args: readonly string[]): string {
  const name = args.filter((arg) => !arg.startsWith("-")).at(-1);
  return name === undefined ? "" : `/usr/bin/${posix.basename(name)}\n`;
}

/** Backslash escapes of `echo -e`, `printf` and `%b`. */
export function withoutEscapes(text: string): string {
  return text.replace(
    /\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|0?[0-7]{1,3}|[abefnrtv\\"'])/g,
    (_, code: string) => {
      if (/^[xuU]/.test(code)) return character(Number.parseInt(code.slice(1), 16));
      if (/^[0-7]/.test(code)) return character(Number.parseInt(code, 8));
      return { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", e: "\x1b", f: "\f", v: "\v" }[code] ?? code;
    },
  );
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : UNKNOWN;
}

function decode(text: string, encoding: "base64" | "hex"): string {
  if (text.includes(UNKNOWN) || text.includes(HOME)) return UNKNOWN;
  return Buffer.from(text.replace(/\s+/g, ""), encoding).toString("utf8");
}

/** Single characters and plain ranges, which covers rotations; classes and options are not followed, but for -d. */
function translate(args: readonly string[], input: string): string {
  const [first, second] = args;
  if (first === undefined || second === undefined || input.includes(UNKNOWN)) return UNKNOWN;
  if (first === "-d") return [...input].filter((letter) => !spread(second).includes(letter)).join("");
  if (first.startsWith("-") || /\[:/.test(first + second)) return UNKNOWN;
  const [from, to] = [spread(first), spread(second)];
  return [...input]
    .map((letter) => (from.includes(letter) ? (to[from.lastIndexOf(letter)] ?? to.at(-1) ?? letter) : letter))
    .join("");
}

function spread(set: string): string[] {
  return [...withoutEscapes(set).replace(/(.)-(.)/gsu, (_, from: string, to: string) => range(from, to))];
}

function range(from: string, to: string): string {
  const [start, end] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
  if (end < start || end - start > 255) return from + to;
  return Array.from({ length: end - start + 1 }, (_, index) => String.fromCodePoint(start + index)).join("");
}
