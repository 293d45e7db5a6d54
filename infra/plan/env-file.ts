/**
 * The text of a node's `.env`. dotenv has no escapes that work for every value, so each one is written in the first of its
 * quotings that dotenv reads back as it was; the whole text is parsed once more before it is used.
 */
import { parse } from "dotenv";
import { InfraError } from "../../runtime/contracts/errors.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const PLAIN = /^[A-Za-z0-9_.,:/@%+=~^-]+$/;
/** Follow each candidate when it is tried: a quote that dotenv does not see as closed would swallow one of them. */
const PROBES = { CAIRN_A: "' #'", CAIRN_B: '" #"', CAIRN_C: "` #`" };
const PROBE_LINES = Object.entries(PROBES).map(([name, quoted]) => `${name}=${quoted}\n`);

/**
 * `NAME=value` lines, sorted by name. INFRA_PLAN_INVALID names the variables (never a value) that no `.env` can hold: a value
 * with a line break and all three kinds of quotes, for instance.
 */
export function renderEnvFile(variables: Readonly<Record<string, string>>): string {
  const names = Object.keys(variables).sort();
  const lines = new Map<string, string | null>(names.map((name) => [name, line(name, variables[name] ?? "")]));
  const impossible = names.filter((name) => lines.get(name) === null);
  if (impossible.length > 0) throw cannotHold(impossible);
  const text = names.map((name) => `${lines.get(name)}\n`).join("");
  const read = parse(text);
  const changed = names.filter((name) => read[name] !== variables[name]);
  if (changed.length > 0) throw cannotHold(changed);
  return text;
}

function line(name: string, value: string): string | null {
  if (!NAME.test(name)) return null;
  if (PLAIN.test(value)) return `${name}=${value}`;
  const candidates = [`'${value}'`, `"${value}"`, `\`${value}\``, value].map((quoted) => `${name}=${quoted}`);
  return candidates.find((candidate) => isReadBack(candidate, name, value)) ?? null;
}

function isReadBack(candidate: string, name: string, value: string): boolean {
  const read = parse(`${candidate}\n${PROBE_LINES.join("")}`);
  return read[name] === value && Object.keys(PROBES).every((probe) => probe === name || read[probe] === " #");
}

function cannotHold(names: readonly string[]): InfraError {
  return new InfraError("INFRA_PLAN_INVALID", `A .env file cannot hold the value of ${names.join(", ")}.`, {
    hint: "Give it without line breaks, `#` and quotes of all kinds, or encode it.",
  });
}
