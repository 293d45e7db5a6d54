/** Runs one claimed turn from its message to its end: prompt, history and context, the agent loop, the reply. */

import { type CairnError, RuntimeError, toCairnError } from "../../contracts/errors.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Memory } from "../../contracts/memory.ts";
import type { ContentPart, Message } from "../../contracts/message.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { ChatOptions } from "../../contracts/provider.ts";
import type { SessionSettings } from "../../contracts/records.ts";
import type { StreamEvent, TurnResult } from "../../contracts/stream.ts";
import { fitHistory, toMessages } from "../../domain/history.ts";
import { modelChain } from "../../domain/model-ref.ts";
import type { AttachmentStore } from "../attachments.ts";
import type { HookPipeline } from "../hooks.ts";
import type { Writer } from "../transcript/writer.ts";
import { type LoopEnd, LoopProgress, runAgentLoop } from "./agent-loop.ts";
import type { Agent, TurnLimits } from "./agents.ts";
import type { ModelCaller } from "./model-caller.ts";
import type { PromptBuilder } from "./prompt.ts";
import { runToolCalls } from "./tool-calls.ts";
import type { ToolRunner } from "./tool-runner.ts";
import { TurnJournal } from "./turn-journal.ts";
import type { ClaimedTurn, StoredStep, TurnEnd, TurnStore } from "./turn-store.ts";

export interface TurnRunnerDeps {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly providerIds: ReadonlySet<string>;
  readonly store: TurnStore;
  readonly writer: Writer;
  readonly memory: Memory;
  readonly attachments: AttachmentStore;
  readonly prompts: PromptBuilder;
  readonly callModel: ModelCaller;
  readonly toolRunner: ToolRunner;
  readonly hooks: HookPipeline;
  readonly limits: TurnLimits;
  readonly countTokens: (text: string) => number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A turn has ended and its reply stands in the outbox. */
  onEnded(): void;
}

export interface TurnSignals {
  /** /stop, the deadline, shutdown and a lost lease: ends the work. Its reason is a RuntimeError. */
  readonly abort: AbortSignal;
  /** A lost lease alone: ends the writing too. */
  readonly lease: AbortSignal;
}

export type TurnRunner = (turn: ClaimedTurn, signals: TurnSignals, emit: (event: StreamEvent) => void) => Promise<void>;

/** History rows read for a prompt; what does not fit into the window is left out afterwards. */
const HISTORY_ROWS = 1_000;
const RESUMED = "This turn was interrupted and has been resumed.";

