/**
 * What a turn shows to the model: the stable head (workspace files, tools), the session's messages, the user's message,
 * and what memory finds for it, fenced, which is never stored.
 */

import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Memory } from "../../contracts/memory.ts";
import type { ContentPart, Message } from "../../contracts/message.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { ChatOptions, ThinkingLevel, ToolDefinition } from "../../contracts/provider.ts";
import type { SessionSettings } from "../../contracts/records.ts";
import { bytesOf, fitHistory, toMessages } from "../../domain/history.ts";
import { isOffered, type ModelOffers, type ModelRef, modelChain } from "../../domain/model-ref.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import type { HookPipeline } from "../hooks.ts";
import type { Agent, TurnLimits } from "./agents.ts";
import type { PromptBuilder } from "./prompt.ts";
import type { ClaimedTurn } from "./turn-rows.ts";

export interface TurnPromptDeps {
  readonly providers: ModelOffers;
  readonly memory: Memory;
  readonly attachments: Pick<AttachmentStore, "load">;
  readonly prompts: PromptBuilder;
  readonly hooks: HookPipeline;
  readonly limits: TurnLimits;
  readonly countTokens: (text: string) => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TurnPrompt {
  /** The session so far; the user's message of this turn is the last. */
  readonly messages: readonly Message[];
  readonly options: ChatOptions;
  readonly chain: readonly ModelRef[];
  /** The model that the session was given and that is not there any more; null where the chain begins with what was chosen. */
  readonly modelGone: string | null;
  readonly showReasoning: boolean;
  /** The newest of the messages, as many as the model's window holds beside the rest of the prompt. */
  fit(messages: readonly Message[]): Promise<readonly Message[]>;
}

/** History rows read for a prompt; what does not fit into the window is left out afterwards. */
const HISTORY_ROWS = 1_000;
/** Of these rows, for each token of the window: twice what prose needs, so that dropping goes in steps and few rows are read in vain. */
const HISTORY_BYTES_PER_TOKEN = 8;
/** However small the configured window is: less than this is no conversation. */
const LEAST_WINDOW = 1_000;
/** Room that thinking takes beside the reply, about as much as providers are allowed to spend on it. */
const THINKING_TOKENS: Readonly<Record<ThinkingLevel, number>> = { off: 0, low: 2_048, medium: 8_192, high: 24_576 };

/** What another user's client brings along as words of the system must not become part of the service's. */
function withoutSystemRole<Row extends { readonly role: string; readonly content: string }>(row: Row): Row {
  return row.role === "system"
    ? { ...row, role: "user", content: `[A note of the user's client] ${row.content}` }
    : row;
}

export async function assemblePrompt(
  deps: TurnPromptDeps,
  turn: ClaimedTurn,
  agent: Agent,
  tools: ReadonlyMap<string, ToolDefinition>,
  info: TurnInfo,
  text: string,
  signal: AbortSignal,
): Promise<TurnPrompt> {
  const { memory, limits, clock } = deps;
  const [settings, history, content, system] = await Promise.all([
    sessionSettings(memory, turn.sessionKey),
    memory.getSessionHistory(turn.sessionKey, {
      limit: HISTORY_ROWS,
      bytes: agent.contextWindow * HISTORY_BYTES_PER_TOKEN,
    }),
    userContent(deps, turn, text),
    deps.prompts.build(
      agent.name,
      agent.workspace,
      dateIn(limits.timezone, clock.now()),
      turn.owner ? "owner" : "others",
    ),
  ]);
  // The turn's own later rows come from its steps, with what the provider must get back.
  const earlier = history.filter((row) => row.metadata.turn_id !== turn.turnId || row.metadata.imported === true);
  const retrieved = await retrieve(deps, turn, agent, text, new Set(history.map((row) => row.id)), signal);

  const context = `The time is ${clock.now().toISOString().slice(0, 16)}Z.`;

  const modelGone = settings.model !== undefined && !isOffered(settings.model, deps.providers) ? settings.model : null;
  const thinking = settings.thinking ?? agent.thinking;
  // Half of a small window at most, so that there is always a conversation.
  const reserve = Math.min(agent.replyTokens + THINKING_TOKENS[thinking], agent.contextWindow / 2);

  /** Messages left out when the hooks ran last: the same cut is made again before every reply of the turn. */
  let reported: number | null = null;

  return {
    messages: [...toMessages(turn.owner ? earlier : earlier.map(withoutSystemRole)), { role: "user", content }],
    options: chatOptions(turn, agent, tools, thinking, { system, context, retrieved }),
    chain: modelChain(agent, modelGone === null ? settings.model : undefined, new Set(deps.providers.keys())),
    modelGone,
    showReasoning: settings.reasoning === true,
    async fit(messages) {
      const room = (promptTokens: number) => Math.max(LEAST_WINDOW, agent.contextWindow - reserve - promptTokens);
      // A token is at least one byte: most conversations fit by that bound, and nothing need be counted.
      const bound = room(byteLength(system) + byteLength(context) + byteLength(retrieved));
      if (bytesOf(messages) <= bound) return messages;
      const limit = room(deps.countTokens(system) + deps.countTokens(context) + deps.countTokens(retrieved));
      const fitted = fitHistory(messages, limit, deps.countTokens);
      if (fitted.messages === messages || fitted.dropped === reported) return fitted.messages;
      reported = fitted.dropped;
      await deps.hooks.run("compact:before", { ...info, messages, tokens: fitted.tokens, limit }, signal);
      await deps.hooks.run("compact:after", { ...info, dropped: fitted.dropped, tokens: fitted.tokens }, signal);
      return fitted.messages;
    },
  };
}

async function sessionSettings(memory: Memory, sessionKey: string): Promise<SessionSettings> {
  return (await memory.loadSessionSettings?.(sessionKey)) ?? {};
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/** YYYY-MM-DD of an instant in a timezone. */
function dateIn(timezone: string, instant: Date): string {
  // Making a format costs far more than using it, and this one can be read off.
  if (timezone === "UTC") return instant.toISOString().slice(0, 10);
  const format = { timeZone: timezone, year: "numeric", month: "2-digit", day: "2-digit" } as const;
  return new Intl.DateTimeFormat("en-CA", format).format(instant);
}

async function userContent(
  { attachments, logger }: TurnPromptDeps,
  turn: ClaimedTurn,
  text: string,
): Promise<Message["content"]> {
  if (turn.attachments.length === 0) return text;
  const parts = await Promise.all(
    turn.attachments.map(async (ref): Promise<ContentPart> => {
      const data = await attachments.load(ref, turn.turnId);
      if (data && ref.media_type.startsWith("image/")) {
        return { type: "image", mediaType: ref.media_type, data: data.toString("base64") };
      }
      if (data === null) {
        logger.warn(
          { turnId: turn.turnId, sha256: ref.sha256 },
          "an attachment of a message is neither in the store nor on this node",
        );
      }
      const gone = data === null ? "; its content cannot be shown: it is not stored any more" : "";
      const head = `[attachment ${ref.name}, ${ref.media_type}, ${ref.size} bytes${gone}]`;
      const body = data && ref.media_type.startsWith("text/") ? `\n${data.toString("utf8")}` : "";
      return { type: "text", text: head + body };
    }),
  );
  return [...(text === "" ? [] : [{ type: "text" as const, text }]), ...parts];
}

/** Retrieval helps, it is not needed: a turn is answered without it when memory cannot be searched just now. */
async function retrieve(
  deps: TurnPromptDeps,
  turn: ClaimedTurn,
  agent: Agent,
  text: string,
  held: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string> {
  if (text.trim() === "") return "";
  try {
    return await deps.memory.getContextForTurn(text, agent.name, {
      maxTokens: deps.limits.contextTokens,
      visibility: turn.owner ? { all: true } : { channel: turn.channel, user: turn.user },
      exclude: held,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    deps.logger.warn({ err: error, turnId: turn.turnId }, "no context could be retrieved for a turn");
    return "";
  }
}

function chatOptions(
  turn: ClaimedTurn,
  agent: Agent,
  tools: ReadonlyMap<string, ToolDefinition>,
  thinking: ThinkingLevel,
  texts: { readonly system: string; readonly context: string; readonly retrieved: string },
): ChatOptions {
  const { sessionKey, user, channel, owner } = turn;
  return {
    ...texts,
    tools: [...tools.values()].map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
    thinking,
    ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
    caller: { agent: agent.name, sessionKey, user, channel, owner },
  };
}
