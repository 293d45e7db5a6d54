/**
 * Waits for what was started: the engine only starts it, and this looks at the target until every part serves, one shows that it
 * will not, or its time is over. PostgreSQL comes first, because nodes wait for it by themselves.
 */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { beginHistory, follow, type Started, type StartHistory, type StartState, startState } from "../crash-loop.ts";
import type { StackPart, TargetDriver } from "../driver.ts";
import type { Inspection, ObservedNode, ObservedPart } from "../inspection.ts";
import { lastWordsOf } from "./last-words.ts";
import type { Session } from "./session.ts";

/** Milliseconds. PostgreSQL may have to recover, and a node's first start migrates the database. */
const DATABASE_MS = 600_000;
const NODE_MS = 300_000;
const POLL_MS = 1_000;
/** A host that starts anew is there again before that. */
const UNANSWERED_MS = 120_000;
/** The most that counts between two looks: a machine that slept, or whose clock was set, has not watched meanwhile. */
const LONGEST_STEP_MS = 60_000;

/** Restarts by node, and by `DATABASE`, before something was changed. */
export type Restarts = ReadonlyMap<string, number>;
/** In place of a node's name: no node can be called so. */
const DATABASE = "(database)";
const HEALTHY: StartState = { kind: "healthy" };

export interface Watched {
  readonly nodes: readonly string[];
  readonly restarts: Restarts;
  /** Whether nothing was started: what is gone or ended then does not come back by waiting, and that is no failure. */
  readonly unchanged: boolean;
}

/** A part of the stack does not start. Its message is one sentence. */
export class StartFailure extends InfraError {
  /** Null: PostgreSQL. */
  readonly nodes: readonly string[] | null;
  /** Whether the target answers: where it does not, nothing is known to be broken. */
  readonly answers: boolean;

  constructor(
    message: string,
    about: { readonly nodes: readonly string[] | null; readonly answers: boolean },
    details: ConstructorParameters<typeof InfraError>[2],
  ) {
    super("INFRA_FAILED", message, details);
    this.nodes = about.nodes;
    this.answers = about.answers;
  }
}

export function restartsIn({ nodes, parts }: Pick<Inspection, "nodes" | "parts">): Restarts {
  const database = parts.find(({ kind }) => kind === "database");
  return new Map([
    ...nodes.map(({ name, restarts }) => [name, restarts ?? 0] as const),
    [DATABASE, database?.restarts ?? 0] as const,
  ]);
}

export interface Waited extends Watched {
  /** Of the project that was applied; the session's own when absent. */
  readonly driver?: TargetDriver;
  /** Nodes that get their image now, on targets where images wait for that. */
  readonly released?: ReadonlySet<string> | undefined;
}

/** After the engine: lets the target bring what runs to what was applied, and waits for it. Errors of `untilStarted`. */
export async function reconcileAndWait(
  session: Session,
  { driver = session.driver, released, ...watched }: Waited,
): Promise<readonly ObservedNode[]> {
  // Nodes that wait for PostgreSQL are not ready, and do not become so before it is.
  const nodes = watched.nodes.length === 0 ? [] : undefined;
  try {
    await driver.reconcile?.(session.report, session.run.signal, released, nodes);
  } catch (error) {
    throw await asStartFailure(session, watched.nodes, error);
  }
  return untilStarted(session, watched);
}

/** What the driver found not to start, with its last words; other errors as they are. */
async function asStartFailure(session: Session, nodes: readonly string[], error: unknown): Promise<unknown> {
  if (!(error instanceof InfraError) || error.code !== "INFRA_FAILED" || session.run.signal.aborted) return error;
  const seen = await session.driver.inspect([], session.run.signal).catch(() => null);
  if (seen === null) return error;
  const isSick = ({ health }: { readonly health: string | null }): boolean => health !== "healthy";
  const sick = seen.nodes.filter((one) => nodes.includes(one.name) && isSick(one));
  // The driver names the pod, or the workload, which may end in a number as well.
  const [blamed = ""] = error.message.split(" ");
  const ofWorkload = (name: string) => sick.filter(({ workload }) => workload === name);
  const exact = ofWorkload(blamed);
  const named = (exact.length > 0 ? exact : ofWorkload(blamed.replace(/-\d+$/, ""))).map(({ name }) => name);
  const database = named.length === 0 && seen.parts.some((one) => one.kind === "database" && isSick(one));
  const [first] = named;
  if (!database && first === undefined) return error;
  const words = await lastWordsOf(
    session,
    database || first === undefined ? { kind: "postgres" } : { kind: "node", name: first },
  );
  const { hint } = error.details;
  const details = { ...words, cause: error, ...(hint === undefined ? {} : { hint }) };
  return new StartFailure(error.message, { nodes: database ? null : named, answers: true }, details);
}

/**
 * What was observed last: every node healthy, or nothing of `unchanged` to wait for. StartFailure names what does not start;
 * INFRA_HOST_UNREACHABLE where nothing of what is waited for answers.
 */
