/**
 * Brings tasks to agents of other databases and their replies back, for turns that wait here. Where a task is stands in its row before
 * anything is sent, so that a process that ends, or an agent that moves, leaves it to the next one, and nothing is done twice: a
 * peer that may have accepted a task is the only one that is asked, under the same key, until it answers or the deadline passes.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { PeerAgents } from "../../contracts/delegation.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { NodeEntry } from "../../contracts/node-entry.ts";
import type { Logger, NewId } from "../../contracts/ports.ts";
import type { NumberedEvent } from "../../contracts/stream.ts";
import {
  failedOutcome,
  isPassingRefusal,
  isRefusal,
  outcomeOfEvent,
  type TaskOutcome,
} from "../../domain/delegation.ts";
import type { AgentPlaces } from "../mesh/agent-places.ts";
import type { Placement } from "./placement.ts";
import { createProgress } from "./remote-progress.ts";
import { boundTo, type End, refusedBy, toPeerTask, withSignal } from "./remote-requests.ts";
import type { OpenTask, RemoteTask, RemoteTaskStore } from "./remote-task-store.ts";
import { finalIdOf, type StreamHub } from "./stream-hub.ts";

export interface RemoteTasksDeps {
  readonly store: RemoteTaskStore;
  readonly places: Pick<AgentPlaces, "find" | "node">;
  readonly peers: PeerAgents;
  readonly placement: Pick<Placement, "hosted">;
  readonly hub: Pick<StreamHub, "say" | "rest">;
  readonly newId: NewId;
  readonly logger: Logger;
}

/** A safety net under the wake-ups, and the pace at which tasks of agents that have come to this node are found. */
const POLL_MS = 2_000;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;
/** For which all nodes of an agent may refuse for the moment: a node is restarted in that time. */
const PATIENCE_MS = 30_000;
/** After its deadline a peer ends a task itself. */
const STOP_FOR_MS = 10_000;

interface Work {
  readonly kind: "pursue" | "stop";
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

interface Accepted {
  readonly peer: NodeEntry;
  readonly turnId: string;
  /** Null: to be asked for. */
  readonly events: AsyncIterable<NumberedEvent> | null;
}

export class RemoteTasks {
  readonly #deps: RemoteTasksDeps;
  readonly #work = new Map<string, Work>();
  #timer: NodeJS.Timeout | null = null;
  #syncing: Promise<void> | null = null;
  #again = false;
  #stopped = true;

  constructor(deps: RemoteTasksDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.#timer = setInterval(() => this.kick(), POLL_MS);
    this.kick();
  }

  /** A turn has ended: its tasks are over. */
  turnEnded(): void {
    if (this.#work.size > 0) this.kick();
  }

  /** A turn has begun to wait: tasks may have come. */
  kick(): void {
    if (this.#stopped) return;
    if (this.#syncing) {
      this.#again = true;
      return;
    }
    this.#syncing = this.#sync()
      .catch((error: unknown) => this.#deps.logger.warn({ err: error }, "tasks for other nodes could not be read"))
      .finally(() => {
        this.#syncing = null;
        if (!this.#again) return;
        this.#again = false;
        this.kick();
      });
  }

  /** Leaves the tasks to the next process: what peers do for them goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#syncing;
    for (const { abort } of this.#work.values()) abort.abort("left" satisfies End);
    await Promise.allSettled([...this.#work.values()].map(({ done }) => done));
  }

  async #sync(): Promise<void> {
    const hosted = this.#deps.placement.hosted();
    if (hosted.length === 0 && this.#work.size === 0) return;
    const tasks = new Map((await this.#deps.store.open(hosted)).map((task) => [task.questionId, task]));
    for (const [id, work] of this.#work) {
      const task = tasks.get(id);
      if (task === undefined) work.abort.abort("left" satisfies End);
      else if (!task.isWanted && work.kind === "pursue") work.abort.abort("stopped" satisfies End);
    }
    if (this.#stopped) return;
    for (const task of tasks.values()) if (!this.#work.has(task.questionId)) this.#begin(task);
  }

  #begin({ questionId, isWanted }: OpenTask): void {
    const { store, logger } = this.#deps;
    const abort = new AbortController();
    const kind = isWanted ? "pursue" : "stop";
    const done = store
      .read(questionId)
      .then(async (task) => {
        if (task === null) return;
        await (isWanted ? this.#pursue(task, abort.signal) : this.#stopThere(task, abort.signal));
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        logger.warn({ err: error, questionId }, "the task of a turn could not be brought on; tried again");
        return sleep(FIRST_PAUSE_MS, undefined, { signal: abort.signal }).catch(() => undefined);
      })
      .finally(() => {
        this.#work.delete(questionId);
        // What was stopped while it was pursued is to be stopped there; what failed is tried again.
        this.kick();
      });
    this.#work.set(questionId, { kind, abort, done });
  }

  async #pursue(task: RemoteTask, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    const until = performance.now() + task.remainingMs;
    const accepted = await (task.peer === null
      ? this.#handOut(task, until, signal)
      : this.#takeUp(task, task.peer, until, signal));
    if (accepted === null) return;
    try {
      const outcome = "peer" in accepted ? await this.#follow(task, accepted, signal) : accepted;
      await store.answer(task.questionId, outcome);
    } finally {
      this.#deps.hub.rest(task.turnId, finalIdOf(task.attempt));
    }
  }

  /** Asks one node after the other; null where another process has come first. */
  async #handOut(task: RemoteTask, until: number, signal: AbortSignal): Promise<Accepted | TaskOutcome | null> {
    const { store, places, newId } = this.#deps;
    const begun = performance.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      const refusals: { readonly name: string; readonly error: CairnError }[] = [];
      for (const peer of (await places.find(task.target)).elsewhere) {
        signal.throwIfAborted();
        const sender = newId();
        if (!(await store.take(task.questionId, peer.id, sender, null))) return null;
        const answer = await this.#send(task, peer, until, true, signal);
        if (!(answer instanceof CairnError)) return answer;
        if (!(await store.giveUp(task.questionId, sender))) return null;
        refusals.push({ name: peer.name, error: answer });
      }
      const isHopeless = refusals.length > 0 && refusals.every(({ error }) => !isPassingRefusal(error));
      if (isHopeless || performance.now() - begun > PATIENCE_MS) return refusedBy(task.target, refusals);
      await sleep(pauseMs, undefined, { signal });
    }
  }

  /** Goes on with what an earlier process may have sent. */
  async #takeUp(task: RemoteTask, id: string, until: number, signal: AbortSignal): Promise<Accepted | null> {
    const { store, newId } = this.#deps;
    if (!(await store.take(task.questionId, id, newId(), task.sender))) return null;
    const peer = await this.#member(id, signal);
    if (task.peerTurn !== null) return { peer, turnId: task.peerTurn, events: null };
    // Not the first request: a refusal would say nothing of the ones before.
    return (await this.#send(task, peer, until, false, signal)) as Accepted;
  }

  /** A CairnError: the peer has refused the `first` request for certain. Else it is asked until it accepts, or the signal aborts. */
  async #send(
    task: RemoteTask,
    peer: NodeEntry,
    until: number,
    first: boolean,
    signal: AbortSignal,
  ): Promise<Accepted | CairnError> {
    const { peers, store, logger } = this.#deps;
    let isFirst = first;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      const request = boundTo(signal);
      try {
        const { turnId, events } = await peers.send(peer, toPeerTask(task, until), request.signal);
        request.answered();
        await store.accepted(task.questionId, turnId);
        return { peer, turnId, events };
      } catch (error) {
        if (isFirst && isRefusal(error)) return error;
        isFirst = false;
        logger.warn(
          { err: error, peer: peer.name, turnId: task.turnId },
          "a task may have reached its node; the same node is asked again",
        );
      }
      signal.throwIfAborted();
      await sleep(pauseMs, undefined, { signal });
    }
  }

