/**
 * What a turn shows to the model: the stable head (workspace files, tools), the session's messages, the user's message,
 * and what memory finds for it, fenced, which is never stored.
 */

import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Memory } from "../../contracts/memory.ts";
import type { ContentPart, Message } from "../../contracts/message.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { ChatOptions, Provider, ThinkingLevel, ToolDefinition } from "../../contracts/provider.ts";
import type { SessionSettings } from "../../contracts/records.ts";
import { exchangesOf } from "../../domain/history.ts";
import { isOffered, type ModelRef, modelChain } from "../../domain/model-ref.ts";
import { type ModelWindow, roomForMessages, USUAL_WINDOW } from "../../domain/model-window.ts";
import { endsBefore } from "../../domain/prompt-summary.ts";
import { todoPrompt } from "../../domain/todo-list.ts";
import type { CountedCall } from "../../domain/usage.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import type { HookPipeline } from "../hooks.ts";
import type { SkillUse } from "../skills/skill-use.ts";
import type { Agent, TurnLimits } from "./agents.ts";
import type { CallWindows, ModelCaller } from "./model-caller.ts";
import { modelOfAgent } from "./model-of-agent.ts";
import type { PromptBuilder } from "./prompt.ts";
import { PromptWindows } from "./prompt-windows.ts";
import type { WeighTools } from "./tool-weights.ts";
import type { TurnCompaction } from "./turn-compaction.ts";
import type { ClaimedTurn } from "./turn-rows.ts";

export interface TurnPromptDeps {
  readonly providers: ReadonlyMap<string, Provider>;
  /** By provider; of others the usual one. */
  readonly windows: ReadonlyMap<string, ModelWindow>;
  readonly weighTools: WeighTools;
  readonly memory: Memory;
  readonly attachments: Pick<AttachmentStore, "load">;
  readonly prompts: PromptBuilder;
  readonly skills: Pick<SkillUse, "prompt">;
  readonly hooks: HookPipeline;
  readonly compaction: TurnCompaction;
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
  /** What a model's window holds beside the rest of the prompt: a summary of the oldest messages where they are too long, and the others. */
  readonly windows: CallWindows;
  /** Whether messages were left out without a summary. */
  leftOut(): boolean;
}

/** How the agent's own model is asked for a summary, and where the calls are counted. */
export interface SummaryCalls {
  readonly callModel: ModelCaller;
  onAnswered(call: CountedCall): void;
}

/** History rows read for a prompt; what does not fit into the window is left out afterwards. */
const HISTORY_ROWS = 1_000;
/** Of these rows, for each token of the window: twice what prose needs, so that dropping goes in steps and few rows are read in vain. */
const HISTORY_BYTES_PER_TOKEN = 8;

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
  calls: SummaryCalls,
): Promise<TurnPrompt> {
  const { memory, limits, clock } = deps;
  const windowOf = (provider: string) => deps.windows.get(provider) ?? USUAL_WINDOW;
  const chainWith = (override?: string) => modelChain(agent, override, new Set(deps.providers.keys()));
  const largest = (refs: readonly ModelRef[]) =>
    Math.max(...refs.map(({ provider }) => windowOf(provider).contextTokens));
  const historyFor = (refs: readonly ModelRef[]) =>
    memory.getSessionHistory(turn.sessionKey, {
      limit: HISTORY_ROWS,
      bytes: largest(refs) * HISTORY_BYTES_PER_TOKEN,
    });
  const usual = chainWith();
  const [settings, read, content, files, skills] = await Promise.all([
    sessionSettings(memory, turn.sessionKey),
    historyFor(usual),
    userContent(deps, turn, text),
    deps.prompts.build(
      agent.name,
      agent.workspace,
      dateIn(limits.timezone, clock.now()),
      turn.owner ? "owner" : "others",
    ),
    // They come and go with the tool that reads them.
    tools.has("skill_list") ? deps.skills.prompt(text, info, signal) : { list: "", triggered: "" },
  ]);
  const modelGone = settings.model !== undefined && !isOffered(settings.model, deps.providers) ? settings.model : null;
  const chain = chainWith(modelGone === null ? settings.model : undefined);
  const history = largest(chain) > largest(usual) ? await historyFor(chain) : read;
  const system = [files, skills.list].filter((part) => part !== "").join("\n\n");
  // The turn's own later rows come from its steps, with what the provider must get back.
  const earlier = history.filter((row) => row.metadata.turn_id !== turn.turnId || row.metadata.imported === true);
  const found = await retrieve(deps, turn, agent, text, new Set(history.map((row) => row.id)), signal);
  const todo = tools.has("todo") ? todoPrompt(settings.todo) : "";
  const retrieved = [skills.triggered, todo, found].filter((part) => part !== "").join("\n\n");

  const context = `The time is ${clock.now().toISOString().slice(0, 16)}Z.`;

  const thinking = settings.thinking ?? agent.thinking;

  const exchanges = exchangesOf(turn.owner ? earlier : earlier.map(withoutSystemRole));
  const current: Message = { role: "user", content };
  const windows = new PromptWindows(deps, {
    turn: info,
    ends: endsBefore(exchanges, current),
    isWhole: history.length < HISTORY_ROWS,
    windowOf,
    room: (window, promptTokens) => roomForMessages(window, thinking, promptTokens),
    texts: [system, context, retrieved],
    tools: deps.weighTools(tools.values()),
    // Those before it have failed just now.
    own: (ref) => modelOfAgent(chain.slice(chain.indexOf(ref)), deps.providers, windowOf, { ...calls, turn: info }),
    onAnswered: calls.onAnswered,
    signal,
  });

  return {
    messages: [...exchanges.flatMap((exchange) => exchange.messages), current],
    options: chatOptions(turn, agent, tools, thinking, { system, context, retrieved }),
    chain,
    modelGone,
    showReasoning: settings.reasoning === true,
    windows,
    leftOut: () => windows.leftOut,
  };
}

async function sessionSettings(memory: Memory, sessionKey: string): Promise<SessionSettings> {
  return (await memory.loadSessionSettings?.(sessionKey)) ?? {};
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
