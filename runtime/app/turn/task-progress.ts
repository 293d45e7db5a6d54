/**
 * What a turn does that another one of this database waits for, in short lines for the followers of the waiting one. Where that one's
 * agent is hosted by another node the lines go there by a notification: they are a courtesy, and the reply comes without them.
 */

import { z } from "zod";
import type { Database } from "../../contracts/database.ts";
import type { Logger } from "../../contracts/ports.ts";
import { isFinal, type StreamEvent } from "../../contracts/stream.ts";
import type { Placement } from "./placement.ts";
import { createProgress } from "./remote-progress.ts";
import { finalIdOf, type StreamHub } from "./stream-hub.ts";
import { delegatedBy } from "./turn-delegation.ts";
import type { ClaimedTurn } from "./turn-rows.ts";

export interface TaskProgressDeps {
  readonly database: Database;
  readonly placement: Pick<Placement, "hosted">;
  readonly hub: Pick<StreamHub, "say" | "rest">;
  readonly logger: Logger;
}

interface WaitingRow {
  readonly turnId: string;
  readonly agent: string;
  readonly attempt: number;
  readonly toolCallId: string;
}

/** Events that are kept until it is known which turn waits. */
const MAX_EARLY = 1_000;

/** Channel of the notifications. */
const PROGRESS_CHANNEL = "cairn_task_progress";

const Line = z.object({
  turnId: z.string(),
  agent: z.string(),
  attempt: z.int(),
  toolCallId: z.string(),
  /** Null: it was the last one. */
  text: z.string().nullable(),
});

export interface TaskProgress {
  /** `emit`, and for a delegated turn also the followers of the turn that waits for it: its events come from the node of its agent. */
  reporting(turn: ClaimedTurn, emit: (event: StreamEvent) => void): (event: StreamEvent) => void;
  /** Takes the lines of other nodes. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function createTaskProgress({ database, placement, hub, logger }: TaskProgressDeps): TaskProgress {
  let unlisten: (() => Promise<void>) | null = null;

  async function waitingTurn(question: string): Promise<WaitingRow | null> {
    const { rows } = await database.query<WaitingRow>(
      `/* turn:progress-to */ select q.turn_id as "turnId", t.agent, t.attempt, s.tool_call_id as "toolCallId"
       from turn_questions q join turns t on t.id = q.turn_id join turn_steps s on s.turn_id = q.turn_id and s.n = q.n
       where q.id = $1 and q.state = 'open' and t.state = 'waiting'`,
      [question],
    );
    return rows[0] ?? null;
  }

  function say({ turnId, attempt, toolCallId }: WaitingRow, text: string | null): void {
    if (text === null) hub.rest(turnId, finalIdOf(attempt));
    else hub.say(turnId, attempt, { type: "tool.progress", turn_id: turnId, tool_call_id: toolCallId, text });
  }

  /** To the node that hosts the agent of the turn that waits; one after the other, so that they arrive in order. */
  function sayElsewhere(waiting: WaitingRow): (text: string | null) => void {
    let sent: Promise<unknown> = Promise.resolve();
    return (text) => {
      const line = JSON.stringify({ ...waiting, text });
      sent = sent
        .then(() => database.query("select pg_notify($1, $2)", [PROGRESS_CHANNEL, line]))
        .catch((err: unknown) => logger.debug({ err, turnId: waiting.turnId }, "a line of progress was lost"));
    };
  }

  function linesFor(waiting: WaitingRow, agent: string): (event: StreamEvent) => void {
    const isHere = placement.hosted().includes(waiting.agent);
    const line = isHere ? (text: string | null) => say(waiting, text) : sayElsewhere(waiting);
    const progress = createProgress(agent, line);
    return (event) => {
      progress(event);
      if (isFinal(event)) line(null);
    };
  }

  return {
    reporting(turn, emit) {
      const question = delegatedBy(turn);
      if (question === null) return emit;
      const early: StreamEvent[] = [];
      let report = (event: StreamEvent): void => {
        if (early.length < MAX_EARLY) early.push(event);
      };
      waitingTurn(question)
        .then((waiting) => {
          report = waiting === null ? () => undefined : linesFor(waiting, turn.agent);
          for (const event of early.splice(0)) report(event);
        })
        .catch((error: unknown) => {
          report = () => undefined;
          logger.debug(
            { err: error, turnId: turn.turnId },
            "the turn that waits could not be read: its followers see the reply",
          );
        });
      return (event) => {
        emit(event);
        report(event);
      };
    },
    async start() {
      unlisten = await database.listen(PROGRESS_CHANNEL, (payload) => {
        const read = Line.safeParse(parsed(payload));
        if (read.success && placement.hosted().includes(read.data.agent)) say(read.data, read.data.text);
      });
    },
    async stop() {
      await unlisten?.().catch(() => undefined);
    },
  };
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
