/** Runs one claimed turn from its message to its end: prompt, agent loop, reply. */

import { mkdir } from "node:fs/promises";
import type { Channel } from "../../contracts/channel.ts";
import { CairnError, RuntimeError, toCairnError } from "../../contracts/errors.ts";
import type { SessionInfo, TurnInfo } from "../../contracts/hooks.ts";
import type { NewId } from "../../contracts/ports.ts";
import type { StreamEvent } from "../../contracts/stream.ts";
import { fileLimits } from "../../domain/outgoing-file.ts";
import { createRepeatGuard } from "../../domain/repeated-calls.ts";
import { type Allowance, createAllowance } from "../../domain/task-allowance.ts";
import { type CountedCall, tokensOf } from "../../domain/usage.ts";
import type { Approvals, StandingCall } from "../approvals.ts";
import type { Conversations } from "../conversations.ts";
import type { AgentPlaces } from "../mesh/agent-places.ts";
import type { ToolRegistry } from "../tool-registry.ts";
import type { Writer } from "../transcript/writer.ts";
import type { Budgets, TurnBudget } from "../usage/budgets.ts";
import { LoopProgress, runAgentLoop } from "./agent-loop.ts";
import { type Agent, toolsOf, workspaceOf } from "./agents.ts";
import { createDelegation } from "./delegation.ts";
import { FileChanges } from "./file-changes.ts";
import type { CallWindows, ModelCaller } from "./model-caller.ts";
import { runToolCalls, TurnWaits } from "./tool-calls.ts";
import type { ToolRunner } from "./tool-runner.ts";
import { isTask } from "./turn-delegation.ts";
import type { ShownTurn, TurnDisplay } from "./turn-display.ts";
import {
  failedEnd,
  finalEvent,
  isOwnFault,
  recoverProgress,
  replied,
  shutdownEvent,
  stopped,
  tooManyCrashes,
  waitingEvent,
} from "./turn-end.ts";
import { TurnJournal } from "./turn-journal.ts";
import { assemblePrompt, type TurnPromptDeps } from "./turn-prompt.ts";
import type { ClaimedTurn, TurnEnd } from "./turn-rows.ts";
import type { TurnStore } from "./turn-store.ts";
import type { AskingCall } from "./turn-waiting.ts";

export interface TurnRunnerDeps extends TurnPromptDeps {
  readonly agents: ReadonlyMap<string, Agent>;
  /** Of the agents that its turns may hand tasks to. */
  readonly places: Pick<AgentPlaces, "find" | "names">;
  readonly tools: Pick<ToolRegistry, "snapshot">;
  readonly store: TurnStore;
  readonly writer: Writer;
  readonly conversations: Pick<Conversations, "close">;
  readonly callModel: ModelCaller;
  readonly budgets: Pick<Budgets, "of">;
  readonly toolRunner: ToolRunner;
  readonly display: TurnDisplay;
  readonly newId: NewId;
  /** What their platforms take. */
  readonly channels: ReadonlyMap<string, Pick<Channel, "maxFileBytes">>;
  /** A message of a turn beside its reply stands in the outbox. */
  onDelivered(): void;
  readonly approvals: Pick<Approvals, "isStanding" | "asked" | "expired">;
  /** Takes the service's own secrets out of what the owner is shown. */
  readonly redactValues: (text: string) => string;
  /** A turn has begun to wait, and its question stands in the outbox, or the turn that it waits for is in line. */
  onWaiting(): void;
  /** A turn has ended and its reply stands in the outbox; `durationS` counts from its claim. */
  onEnded(agent: string, state: TurnEnd["state"], durationS: number): void;
}

export interface TurnSignals {
  /** /stop, the deadline, shutdown and a lost lease: ends the work. Its reason is a RuntimeError. */
  readonly abort: AbortSignal;
  /** A lost lease alone: ends the writing too. */
  readonly lease: AbortSignal;
}

export type TurnRunner = (turn: ClaimedTurn, signals: TurnSignals, emit: (event: StreamEvent) => void) => Promise<void>;

/** Milliseconds that a turn that is to end early waits for a change of what is shown: /stop and drains are not held up by a platform. */
const ABORTED_MS = 2_000;