export function createTurnRunner(deps: TurnRunnerDeps): TurnRunner {
  const { store, writer, memory, hooks, limits, logger } = deps;

  return async (turn, signals, emit) => {
    const journal = new TurnJournal({ turn, store, writer, lease: signals.lease });
    const progress = new LoopProgress();
    const resumed = turn.attempt > 1;
    emit({
      type: "turn.started",
      turn_id: turn.turnId,
      session: turn.conversation,
      agent: turn.agent,
      attempt: turn.attempt,
    });
    try {
      await work();
    } catch (error) {
      await conclude(toCairnError(error));
    }

    async function work(): Promise<void> {
      const agent = deps.agents.get(turn.agent);
      if (!agent) throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", `There is no agent "${turn.agent}".`);
      const { conversationId, created } = await journal.open();
      const { agent: name, sessionKey, user, owner, turnId } = turn;
      const info: TurnInfo = {
        turnId,
        agent: name,
        sessionKey,
        conversationId,
        user,
        owner,
        workspace: agent.workspace,
      };
      if (created) await hooks.run("session:start", { agent: name, sessionKey, conversationId });
      const steps = resumed ? await journal.steps() : [];
      if (turn.attempt - 1 - turn.checkpoints > 1) throw await givenUp(steps);

      const before = await hooks.run("turn:before", { ...info, text: turn.text }, signals.abort);
      const [settings, base, system] = await Promise.all([
        memory.loadSessionSettings?.(sessionKey),
        history(before.text, agent),
        deps.prompts.build(name, agent.workspace, dateIn(limits.timezone, deps.clock.now())),
      ]);
      const context = await retrieve(before.text, agent, base.ids);
      const options = chatOptions(agent, settings ?? {}, system, context);
      const chain = modelChain(agent, settings?.model, deps.providerIds);
      const toolDeps = {
        runner: deps.toolRunner,
        journal,
        tools: agent.tools,
        context: info,
        signal: signals.abort,
        emit,
      };

      await runAgentLoop(
        {
          ask: async (messages, say) => {
            const fitted = await fit(info, messages, agent, system.length + context.length);
            return deps.callModel({
              turn: info,
              chain,
              messages: fitted,
              options,
              signal: signals.abort,
              onText: say,
              onReasoning: (text) =>
                settings?.reasoning === true && emit({ type: "reasoning.delta", turn_id: turnId, text }),
            });
          },
          runTools: (calls, step, firstStep) => runToolCalls(toolDeps, calls, step, firstStep),
          takeSteers: () => journal.waitingSteers(),
          recordReply: (n, reply) => journal.reply(n, reply),
          recordSteer: (n, steer) => journal.steer(n, steer),
          recordUnknown: (n, step, call, result) => journal.result(n, step, call, "unknown", result),
          finish: (end) => succeed(info, end),
          emitText: (text) => emit({ type: "text.delta", turn_id: turnId, text }),
        },
        base.messages,
        steps,
        limits.maxToolIterations,
        signals.abort,
        progress,
      );
    }

    /** The session's messages up to this turn's own, which is the last; the turn's later rows come from its steps. */
    async function history(
      text: string,
      agent: Agent,
    ): Promise<{ messages: readonly Message[]; ids: ReadonlySet<string> }> {
      const entries = await memory.getSessionHistory(turn.sessionKey, { limit: HISTORY_ROWS });
      const earlier = entries.filter(
        (entry) => entry.metadata.turn_id !== turn.turnId || entry.metadata.imported === true,
      );
      const { messages } = fitHistory(
        toMessages(earlier),
        Math.max(1_000, agent.contextWindow - agent.maxTokens),
        deps.countTokens,
      );
      const content = await userContent(text);
      return { messages: [...messages, { role: "user", content }], ids: new Set(entries.map((entry) => entry.id)) };
    }

    async function userContent(text: string): Promise<Message["content"]> {
      if (turn.attachments.length === 0) return text;
      const parts = await Promise.all(
        turn.attachments.map(async (ref): Promise<ContentPart> => {
          const data = await deps.attachments.load(ref);
          if (data && ref.media_type.startsWith("image/"))
            return { type: "image", mediaType: ref.media_type, data: data.toString("base64") };
          if (data && ref.media_type.startsWith("text/"))
            return { type: "text", text: `[attachment ${ref.name}]\n${data.toString("utf8")}` };
          return { type: "text", text: `[attachment ${ref.name}, ${ref.media_type}, ${ref.size} bytes]` };
        }),
      );
      return [...(text === "" ? [] : [{ type: "text" as const, text }]), ...parts];
    }

    /** Retrieval helps, it is not needed: a turn is answered without it when memory cannot be searched just now. */
    async function retrieve(text: string, agent: Agent, held: ReadonlySet<string>): Promise<string> {
      const now = `The time is ${deps.clock.now().toISOString().slice(0, 16)}Z.`;
      if (text.trim() === "") return now;
      try {
        const found = await memory.getContextForTurn(text, agent.name, {
          maxTokens: limits.contextTokens,
          visibility: turn.owner ? { all: true } : { channel: turn.channel, user: turn.user },
          exclude: held,
          signal: signals.abort,
        });
        return found === "" ? now : `${now}\n\n${found}`;
      } catch (error) {
        if (signals.abort.aborted) throw error;
        logger.warn({ err: error, turnId: turn.turnId }, "no context could be retrieved for a turn");
        return now;
      }
    }

    async function fit(
      info: TurnInfo,
      messages: readonly Message[],
      agent: Agent,
      promptCharacters: number,
    ): Promise<readonly Message[]> {
      const limit = Math.max(1_000, agent.contextWindow - agent.maxTokens - Math.ceil(promptCharacters / 3));
      const fitted = fitHistory(messages, limit, deps.countTokens);
      if (fitted.messages === messages) return messages;
      await hooks.run("compact:before", { ...info, messages, tokens: fitted.tokens, limit }, signals.abort);
      await hooks.run("compact:after", { ...info, dropped: fitted.dropped, tokens: fitted.tokens }, signals.abort);
      return fitted.messages;
    }

    function chatOptions(agent: Agent, settings: SessionSettings, system: string, context: string): ChatOptions {
      return {
        system,
        context,
        tools: [...agent.tools.values()].map(({ name, description, parameters }) => ({
          name,
          description,
          parameters,
        })),
        thinking: settings.thinking ?? agent.thinking,
        maxTokens: agent.maxTokens,
        ...(agent.temperature === undefined ? {} : { temperature: agent.temperature }),
        caller: {
          agent: agent.name,
          sessionKey: turn.sessionKey,
          user: turn.user,
          channel: turn.channel,
          owner: turn.owner,
        },
      };
    }

    async function succeed(info: TurnInfo, end: LoopEnd): Promise<boolean> {
      const notices = [
        ...(resumed ? [RESUMED] : []),
        ...(end.capped ? [`Stopped after ${limits.maxToolIterations} tool iterations.`] : []),
        ...(end.stopReason === "length" ? ["The reply was cut at the model's output limit."] : []),
      ];
      const interrupted = resumed || end.capped;
      const after = await hooks.run(
        "turn:after",
        { ...info, text: turn.text, reply: end.text, interrupted },
        signals.abort,
      );
      // A hook that changes the reply changes what is stored and sent; what was streamed cannot be taken back.
      const changed = after.reply !== end.text;
      const ended = await finish(
        {
          state: "done",
          reply: after.reply,
          usage: end.usage,
          interrupted,
          notice: notices.join(" ") || null,
          error: null,
        },
        changed ? { ...end.last, text: after.reply } : end.last,
      );
      if (ended) void hooks.run("turn:reflect", { ...info, messages: [], reply: after.reply });
      return ended;
    }

    async function finish(
      end: TurnEnd,
      last: { n: number; text: string; model?: string },
      cut = false,
    ): Promise<boolean> {
      const ended = await journal.finish(end, { ...last, cut });
      if (ended) {
        emit(finalEvent(turn, end));
        deps.onEnded();
      }
      return ended;
    }

    /** A turn that did not get to its reply: what was said stays, and why it ended is told. */
    async function conclude(error: CairnError): Promise<void> {
      const reason = signals.abort.aborted ? toCairnError(signals.abort.reason) : error;
      if (reason.code === "RUNTIME_LEASE_LOST" || signals.lease.aborted) {
        logger.warn({ turnId: turn.turnId, epoch: turn.epoch }, "a turn was given up: its lease has ended");
        return;
      }
      try {
        if (reason.code === "RUNTIME_DRAINING") {
          await journal.checkpoint();
          emit({
            type: "turn.failed",
            turn_id: turn.turnId,
            session: turn.conversation,
            error: interruptedByShutdown(turn.turnId).toBody(),
          });
          return;
        }
        const stopped = reason.code === "RUNTIME_TURN_ABORTED";
        if (!stopped)
          logger.error(
            { err: reason, cause: reason.details.cause, turnId: turn.turnId, code: reason.code },
            "a turn failed",
          );
        const end: TurnEnd = {
          state: stopped ? "aborted" : "failed",
          reply: progress.text,
          usage: progress.usage,
          interrupted: true,
          notice: stopped ? reason.message : null,
          error: stopped ? null : { ...reason.toBody(), turn_id: turn.turnId },
        };
        await finish(end, { n: progress.nextStep, text: progress.partial }, true);
      } catch (failure) {
        // The row stays as it is: the next claim resumes it.
        logger.error({ err: failure, turnId: turn.turnId }, "the end of a turn could not be stored");
      }
    }

    function givenUp(steps: readonly StoredStep[]): CairnError {
      progress.text = steps
        .flatMap((step) => (step.kind === "reply" && step.reply.text !== "" ? [step.reply.text] : []))
        .join("\n\n");
      progress.nextStep = Math.max(0, ...steps.map((step) => step.n)) + 1;
      return new RuntimeError("RUNTIME_TURN_INTERRUPTED", "The turn was interrupted twice and was given up.", {
        hint: "Send the message again.",
      });
    }
  };
}

/** How a turn that has ended is told: to the stream as it ends, and later from its row. */
export function finalEvent(
  turn: Pick<ClaimedTurn, "turnId" | "conversation">,
  end: TurnEnd,
): StreamEvent & { type: "turn.finished" | "turn.failed" } {
  if (end.error) return { type: "turn.failed", turn_id: turn.turnId, session: turn.conversation, error: end.error };
  const result: TurnResult = {
    turn_id: turn.turnId,
    session: turn.conversation,
    text: end.reply,
    usage: end.usage,
    interrupted: end.interrupted,
    ...(end.notice === null ? {} : { notice: end.notice }),
  };
  return { type: "turn.finished", ...result };
}

function interruptedByShutdown(turnId: string): RuntimeError {
  return new RuntimeError(
    "RUNTIME_TURN_INTERRUPTED",
    "The service is shutting down; the turn goes on after its restart.",
    { turnId, retryAfterS: 5 },
  );
}

/** YYYY-MM-DD of an instant in a timezone. */
function dateIn(timezone: string, instant: Date): string {
  return new Intl.DateTimeFormat("en-CA", {
    timeZone: timezone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).format(instant);
}
