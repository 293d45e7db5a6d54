/** The commands of a chat: answered at once, whatever is queued or running. */

import { createHash } from "node:crypto";
import { approvalCode } from "../../contracts/approvals.ts";
import type { CommandReply, CommandRequest } from "../../contracts/channel.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Memory } from "../../contracts/memory.ts";
import { hasModel, lacksModel } from "../../contracts/model-names.ts";
import type { NewId } from "../../contracts/ports.ts";
import type { Provider } from "../../contracts/provider.ts";
import type { SessionSettings } from "../../contracts/records.ts";
import type { SecurityLog } from "../../contracts/security-log.ts";
import { COMMAND_USAGE, type CommandLine, parseCommand } from "../../domain/command-line.ts";
import { isOffered, modelChain, parseModelRef } from "../../domain/model-ref.ts";
import { type ChannelRouting, routeToAgent } from "../../domain/routing.ts";
import { sessionKey } from "../../domain/session-key.ts";
import { timeWords } from "../../domain/time-window.ts";
import type { Commands } from "../api.ts";
import type { Approvals } from "../approvals.ts";
import type { Conversations, Session } from "../conversations.ts";
import type { Pairings } from "../pairings.ts";
import { type Agent, workspaceOf } from "./agents.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Inbox } from "./inbox.ts";
import { assertLength, type QueueLimits, tooManySteers } from "./message-limits.ts";
import type { TurnStore } from "./turn-store.ts";

export interface CommandsDeps {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly store: TurnStore;
  readonly inbox: Inbox;
  readonly dispatcher: Dispatcher;
  readonly memory: Pick<Required<Memory>, "loadSessionSettings" | "getSessionHistory">;
  readonly conversations: Conversations;
  readonly limits: QueueLimits;
  readonly newId: NewId;
  /** The bindings of a channel, for commands that name no agent. */
  readonly routing: (channel: string) => ChannelRouting;
  /** IANA name: of the times that are shown. */
  readonly timezone: string;
  readonly pairings: Pick<Pairings, "approve">;
  readonly approvals: Pick<Approvals, "inSession" | "decide">;
  readonly security: SecurityLog;
  /** Tells the other nodes to abort a turn that runs there. */
  announceAbort(turnId: string): Promise<void>;
  /** Tells them that a turn may go on. */
  announceAnswer(): Promise<void>;
  isDraining(): boolean;
}

interface Subject {
  readonly request: CommandRequest;
  readonly agent: Agent;
  readonly key: string;
  readonly session: Session;
}

/** Behind the last words may be what tools have answered. */
const LAST_ROWS = 10;
const LAST_BYTES = 100_000;
const LAST_LENGTH = 400;
const BACK = "/model default goes back to the configured one.";
/** Milliseconds that a provider has to list its models. */
const LIST_MS = 2_000;
/** What `/interrupt` puts ahead of the session's queue. */
const AHEAD = 1;
const UUID_DIGITS = 32;