export function createTurnRunner(deps: TurnRunnerDeps): TurnRunner {
  return async (turn, signals, emit) => {
    const run = new TurnRun(deps, turn, signals, emit);
    try {
      await run.work();
    } catch (error) {
      const reason = error instanceof TurnWaits ? await run.wait(error.calls) : toCairnError(error);
      if (reason !== null) await run.conclude(reason);
    } finally {
      run.end();
    }
  };
}

class TurnRun {
  readonly #deps: TurnRunnerDeps;
  readonly #turn: ClaimedTurn;
  readonly #signals: TurnSignals;
  readonly #emit: (event: StreamEvent) => void;
  readonly #journal: TurnJournal;
  readonly #progress = new LoopProgress();
  readonly #shown: ShownTurn;
  readonly #budget: TurnBudget;
  readonly #startedAt: number;
  /** The user is to read that the oldest messages are left out: kept where a steer lets the turn go on. */
  #leftOut = false;
  /** What the user is to read of the agent's budget. */
  #budgetNotice: string | null = null;

  constructor(deps: TurnRunnerDeps, turn: ClaimedTurn, signals: TurnSignals, emit: (event: StreamEvent) => void) {
    this.#deps = deps;
    this.#turn = turn;
    this.#signals = signals;
    this.#shown = deps.display.show(turn, signals.lease);
    this.#budget = deps.budgets.of(turn.agent);
    this.#emit = (event) => {
      emit(event);
      this.#shown.take(event);
    };
    this.#startedAt = deps.clock.monotonic();
    this.#journal = new TurnJournal({ turn, store: deps.store, writer: deps.writer, lease: signals.lease });
  }

  async work(): Promise<void> {
    const { hooks, agents, limits, callModel, toolRunner } = this.#deps;
    const { turnId, conversation, sessionKey, attempt, checkpoints, waits, user, owner } = this.#turn;
    const emit = this.#emit;
    const journal = this.#journal;
    const signal = this.#signals.abort;

    emit({ type: "turn.started", turn_id: turnId, session: conversation, agent: this.#turn.agent, attempt });
    const agent = agents.get(this.#turn.agent);
    if (!agent) throw new RuntimeError("RUNTIME_AGENT_UNKNOWN", `There is no agent "${this.#turn.agent}".`);
    const { conversationId, created } = await journal.open();
    const workspace = workspaceOf(agent, this.#turn);
    const { limits: given, spent } = await journal.limits();
    const available = toolsOf(this.#deps.tools.snapshot(), agent, this.#turn, given?.tools);
    const channel = this.#turn.channel;
    const info: TurnInfo = { turnId, agent: agent.name, sessionKey, conversationId, channel, user, owner, workspace };
    if (created) await hooks.run("session:start", sessionOf(info), signal);
    const steps = attempt > 1 ? await journal.steps() : [];
    // Orderly shutdowns, expired leases and questions are no crashes.
    const refused = this.#turn.abortRequested ? stopped() : tooManyCrashes(steps, attempt - 1 - checkpoints - waits);
    if (refused) {
      recoverProgress(steps, this.#progress);
      throw refused;
    }

    const used = steps.reduce((sum, step) => sum + (step.kind === "reply" ? tokensOf(step.reply.usage) : 0), spent);
    const allowance = createAllowance({ limits: given, tools: new Set(available.keys()), spent: used });
    const { text } = await hooks.run("turn:before", { ...info, text: this.#turn.text }, signal);
    const onAnswered = (answered: CountedCall): void => {
      journal.count(answered);
      allowance.count(tokensOf(answered));
      this.#budgetNotice = this.#budget.after(answered) ?? this.#budgetNotice;
    };
    const prompt = await assemblePrompt(this.#deps, this.#turn, agent, available, info, text, signal, {
      callModel: async (call) => {
        await this.#checkBudget(allowance);
        return callModel(call);
      },
      onAnswered,
    });
    /** Before each call: a summary that was needed may have used up the budget. */
    const windowed = async <Fitted>(fit: () => Promise<Fitted>): Promise<Fitted> => {
      const fitted = await journal.read(fit);
      await this.#checkBudget(allowance);
      return fitted;
    };
    const windows: CallWindows = {
      fit: (messages, ref) => windowed(() => prompt.windows.fit(messages, ref)),
      shorten: (messages, ref, refused) => windowed(() => prompt.windows.shorten(messages, ref, refused)),
    };
    const delegation = createDelegation({
      turn: this.#turn,
      info,
      places: this.#deps.places,
      hooks,
      signal,
      allowance,
      chain: () => journal.delegationChain(),
    });
    const approvals = {
      redact: this.#deps.redactValues,
      isStanding: (call: StandingCall) => journal.read(() => this.#deps.approvals.isStanding(call)),
      expired: (id: string) => this.#deps.approvals.expired({ id, agent: agent.name, turnId }),
    };
    const changes = new FileChanges(available);
    const tools = {
      runner: toolRunner,
      journal,
      tools: available,
      context: { ...info, tools: [...available.keys()] },
      signal,
      delegation,
      changes,
      approvals,
      fileLimits: fileLimits(this.#turn, {
        othersBytes: limits.maxAttachedOfOthers,
        channelBytes: this.#deps.channels.get(channel)?.maxFileBytes,
      }),
      onDelivered: () => this.#deps.onDelivered(),
      emit,
    };
    await runAgentLoop(
      {
        owner,
        mark: this.#deps.newId(),
        ask: async (messages, say, interrupted) =>
          callModel({
            turn: info,
            chain: prompt.chain,
            messages,
            windows,
            options: prompt.options,
            signal,
            onText: say,
            onAnswered,
            onInterrupted: interrupted,
            onReasoning: (part) =>
              prompt.showReasoning && emit({ type: "reasoning.delta", turn_id: turnId, text: part }),
          }),
        runTools: async (calls, step, turn) => {
          const needed = calls.some(({ call }) => available.get(call.name)?.pathArguments !== undefined);
          if (needed && !owner) await mkdir(workspace, { recursive: true, mode: 0o700 });
          return runToolCalls({ ...tools, repeats: createRepeatGuard(turn) }, calls, step);
        },
        takeSteers: () => journal.waitingSteers(),
        recordReply: (n, reply) => journal.reply(n, reply),
        recordSteer: (n, steer) => journal.steer(n, steer),
        recordUnknown: (n, step, call, result) => journal.result(n, step, call, "unknown", result),
        finish: async (end) => {
          const after = await hooks.run(
            "turn:after",
            { ...info, text, reply: end.text, interrupted: end.capped },
            signal,
          );
          // A hook that changes the reply changes what is stored and sent; what was streamed cannot be taken back.
          const last = after.reply === end.text ? end.last : { ...end.last, text: after.reply };
          // Before the end: the session's next turn begins with it.
          if (prompt.modelGone !== null) await this.#forgetModel(prompt.modelGone);
          this.#leftOut ||=
            prompt.leftOut() && (await journal.read(() => this.#deps.compaction.reportOnce(conversationId)));
          const ended = await this.#finish(
            replied(end, after.reply, {
              resumed: attempt - waits > 1,
              maxToolIterations: limits.maxToolIterations,
              modelGone: prompt.modelGone,
              leftOut: this.#leftOut,
              budget: this.#budgetNotice,
            }),
            last,
            false,
          );
          if (ended) void hooks.run("turn:reflect", { ...info, messages: prompt.messages, reply: after.reply });
          return ended;
        },
        emitText: (part) => emit({ type: "text.delta", turn_id: turnId, text: part }),
      },
      prompt.messages,
      steps,
      limits.maxToolIterations,
      signal,
      this.#progress,
    );
  }

  /** Nothing is shown of it here any more. */
  end(): void {
    this.#shown.end();
  }

  /** Before a call of a model. RUNTIME_BUDGET_EXCEEDED, DELEGATION_BUDGET_EXCEEDED: there is none. */
  async #checkBudget(allowance: Pick<Allowance, "check">): Promise<void> {
    allowance.check();
    const notice = await this.#journal.read(() => this.#budget.before(this.#journal.uncounted));
    this.#budgetNotice = notice ?? this.#budgetNotice;
  }

  /** Lets the turn wait for an answer, or for tasks; the reason where it must end instead: it was stopped, or its lease is lost. */
  async wait(calls: readonly AskingCall[]): Promise<CairnError | null> {
    const { abort, lease } = this.#signals;
    // A node that shuts down, or a turn that has run for long, may wait all the same.
    const reason = abort.aborted ? toCairnError(abort.reason) : null;
    if (lease.aborted || reason?.code === "RUNTIME_TURN_ABORTED") return reason;
    try {
      await this.#shown.idle();
      const asked = calls.map((call) => ({ ...call, questionId: this.#deps.newId() }));
      const question = await this.#journal.wait(asked, this.#progress.text);
      if (question) this.#emit(waitingEvent(this.#turn, question));
      if (question?.approval) this.#deps.approvals.asked(this.#turn, question.id, question.approval);
      this.#deps.onWaiting();
    } catch (error) {
      if (error instanceof CairnError && error.code === "RUNTIME_TURN_ABORTED") return error;
      // The row stays as it is: the next claim resumes it.
      this.#deps.logger.warn(
        { err: error, turnId: this.#turn.turnId },
        "a turn that has to wait could not be stored; it is resumed later",
      );
    }
    return null;
  }

  /** Ends a turn that did not get to its reply. */
  async conclude(error: CairnError): Promise<void> {
    const { logger } = this.#deps;
    const { turnId, epoch } = this.#turn;
    const { abort, lease } = this.#signals;
    const reason = abort.aborted ? toCairnError(abort.reason) : error;
    if (reason.code === "RUNTIME_LEASE_LOST" || lease.aborted) {
      logger.warn({ turnId, epoch }, "a turn's lease has ended; this runner stops");
      return;
    }
    try {
      if (reason.code === "RUNTIME_DRAINING") {
        // What is under way is followed by more, on the node that goes on with it.
        await this.#shown.idle(ABORTED_MS);
        await this.#journal.checkpoint();
        this.#emit(shutdownEvent(this.#turn));
        return;
      }
      if (reason.code !== "RUNTIME_TURN_ABORTED") {
        const { code, message } = reason;
        if (isOwnFault(reason))
          logger.error({ err: reason, cause: reason.details.cause, turnId, code }, "a turn failed");
        else logger.warn({ turnId, agent: this.#turn.agent, code, reason: message }, "a turn failed");
      }
      const { nextStep, partial } = this.#progress;
      const end = failedEnd(turnId, reason, this.#progress);
      await this.#finish(end, { n: nextStep, text: partial }, true).catch((failure: unknown) => {
        if (failure instanceof CairnError && failure.code === "RUNTIME_LEASE_LOST") throw failure;
        // Its text cannot be stored: the turn ends without it, so that its session can go on.
        logger.error({ err: failure, turnId }, "the text of a turn could not be stored; the turn ends without it");
        return this.#finish({ ...end, reply: "" }, { n: nextStep, text: "" }, true);
      });
    } catch (failure) {
      // The row stays as it is: the next claim resumes it.
      logger.error({ err: failure, turnId }, "the end of a turn could not be stored");
    }
  }

  /** So that one notice says it; unless another one was chosen meanwhile. */
  async #forgetModel(gone: string): Promise<void> {
    const { memory, logger } = this.#deps;
    const { sessionKey, turnId } = this.#turn;
    try {
      const { model, ...rest } = (await memory.loadSessionSettings?.(sessionKey)) ?? {};
      if (model === gone) await memory.saveSessionSettings?.(sessionKey, rest);
    } catch (error) {
      logger.warn({ err: error, turnId }, "a model that is not configured any more is still a session's");
    }
  }

  async #finish(end: TurnEnd, last: { n: number; text: string; model?: string }, cut: boolean): Promise<boolean> {
    // Later, a change that was under way would undo what the outbox sends.
    await this.#shown.idle(this.#signals.abort.aborted ? ABORTED_MS : undefined);
    const files = await this.#journal.files();
    const ended = await this.#journal.finish(end, { ...last, cut });
    if (ended) {
      this.#emit(finalEvent(this.#turn, end, files));
      const { clock, onEnded } = this.#deps;
      onEnded(this.#turn.agent, end.state, (clock.monotonic() - this.#startedAt) / 1_000);
      if (isTask(this.#turn)) await this.#endSession();
    }
    return ended;
  }

  /** Of a task: no other turn follows in it. */
  async #endSession(): Promise<void> {
    const { agents, conversations, logger } = this.#deps;
    const { agent: name, sessionKey: key, owner, turnId } = this.#turn;
    const agent = agents.get(name);
    if (!agent) return;
    try {
      await conversations.close({ key, owner, workspace: workspaceOf(agent, this.#turn) }, "task");
    } catch (error) {
      logger.warn({ err: error, turnId }, "the conversation of a task could not be closed");
    }
  }
}

function sessionOf({ turnId: _, ...session }: TurnInfo): SessionInfo {
  return session;
}
