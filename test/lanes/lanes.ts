/**
 * The lanes of the test suite, named for what they cost: which files belong to each, which tool each needs, and whether that
 * tool is here. A lane without its tool is skipped and named at the end; REQUIRE_LANES=a,b turns that into a failure.
 */

import { matchesGlob } from "node:path";
import { lackOf, listed, type Tool } from "./tools.ts";

export interface Lane {
  readonly name: string;
  /** Files of the lane, as globs from the root of the repository. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** What the lane cannot do without. */
  readonly needs: readonly Tool[];
  /** Whether its tests get the private PostgreSQL server, where there is one. */
  readonly postgres: boolean;
  /** Whether its tests start what is built: `dist` has to be up to date before them. */
  readonly built: boolean;
  /** Longest time of one test or hook, in milliseconds: a multiple of what it takes, at least twice EVENTUALLY_MS. */
  readonly timeoutMs: number;
  /** Seconds of a processor that a file takes, roughly; null for lanes that `npm run check` leaves to the complete run. */
  readonly quickS: number | null;
  /** What its files run in, one after the other, sharing its modules, since loading them takes longer than most files; null: a process each. */
  readonly shares: "thread" | "process" | null;
  /** False for what takes too long for every run: `npm run nightly`. */
  readonly always: boolean;
  /** Whether a complete run has it only where it is required: real tools take longer than all the rest. `.ci/run` requires them. */
  readonly asked: boolean;
}

export interface LaneChoice {
  readonly run: readonly Lane[];
  readonly skipped: readonly { readonly lane: Lane; readonly reason: string; readonly required: boolean }[];
}

/** A name without a suffix, as glob. */
const PLAIN = "+([^.]).test.ts";

/** Rooms whose plain tests decide and compute: no process, no database, no port. test/lanes/pure.test.ts holds them to it. */
const PURE = [
  `test/runtime/{app,config,contracts,domain,workers}/**/${PLAIN}`,
  `test/runtime/plugins/{channels,hooks,memory}/**/${PLAIN}`,
  `test/infra/{components,plan}/**/${PLAIN}`,
  `test/control/{configuration,mcp,memory,output,plugins,rollout,self-test}/**/${PLAIN}`,
];

/** Rooms whose plain tests run commands. */
const CLI = [`test/control/{commands,completion,login}/**/${PLAIN}`];

/** `x.<suffix>.test.ts` belongs to the lane of that suffix, `x.test.ts` to the lane of its room. */
export const LANES: readonly Lane[] = [
  lane("pure", PURE, { shares: "thread", quickS: 0.3 }),
  lane("local", [`test/**/${PLAIN}`, "test/**/*.local.test.ts"], {
    exclude: [...PURE, ...CLI],
    shares: "process",
    quickS: 2,
  }),
  lane("cli", [...CLI, "test/**/*.cli.test.ts"], { shares: "process", quickS: 6 }),
  lane("store", ["test/**/*.db.test.ts"], { shares: "process", postgres: true, quickS: 6 }),
  lane("blackbox", ["test/**/*.e2e.test.ts"], {
    needs: ["postgresql"],
    postgres: true,
    built: true,
    timeoutMs: 300_000,
  }),
  lane("engine", ["test/**/*.engine.test.ts"], { needs: ["pulumi"], built: true, timeoutMs: 300_000, asked: true }),
  lane("docker", ["test/**/*.docker.test.ts"], {
    needs: ["docker", "docker-images"],
    built: true,
    timeoutMs: 300_000,
    asked: true,
  }),
  lane("ssh", ["test/**/*.ssh.test.ts"], { needs: ["sshd"], built: true, asked: true }),
  lane("kubernetes", ["test/**/*.kubernetes.test.ts"], {
    needs: ["kubernetes"],
    built: true,
    timeoutMs: 300_000,
    asked: true,
  }),
  lane("nightly", ["test/**/*.nightly.test.ts"], { postgres: true, built: true, timeoutMs: 900_000, always: false }),
];

/** The lane of a test file (path from the root of the repository); undefined for another file. */
export function laneOf(file: string): Lane | undefined {
  const matches = (globs: readonly string[]): boolean => globs.some((glob) => matchesGlob(file, glob));
  return LANES.find((one) => matches(one.include) && !matches(one.exclude));
}

/** Names in REQUIRE_LANES. Throws for a name that is no lane, so that a typing error cannot skip silently. */
export function requiredLanes(env: Readonly<Record<string, string | undefined>>): ReadonlySet<string> {
  return listed(
    "REQUIRE_LANES",
    env.REQUIRE_LANES,
    LANES.map(({ name }) => name),
  );
}

/** Splits `lanes` into those that can run here and those whose tool is missing. */
export function chooseLanes(
  lanes: readonly Lane[],
  required: ReadonlySet<string>,
  missing: (tool: Tool) => string | undefined = lackOf,
): LaneChoice {
  const run: Lane[] = [];
  const skipped: { lane: Lane; reason: string; required: boolean }[] = [];
  for (const lane of lanes) {
    const reason = lane.needs.map(missing).find((found) => found !== undefined);
    if (reason === undefined) run.push(lane);
    else skipped.push({ lane, reason, required: required.has(lane.name) });
  }
  return { run, skipped };
}

function lane(name: string, include: readonly string[], rest: Partial<Omit<Lane, "name" | "include">>): Lane {
  return {
    name,
    include,
    exclude: [],
    needs: [],
    postgres: false,
    built: false,
    timeoutMs: 180_000,
    quickS: null,
    shares: null,
    always: true,
    asked: false,
    ...rest,
  };
}