async function untilStarted(session: Session, watched: Watched): Promise<readonly ObservedNode[]> {
  const { driver, run } = session;
  const { services, signal } = run;
  const { nodes, restarts, unchanged } = watched;
  const histories = new Map<string, StartHistory>();
  let wall = services.now().getTime();
  // Milliseconds of this watch.
  let elapsed = 0;
  let began = 0;
  let answeredAt = 0;
  let databaseServed = false;
  for (;;) {
    const seen = await driver.inspect([], signal);
    const now = services.now().getTime();
    elapsed += Math.min(Math.max(now - wall, 0), LONGEST_STEP_MS);
    wall = now;
    const stateOf = (name: string, one: Started | undefined): StartState => {
      const found: Started = one ?? { state: "missing", health: "unknown", restarts: null };
      const history = follow(histories.get(name) ?? beginHistory(restarts.get(name) ?? null), found, elapsed);
      histories.set(name, history);
      return startState(history, found, elapsed);
    };
    const database = seen.parts.find(({ kind }) => kind === "database");
    const databaseState = database === undefined ? HEALTHY : stateOf(DATABASE, database);
    const served = databaseState.kind === "healthy";
    const waiting = nodes
      .map((name) => ({ name, one: seen.nodes.find((node) => node.name === name) }))
      .map(({ name, one }) => ({ name, one, state: stateOf(name, one) }))
      .filter(({ state }) => state.kind !== "healthy");
    if (waiting.length === 0 && served) return seen.nodes;
    const unready = [...waiting.map(({ one }) => one), ...(served ? [] : [database])];
    if (unchanged && unready.every((one) => one?.state === "missing" || one?.state === "stopped")) return seen.nodes;
    if (unready.some((one) => one?.state !== "unknown")) answeredAt = elapsed;
    if (elapsed - answeredAt >= UNANSWERED_MS) throw stalledTarget();
    if (served && !databaseServed) began = elapsed;
    databaseServed ||= served;
    const limitMs = served || database?.state === "unknown" ? NODE_MS : DATABASE_MS;
    const late = elapsed - began >= limitMs;
    if (!served && database !== undefined) {
      if (databaseState.kind === "failed" || late)
        throw await databaseFailed(session, database, databaseState, limitMs);
    } else {
      const failed = late ? waiting : waiting.filter(({ state }) => state.kind === "failed");
      if (failed.length > 0) throw await nodesFailed(session, failed);
    }
    await services.sleep(POLL_MS, signal);
  }
}

function stalledTarget(): InfraError {
  return new InfraError("INFRA_HOST_UNREACHABLE", `The target has not answered for ${UNANSWERED_MS / 1_000} s.`, {
    hint: "Wait until `cairn infra status` shows it again.",
  });
}

async function databaseFailed(
  session: Session,
  seen: ObservedPart,
  state: StartState,
  limitMs: number,
): Promise<InfraError> {
  const why = reasonOf(seen, state, limitMs);
  const full = await fullDisk(session, [seen.place], `PostgreSQL does not start: ${why}.`);
  if (full !== null) return full;
  const words = await lastWordsOf(session, { kind: "postgres" });
  return new StartFailure(
    `PostgreSQL does not start: ${why}.`,
    { nodes: null, answers: seen.state !== "unknown" },
    {
      hint: "Read its log with `cairn logs --postgres`, correct the cause, and run the same command again. It does not go back by itself: its data may be of the newer settings.",
      ...words,
    },
  );
}

interface FailedNode {
  readonly name: string;
  readonly one: ObservedNode | undefined;
  readonly state: StartState;
}

async function nodesFailed(session: Session, failed: readonly FailedNode[]): Promise<InfraError> {
  const names = failed.map(({ name }) => name);
  const [first] = failed;
  const answers = failed.some(({ one }) => one?.state !== "unknown");
  const part: StackPart = { kind: "node", name: first?.name ?? "" };
  const words = await lastWordsOf(session, part);
  const whys = new Set(failed.map(({ one, state }) => reasonOf(one, state, NODE_MS)));
  const who = names.length === 1 ? `The node ${names[0]} does not start` : `The nodes ${names.join(", ")} do not start`;
  const said = `${who}: ${[...whys].join("; ")}.`;
  const places = new Set(failed.flatMap(({ one }) => one?.place ?? []));
  const full = await fullDisk(session, [...places], said);
  if (full !== null) return full;
  return new StartFailure(
    said,
    { nodes: names, answers },
    {
      hint: `Read its log with \`cairn logs --node ${first?.name ?? ""}\`, correct the cause, and run the same command again.`,
      ...words,
    },
  );
}

/** No other configuration would mend it, and what would have written why found no room. */
async function fullDisk(
  { driver, run }: Session,
  places: readonly string[],
  consequence: string,
): Promise<InfraError | null> {
  const full = await driver.fullDisk?.(places, run.signal).catch(() => null);
  if (full == null) return null;
  return new InfraError("INFRA_DISK_FULL", `${full} ${consequence}`, {
    hint: "Make room there, then run the same command again: nothing that was made is lost.",
  });
}

/** Continues a sentence. */
function reasonOf(seen: Started | undefined, state: StartState, limitMs: number): string {
  if (state.kind === "failed") return state.why;
  if (seen?.state === "unknown") return "the target does not answer";
  const after = `it is not ready after ${limitMs / 1_000} s`;
  return seen?.reason ? `${after}, ${seen.reason}` : after;
}
