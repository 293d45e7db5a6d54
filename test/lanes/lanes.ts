/**
 * The lanes of the test suite: which files belong to each, which tool each needs, and whether that tool is here.
 * A lane without its tool is skipped with one line; REQUIRE_LANES=a,b turns that into a failure.
 */

import { probe, type Tool } from "./tools.ts";

export interface Lane {
  readonly name: string;
  /** Files of the lane, as globs from the root of the repository. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** What the lane cannot do without. */
  readonly needs: readonly Tool[];
  /** Whether its tests get the private PostgreSQL server. */
  readonly postgres: boolean;
  /** Longest time of one test or hook, in milliseconds: a multiple of what it takes, at least twice EVENTUALLY_MS. */
  readonly timeoutMs: number;
  /** False for what takes too long for every run: `npm run nightly`. */
  readonly always: boolean;
}

export interface LaneChoice {
  readonly run: readonly Lane[];
  readonly skipped: readonly { readonly lane: Lane; readonly reason: string; readonly required: boolean }[];
}

/** A test file named `x.<suffix>.test.ts` belongs to the lane of that suffix; `x.test.ts` is a unit test. */
export const LANES: readonly Lane[] = [
  lane("unit", "test/**/*.test.ts", { exclude: ["**/*.*.test.ts"], timeoutMs: 180_000 }),
  lane("database", "test/**/*.db.test.ts", { needs: ["postgres"], postgres: true, timeoutMs: 180_000 }),
  lane("blackbox", "test/**/*.e2e.test.ts", { needs: ["postgres"], postgres: true, timeoutMs: 300_000 }),
  lane("engine", "test/**/*.engine.test.ts", { needs: ["pulumi"], timeoutMs: 300_000 }),
  lane("docker", "test/**/*.docker.test.ts", { needs: ["docker"], timeoutMs: 300_000 }),
  lane("ssh", "test/**/*.ssh.test.ts", { needs: ["sshd"], timeoutMs: 180_000 }),
  lane("kubernetes", "test/**/*.kubernetes.test.ts", { needs: ["kubernetes"], timeoutMs: 300_000 }),
  lane("browser", "test/**/*.browser.test.ts", { needs: ["chromium"], timeoutMs: 180_000 }),
  lane("nightly", "test/**/*.nightly.test.ts", { postgres: true, timeoutMs: 900_000, always: false }),
];

/** Names in REQUIRE_LANES. Throws for a name that is no lane, so that a typing error cannot skip silently. */
export function requiredLanes(env: Readonly<Record<string, string | undefined>>): ReadonlySet<string> {
  const names = (env.REQUIRE_LANES ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const unknown = names.filter((name) => !LANES.some((known) => known.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `REQUIRE_LANES names no such lane: ${unknown.join(", ")} (known: ${LANES.map((l) => l.name).join(", ")})`,
    );
  }
  return new Set(names);
}

/** Splits `lanes` into those that can run here and those whose tool is missing. */
export function chooseLanes(
  lanes: readonly Lane[],
  required: ReadonlySet<string>,
  missing: (tool: Tool) => string | undefined = probe,
): LaneChoice {
  const run: Lane[] = [];
  const skipped: { lane: Lane; reason: string; required: boolean }[] = [];
  for (const lane of lanes) {
    const reasons = lane.needs.map(missing).filter((reason) => reason !== undefined);
    if (reasons.length === 0) run.push(lane);
    else skipped.push({ lane, reason: reasons.join("; "), required: required.has(lane.name) });
  }
  return { run, skipped };
}

function lane(name: string, include: string, rest: Partial<Omit<Lane, "name" | "include">>): Lane {
  return {
    name,
    include: [include],
    exclude: [],
    needs: [],
    postgres: false,
    timeoutMs: 180_000,
    always: true,
    ...rest,
  };
}