  async #follow(task: RemoteTask, accepted: Accepted, signal: AbortSignal): Promise<TaskOutcome> {
    const { peers, places, hub, logger } = this.#deps;
    const turn = { agent: task.target, turnId: accepted.turnId };
    const progress = createProgress(task.target, (text) =>
      hub.say(task.turnId, task.attempt, {
        type: "tool.progress",
        turn_id: task.turnId,
        tool_call_id: task.toolCallId,
        text,
      }),
    );
    let { peer, events } = accepted;
    let lastEventId = 0;
    for (let failures = 0; ; failures++) {
      try {
        for await (const { id, event } of withSignal(
          events ?? peers.events(peer, turn, { lastEventId, forwarded: false }, signal),
          signal,
        )) {
          failures = 0;
          if (id <= lastEventId) continue;
          lastEventId = id;
          progress(event);
          const outcome = outcomeOfEvent(event);
          if (outcome) return outcome;
        }
      } catch (error) {
        signal.throwIfAborted();
        const isPeers = peer.id === accepted.peer.id;
        if (error instanceof CairnError && isPeers && ENDED.has(error.code)) {
          return failedOutcome(error.code, `${peer.name}: ${error.message}`, turn.turnId);
        }
        logger.debug(
          { err: error, peer: peer.name, turnId: task.turnId },
          "the events of a task broke off; they are asked for again",
        );
      }
      events = null;
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS), undefined, { signal });
      // Its address may have changed with its restart; where it stays away, a node of the same database may have its turn by now.
      const others = failures % 2 === 1 ? (await places.find(task.target)).elsewhere : [];
      peer = others[(failures >> 1) % others.length] ?? (await places.node(accepted.peer.id)) ?? accepted.peer;
    }
  }

  /** The turn that waited has ended, or waits no longer: what it has handed out ends, too. */
  async #stopThere(task: RemoteTask, signal: AbortSignal): Promise<void> {
    const { store, peers, places, logger } = this.#deps;
    const until = performance.now() + task.remainingMs;
    for (let pauseMs = FIRST_PAUSE_MS; task.peer !== null; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      const peer = await places.node(task.peer);
      // From its deadline on it ends by itself.
      if (peer === null || performance.now() > until + STOP_FOR_MS) break;
      try {
        // Not known yet: under the same key its answer tells which turn it is.
        const turnId = task.peerTurn ?? (await peers.send(peer, toPeerTask(task, until), signal)).turnId;
        await peers.stop(peer, { agent: task.target, turnId }, signal);
        break;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CairnError && ENDED.has(error.code)) break;
        logger.debug(
          { err: error, peer: peer.name, turnId: task.turnId },
          "a task could not be stopped on its node; tried again",
        );
      }
      await sleep(pauseMs, undefined, { signal });
    }
    await store.end(task.questionId);
  }

  /** A member that the registry does not show now may come back; the deadline ends the wait. */
  async #member(id: string, signal: AbortSignal): Promise<NodeEntry> {
    for (;;) {
      const peer = await this.#deps.places.node(id);
      if (peer !== null) return peer;
      await sleep(MAX_PAUSE_MS, undefined, { signal });
    }
  }
}

/** After these a peer has no more to say of a turn. */
const ENDED: ReadonlySet<string> = new Set(["RUNTIME_TURN_UNKNOWN", "RUNTIME_BODY_TOO_LARGE", "RUNTIME_AGENT_UNKNOWN"]);
