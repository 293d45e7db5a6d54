/**
 * `cairn test`: one pass through a running node, from end to end. Each step is independent: one that
 * fails, or takes too long, ends nothing but those that need its result.
 */

import type { Client, Health } from "../../runtime/client/index.ts";
import { CairnError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { SELF_TEST_SESSION } from "../../runtime/contracts/reading.ts";
import type { MissingSandbox } from "../service/sandbox.ts";
import { withDeadline } from "./deadline.ts";
import {
  answeredPart,
  askedPart,
  availablePart,
  type ChannelProblem,
  channelParts,
  fallbackPart,
  type Part,
  partsText,
  providersToAsk,
} from "./parts.ts";

export const STEPS = ["node", "store", "queue", "channel", "sandbox", "provider", "recall"] as const;
export type StepName = (typeof STEPS)[number];

export interface Step {
  readonly name: StepName;
  /** `warn`: the node does without it. */
  readonly status: "pass" | "warn" | "fail" | "skip";
  readonly message: string;
  /** What to do next, where it failed or warns. */
  readonly fix: string | null;
  /** Of the steps `channel` and `provider`: each channel, each provider. */
  readonly parts?: readonly Part[];
  readonly duration_ms: number;
}

export interface SelfTest {
  readonly schema: 1;
  readonly status: "pass" | "fail";
  readonly agent: string;
  /** Conversation of the test; its messages stay in the memory like all others. */
  readonly session: string | null;
  readonly steps: readonly Step[];
}

export interface SelfTestRequest {
  readonly client: Pick<Client, "health" | "ready" | "memoryTool" | "stream">;
  readonly agent: string;
  /** Without a call of the model: it costs nothing and writes nothing. */
  readonly quick: boolean;
  /** A word that is in no conversation yet. */
  readonly marker: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What keeps agents' commands from running here, null where nothing does; absent where the node is on another machine. */
  readonly sandbox?: (signal: AbortSignal) => Promise<MissingSandbox | null>;
  /** Which services of the channels are not well; absent where the node is on another machine. */
  readonly services?: (signal: AbortSignal) => Promise<readonly ChannelProblem[]>;
  readonly now?: () => number;
  readonly onStep?: (step: Step) => void;
}

/** Thrown by a step that has nothing to do. */
class Skipped extends Error {}

/** It runs: to start it would not help. */
function notReady({ memory, draining }: Health): RuntimeError {
  const isCut = memory["reachable"] === false;
  const why = isCut ? " It cannot reach its database." : draining ? " It drains." : "";
  return new RuntimeError("RUNTIME_NOT_READY", `The node runs, and accepts no messages now.${why}`, {
    hint: isCut ? "See `cairn doctor --only database`." : "See `cairn doctor`, and `cairn logs --level warn`.",
  });
}

/** Thrown by a step about something that a node can do without. */
class Warned extends Error {
  readonly fix: string;

  constructor({ problem, fix }: MissingSandbox) {
    super(`commands of agents are refused: ${problem}`);
    this.fix = fix;
  }
}

/** Thrown by a step some parts of which fail. */
class PartsFailed extends Error {
  readonly parts: readonly Part[];

  constructor(parts: readonly Part[]) {
    super(partsText(parts));
    this.parts = parts;
  }
}

interface Failed {
  readonly message: string;
  readonly fix: string;
}

/** Rejects only with the signal's reason. */
export async function selfTest(request: SelfTestRequest): Promise<SelfTest> {
  const { client, agent, quick, marker } = request;
  const steps: Step[] = [];
  const session = quick ? null : `${SELF_TEST_SESSION}${marker}`;
  let health: Health | null = null;

  const step = async (
    name: StepName,
    fix: string,
    work: (signal: AbortSignal) => Promise<string | Outcome>,
  ): Promise<boolean> => {
    const made = await runStep(request, name, fix, work);
    steps.push(made);
    request.onStep?.(made);
    return made.status === "pass";
  };

  const isUp = await step(
    "node",
    "Start it with `cairn start --detach`, or see `cairn logs --level error`.",
    async (own) => {
      health = await client.health({ signal: own });
      if (!(await client.ready({ signal: own }))) throw notReady(health);
      return `${health.node.name} ${health.version} is ${health.status}`;
    },
  );
  const needNode = (): void => {
    if (!isUp) throw new Skipped("the node does not answer");
  };

  await step("store", "See `cairn doctor --only database`.", async (own) => {
    needNode();
    const stats = await client.memoryTool<Stats>("memory_stats", {}, { signal: own });
    const { backend, schema_version: version } = stats.database;
    return `${backend}, schema ${version ?? "unknown"}, ${stats.messages.total} messages`;
  });

  await step("queue", "See `cairn memory queue-status`.", async (own) => {
    needNode();
    const { queues } = await client.memoryTool<Stats>("memory_stats", {}, { signal: own });
    const failed = queues.filter((queue) => queue.failed > 0);
    if (failed.length > 0) {
      throw new Error(failed.map((queue) => `${queue.queue} has ${queue.failed} dead jobs`).join("; "));
    }
    const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0);
    return `${queues.length} queues, ${waiting} jobs waiting, none dead`;
  });

  await step("channel", "See `cairn logs --grep channel`.", async (own) => {
    needNode();
    return checked(health === null ? [] : channelParts(health, (await request.services?.(own)) ?? []));
  });

  await step("sandbox", "See `cairn doctor --only system.sandbox`.", async (own) => {
    if (request.sandbox === undefined) throw new Skipped("the node is not on this machine");
    const missing = await request.sandbox(own);
    if (missing !== null) throw new Warned(missing);
    return "commands of agents can run";
  });

  let reply = "";
  await step("provider", "See `cairn provider`, and `cairn logs --level warn`.", async (own) => {
    needNode();
    if (health === null) throw new Skipped("the node does not answer");
    if (health.agents[agent] === undefined) throw new Error(`The node hosts no agent ${agent}.`);
    const parts: Part[] = [];
    for (const { id, agent: by } of providersToAsk(health, agent)) {
      // What stands behind others alone is in no turn of its own.
      if (session === null || by === null) {
        parts.push(availablePart(health, id));
        continue;
      }
      const message =
        by === agent ? { session, text: sentence(marker) } : { session: `${session}-${id}`, text: QUESTION };
      const part = await askedPart(id, by, request, own, async (limited) => {
        const before = await client.health({ signal: limited });
        const answer = await answeredPart(id, by, client.stream(by, message, { signal: limited }));
        if (by === agent) reply = answer.reply;
        if (answer.part.status === "fail") return answer.part;
        return fallbackPart(id, by, before, await client.health({ signal: limited })) ?? answer.part;
      });
      parts.push(part);
    }
    return checked(parts);
  });

  await step("recall", "See `cairn memory stats`, and `cairn logs --level warn`.", async (own) => {
    if (session === null) throw new Skipped("--quick writes nothing that could be found");
    if (reply === "") throw new Skipped("no message was sent that could be found");
    const page = await client.memoryTool<Page>("memory_search", { query: marker, limit: 5 }, { signal: own });
    const found = page.results.find(({ content }) => content.includes(marker));
    if (found === undefined) throw new Error("The message of this test was stored, and the search does not find it.");
    const kept = await client.memoryTool<Messages>(
      "memory_browse",
      { conversation_id: found.conversation_id, limit: 50 },
      { signal: own },
    );
    if (!kept.messages.some(({ role, content }) => role === "assistant" && content === reply)) {
      throw new Error("The reply is not in the transcript as it was sent.");
    }
    return "the message is found, the reply is in the transcript";
  });

  const status = steps.some((one) => one.status === "fail") ? "fail" : "pass";
  return { schema: 1, status, agent, session, steps };
}