export function createCommands(deps: CommandsDeps): Commands {
  const { agents, providers, store, inbox, dispatcher, memory, conversations, limits } = deps;
  const providerIds = new Set(providers.keys());

  /** True when a turn other than `except` was running or waiting; on this node it has ended when this resolves. */
  async function abort(key: string, except?: string): Promise<boolean> {
    const ended = await dispatcher.abortSession(key, except);
    const turnId = ended === null ? await store.requestAbort(key, except) : null;
    // One that ran here may have begun to wait in that very moment.
    const woken = turnId === null ? await store.waiting.stop(key, ended === null ? { except } : { only: ended }) : null;
    const elsewhere = turnId ?? woken;
    if (elsewhere !== null) await deps.announceAbort(elsewhere);
    if (woken !== null) {
      dispatcher.kick();
      await dispatcher.abortTurn(woken);
    }
    return (ended ?? elsewhere) !== null;
  }

  async function settingsOf(key: string): Promise<SessionSettings> {
    return (await memory.loadSessionSettings(key)) ?? {};
  }

  /** What was said last in the session's conversation, by either side. */
  async function lastWords(key: string) {
    const rows = await memory.getSessionHistory(key, { limit: LAST_ROWS, bytes: LAST_BYTES });
    const last = rows.findLast(
      ({ role, tool_name }) => tool_name === null && (role === "user" || role === "assistant"),
    );
    if (last === undefined) return null;
    return { role: last.role, text: last.content.slice(0, LAST_LENGTH).toWellFormed(), created_at: last.created_at };
  }

  function modelOf(agent: Agent, settings: SessionSettings): string {
    const { model } = settings;
    const [first] = modelChain(
      agent,
      model !== undefined && isOffered(model, providers) ? model : undefined,
      providerIds,
    );
    return `${first?.provider}:${first?.model ?? providers.get(first?.provider ?? "")?.getModel() ?? "default"}`;
  }

  async function interrupt({ request, key }: Subject, text: string): Promise<CommandReply> {
    if (deps.isDraining())
      throw new RuntimeError("RUNTIME_DRAINING", "The service is shutting down; try again in a moment.", {
        retryAfterS: 5,
      });
    // In line first: a crash between the two must not lose the text.
    const { address, agent, owner, externalId = deps.newId() } = request;
    const accepted = await inbox.accept({ address, agent, owner, externalId: `interrupt:${externalId}`, text }, AHEAD);
    // Where it comes again and has begun, what runs now is not what was to be interrupted.
    const isNext = accepted.fresh || (await store.standing(accepted.turnId)).isQueued;
    // The turn that ran may have ended meanwhile, and this one begun.
    const wasRunning = isNext && (await abort(key, accepted.turnId));
    dispatcher.kick();
    return {
      text: wasRunning ? "Interrupted; running your message now." : "Running your message now.",
      data: { turn_id: accepted.turnId, interrupted: wasRunning },
    };
  }

  async function steer({ key, request }: Subject, text: string): Promise<CommandReply> {
    const { running, waiting } = await store.session(key);
    const working = running ?? waiting;
    const most = request.owner ? null : deps.limits.maxSteersOfOthers;
    const id = request.externalId === undefined ? deps.newId() : steerId(key, request.externalId);
    const outcome = await store.steps.addSteer({ id, text }, working?.turnId ?? null, most);
    if (outcome === "full") throw tooManySteers(deps.limits);
    return outcome === "added"
      ? { text: "The agent will see it at its next step.", data: { turn_id: working?.turnId, steered: true } }
      : { text: "No turn is running: send it as a message.", data: { steered: false } };
  }

  async function answer({ key, request }: Subject, text: string): Promise<CommandReply> {
    const { agent, address, externalId: message } = request;
    const found = await store.waiting.inSession(key, message);
    if (found === null) return { text: "No turn waits for an answer.", data: { answered: false } };
    const { turnId, isOver } = found;
    if (isOver) {
      const data = { turn_id: turnId, answered: true };
      return { text: "The question was answered already, and its turn is over.", data };
    }
    const { question } = request;
    const asked = question === undefined ? {} : { questionId: question };
    await store.waiting.answer({ agent, turnId, text, by: address.user, message, ...asked });
    await deps.announceAnswer();
    dispatcher.kick();
    return { text: "The turn goes on with your answer.", data: { turn_id: turnId, answered: true } };
  }

  async function decide(
    { key, request }: Subject,
    line: CommandLine & { kind: "approve" | "deny" },
  ): Promise<CommandReply> {
    if (!request.owner) throw new RuntimeError("RUNTIME_FORBIDDEN", "Only the owner decides what an agent may do.");
    const isApproval = line.kind === "approve";
    const { externalId: message } = request;
    const waiting = line.id === null ? await deps.approvals.inSession(key, message) : { id: line.id, isNew: false };
    if (waiting === null) return { text: "Nothing waits for an approval here.", data: { answered: false } };
    if (isApproval && waiting.isNew) {
      throw new RuntimeError("RUNTIME_CONFLICT", "What waits here has come this very moment.", {
        hint: `Read it, then say which: /approve ${approvalCode(waiting.id)}`,
      });
    }
    const { channel, user } = request.address;
    const { tool, turn_id, decision, always } = await deps.approvals.decide({
      id: waiting.id,
      decision: isApproval ? "approved" : "denied",
      always: isApproval && line.always,
      by: { name: "owner", details: { channel, user }, message },
    });
    const words = always ? "approved, and the same call is not asked about again" : decision;
    return { text: `The call of ${tool} is ${words}.`, data: { turn_id, answered: true, decision, always } };
  }

  async function pair({ request }: Subject, code: string): Promise<CommandReply> {
    if (!request.owner) throw new RuntimeError("RUNTIME_FORBIDDEN", "Only the owner admits others.");
    const { channel, user, name } = await deps.pairings.approve(code);
    const { security } = deps;
    security.record({ event: "pairing.approved", outcome: "done", by: "owner", details: { channel, user, name } });
    return {
      text: `${name} (${user}) may write to the channel ${channel} from now on.`,
      data: { channel, user, name },
    };
  }

  async function status({ agent, key, request }: Subject): Promise<CommandReply> {
    const [{ running, waiting, queued }, settings, last] = await Promise.all([
      store.session(key),
      settingsOf(key),
      lastWords(key),
    ]);
    const model = modelOf(agent, settings);
    const thinking = settings.thinking ?? agent.thinking;
    const activity = running
      ? `A turn is running since ${timeWords(running.startedAt, deps.timezone)}.`
      : waiting
        ? waiting.approval
          ? "A turn waits for your approval (/approve or /deny)."
          : "A turn waits for your answer (/answer TEXT)."
        : "No turn is running.";
    return {
      text: `Agent ${agent.name}, model ${model}, thinking ${thinking}. ${activity} ${queued} queued.`,
      data: {
        agent: agent.name,
        session: request.address.conversation,
        model,
        thinking,
        reasoning: settings.reasoning === true,
        turn_id: running?.turnId ?? waiting?.turnId ?? null,
        waiting: waiting !== null,
        queued,
        last,
      },
    };
  }

  async function model({ agent, key, request, session }: Subject, wanted: string | null): Promise<CommandReply> {
    if (wanted === null) {
      const settings = await settingsOf(key);
      const current = modelOf(agent, settings);
      const chosen = settings.model === current ? ` ${BACK}` : "";
      return { text: `The model is ${current}.${chosen}`, data: { model: current } };
    }
    if (!request.owner)
      throw new RuntimeError(
        "RUNTIME_FORBIDDEN",
        "Only the owner chooses the model; /model alone says which one it is.",
      );
    let doubt: string | null = null;
    if (wanted === "default") {
      await conversations.changeSettings(session, ({ model: _model, ...rest }) => rest);
    } else {
      const ref = parseModelRef(wanted, providerIds, agent.provider);
      if (!ref.model) throw misused("model");
      assertOffered(`${ref.provider}:${ref.model}`, wanted);
      doubt = await unlisted(ref.provider, ref.model);
      await conversations.changeSettings(session, (settings) => ({
        ...settings,
        model: `${ref.provider}:${ref.model}`,
      }));
    }
    const current = modelOf(agent, await settingsOf(key));
    const more = [...(doubt === null ? [] : [doubt]), ...(wanted === "default" ? [] : [BACK])];
    return { text: [`The model is now ${current}.`, ...more].join(" "), data: { model: current } };
  }

  /**
   * What there is to say of a model that its provider does not list; RUNTIME_INVALID_REQUEST where that provider cannot have it.
   * Null where the list has it, or cannot be read now.
   */
  async function unlisted(provider: string, model: string): Promise<string | null> {
    const asked = providers.get(provider)?.listModels?.(AbortSignal.timeout(LIST_MS));
    const listed = (await asked?.catch(() => null)) ?? null;
    if (listed === null || hasModel(listed.names, model)) return null;
    const words = lacksModel(provider, listed.names, model);
    if (listed.complete) throw new RuntimeError("RUNTIME_INVALID_REQUEST", words, { hint: BACK });
    return words;
  }

  /** A provider's name alone is no model, and some providers have no models to choose from. */
  function assertOffered(override: string, wanted: string): void {
    const hint = `Providers: ${[...providerIds].join(", ")}. Choose one with /model PROVIDER:NAME; /model default goes back.`;
    if (providerIds.has(wanted)) {
      throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${wanted} is a provider, and no model.`, { hint });
    }
    if (isOffered(override, providers)) return;
    const [provider = ""] = override.split(":");
    const models = providers.get(provider)?.models?.join(", ") ?? "";
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `The provider ${provider} has only the model ${models}.`, {
      hint,
    });
  }

  async function run(subject: Subject, line: CommandLine): Promise<CommandReply> {
    const { agent, key } = subject;
    switch (line.kind) {
      case "stop": {
        const wasRunning = await abort(key);
        return { text: wasRunning ? "Stopped." : "No turn is running.", data: { stopped: wasRunning } };
      }
      case "new": {
        const wasRunning = await abort(key);
        const closed = await conversations.close(subject.session, "new");
        return {
          text: "A new conversation begins; the transcript is kept.",
          data: { stopped: wasRunning, closed_conversation_id: closed },
        };
      }
      case "interrupt":
        return interrupt(subject, line.text);
      case "steer":
        return steer(subject, line.text);
      case "answer":
        return answer(subject, line.text);
      case "approve":
      case "deny":
        return decide(subject, line);
      case "status":
        return status(subject);
      case "pair":
        return pair(subject, line.text);
      case "model":
        return model(subject, line.model);
      case "think": {
        const { level } = line;
        if (level !== null)
          await conversations.changeSettings(subject.session, (settings) => ({
            ...settings,
            thinking: level,
          }));
        const current = level ?? (await settingsOf(key)).thinking ?? agent.thinking;
        return {
          text: level === null ? `The thinking level is ${current}.` : `The thinking level is now ${current}.`,
          data: { thinking: current },
        };
      }
      case "reasoning": {
        const { on } = line;
        if (on !== null)
          await conversations.changeSettings(subject.session, (settings) => ({
            ...settings,
            reasoning: on,
          }));
        const current = on ?? (await settingsOf(key)).reasoning === true;
        return { text: `Reasoning is ${current ? "shown" : "hidden"}.`, data: { reasoning: current } };
      }
      case "misused":
        throw misused(line.name);
      case "unknown":
        throw new RuntimeError("RUNTIME_COMMAND_UNKNOWN", `There is no command "/${line.name}".`, {
          hint: `Commands: ${Object.keys(COMMAND_USAGE)
            .map((name) => `/${name}`)
            .join(", ")}; \`cairn chat\` itself has /help and /exit.`,
        });
    }
  }

  return {
    async run(given) {
      const { channel, conversation } = given.address;
      const request = { ...given, agent: given.agent || routeToAgent(deps.routing(channel), conversation) };
      const agent = agents.get(request.agent);
      if (!agent)
        throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", `There is no agent "${request.agent}".`, {
          hint: `Agents: ${[...agents.keys()].join(", ")}.`,
        });
      assertLength(request.line, request.owner, limits);
      const key = sessionKey({ agent: request.agent, ...request.address });
      const { owner, address } = request;
      const session = { key, owner, workspace: workspaceOf(agent, { ...address, owner }) };
      return run({ request, agent, key, session }, parseCommand(request.line));
    },
  };
}

/** The same whenever the command comes again. */
function steerId(key: string, externalId: string): string {
  const hash = createHash("sha256").update(JSON.stringify([key, externalId]));
  return hash.digest("hex").slice(0, UUID_DIGITS);
}

function misused(name: keyof typeof COMMAND_USAGE): RuntimeError {
  return new RuntimeError("RUNTIME_INVALID_REQUEST", `Usage: ${COMMAND_USAGE[name]}`);
}
