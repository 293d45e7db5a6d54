/** The record of a night: what ran, and docs/proofs.md, which says of each slow suite what it proves and when it last did. */

import type { SuiteResult } from "./count-reporter.ts";
import { laneOf } from "./lanes.ts";
import { PROVED } from "./proved.ts";
import { TOOLS, type Tool } from "./tools.ts";

/** Lanes whose suites have a row in docs/proofs.md. */
const SLOW = ["nightly", "docker", "ssh", "kubernetes", "engine"];

export interface Needs {
  /** What the file's lane and its suites name. */
  readonly tools: readonly Tool[];
  /** Those of them that are not here. */
  readonly lacks: readonly Tool[];
}

export interface Proof extends SuiteResult, Needs {}

export function isSlow(file: string): boolean {
  return SLOW.includes(laneOf(file)?.name ?? "");
}

/** `source`: the text of the file, which names the tools of its suites as `lacks("docker", "root")`. */
export function neededTools(file: string, source: string): Tool[] {
  const named = [...source.matchAll(/\blacks\(([^)]*)\)/g)].flatMap(([, words = ""]) => words.match(/[\w-]+/g) ?? []);
  return [...new Set([...(laneOf(file)?.needs ?? []), ...TOOLS.filter((tool) => named.includes(tool))])];
}

/** One of each file in their order; a file that did not run, because its lane could not, as one that was skipped. */
export function coverage(
  files: readonly string[],
  suites: readonly SuiteResult[],
  needsOf: (file: string) => Needs,
): Proof[] {
  return files.map((file) => {
    const ran = suites.find((suite) => suite.file === file);
    const result = ran ?? { file, title: file, passed: 0, failed: 0, skipped: 1, duration: 0 };
    return { ...result, ...needsOf(file) };
  });
}

/** For the end of a run. Of the quick suites that passed only the number; `reason` says why tools are lacking. */
export function renderCoverage(
  proofs: readonly Proof[],
  how: { readonly date: string; readonly versions: readonly string[]; readonly reason: (proof: Proof) => string },
): string {
  const isPlain = (proof: Proof): boolean => !isSlow(proof.file) && proof.failed + proof.skipped === 0;
  const plain = proofs.filter(isPlain);
  const lines = proofs
    .filter((proof) => !isPlain(proof))
    .map((proof) => {
      const reason = proof.skipped > 0 && proof.lacks.length > 0 ? ` (${how.reason(proof)})` : "";
      return `  ${proof.file}: ${proof.title}: ${countsOf(proof)} in ${seconds(proof)}${reason}`;
    });
  const others = plain.length === 0 ? [] : [`  quick suites that passed: ${plain.length}`];
  return [`Covered on ${how.date} with ${[...new Set(how.versions)].join(", ")}:`, ...lines, ...others].join("\n");
}

const HEAD = `<!-- Written by \`npm run nightly -- --write\`. -->
# Proofs

What each slow suite of the tests proves, and when it last did. \`npm run nightly\` runs all of them whose tools are there, on a machine
with nothing of Cairn on it; \`npm run nightly -- --write PATH...\` runs some, and writes their rows.

| suite | what it proves | last result | date | with |
|---|---|---|---|---|
`;

/**
 * The page with the rows of `files`. A suite of which something ran gets its new result; every other one keeps what `page`, the
 * page of before, says of it.
 */
export function mergePage(
  page: string,
  files: readonly string[],
  proofs: readonly Proof[],
  { date, versionOf }: { readonly date: string; readonly versionOf: (tool: string) => readonly string[] },
): string {
  const before = new Map(page.split("\n").map((line) => [/^\| `([^`]+)` \|/.exec(line)?.[1], line] as const));
  const rows = [...files].sort().map((file) => {
    const proof = proofs.find((one) => one.file === file);
    const start = `| \`${file}\` | ${PROVED[file] ?? ""} |`;
    if (proof !== undefined && proof.passed + proof.failed > 0) {
      const versions = [...new Set(["node", ...proof.tools].flatMap(versionOf))].join(", ");
      return `${start} ${countsOf(proof)}, ${seconds(proof)} | ${date} | ${versions} |`;
    }
    const [result, on, versions] = (before.get(file) ?? "").split(" | ").slice(-3);
    if (versions !== undefined && (proof === undefined || !result?.startsWith("not yet")))
      return `${start} ${result} | ${on} | ${versions}`;
    const lacking = proof === undefined || proof.lacks.length === 0 ? "" : ` (needs ${proof.lacks.join(", ")})`;
    return `${start} not yet${lacking} | - | - |`;
  });
  return `${HEAD}${rows.join("\n")}\n`;
}

function countsOf({ passed, failed, skipped }: Proof): string {
  const counts = [
    `${passed} passed`,
    failed > 0 ? `**${failed} failed**` : "",
    skipped > 0 ? `${skipped} skipped` : "",
  ];
  return counts.filter((one) => one !== "").join(", ");
}

function seconds({ duration }: Proof): string {
  return `${Math.max(1, Math.round(duration / 1000))} s`;
}