interface Made {
  readonly message: string;
  readonly fix: string | null;
  readonly parts?: readonly Part[];
}

interface Stats {
  readonly messages: { readonly total: number };
  readonly queues: readonly { readonly queue: string; readonly waiting: number; readonly failed: number }[];
  readonly database: { readonly backend: string; readonly schema_version: number | null };
}

interface Page {
  readonly results: readonly { readonly content: string; readonly conversation_id: string | null }[];
}

interface Messages {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

const QUESTION = "This is a self-test of the service. Please answer with one short sentence.";

function sentence(marker: string): string {
  return `${QUESTION} The word of this test is ${marker}.`;
}

interface Outcome {
  readonly message: string;
  readonly parts: readonly Part[];
}

/** PartsFailed where one of them fails. */
function checked(parts: readonly Part[]): Outcome {
  if (parts.some(({ status }) => status === "fail")) throw new PartsFailed(parts);
  return { message: partsText(parts), parts };
}

async function runStep(
  { timeoutMs, signal, now = () => performance.now() }: SelfTestRequest,
  name: StepName,
  fix: string,
  work: (signal: AbortSignal) => Promise<string | Outcome>,
): Promise<Step> {
  const began = now();
  const made = (status: Step["status"], { message, fix, parts }: Made): Step => ({
    name,
    status,
    message,
    fix,
    ...(parts === undefined ? {} : { parts }),
    duration_ms: Math.round(now() - began),
  });
  try {
    // Each provider has a deadline of its own.
    const outcome = await (name === "provider" ? work(signal) : withDeadline(timeoutMs, signal, work));
    return made("pass", typeof outcome === "string" ? { message: outcome, fix: null } : { ...outcome, fix: null });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PartsFailed) {
      const first = error.parts.find(({ status }) => status === "fail");
      return made("fail", { message: error.message, fix: first?.fix ?? fix, parts: error.parts });
    }
    if (error instanceof Warned) return made("warn", error);
    if (error instanceof Skipped) return made("skip", { message: error.message, fix: null });
    return made("fail", failureOf(error, fix));
  }
}

function failureOf(error: unknown, fix: string): Failed {
  if (error instanceof CairnError) return { message: error.message, fix: error.details.hint ?? fix };
  return { message: error instanceof Error ? error.message : String(error), fix };
}
