/** What a turn does that another one of this database waits for, in short lines for the followers of the waiting one. */

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

/**
 * `emit`, and for a delegated turn also the followers of the turn that waits for it: where that one's agent is hosted here, since
 * its events come from there.
 */
export function createTaskProgress({ database, placement, hub, logger }: TaskProgressDeps) {
  async function waitingTurn(question: string): Promise<WaitingRow | null> {
    const { rows } = await database.query<WaitingRow>(
      `/* turn:progress-to */ select q.turn_id as "turnId", t.agent, t.attempt, s.tool_call_id as "toolCallId"
       from turn_questions q join turns t on t.id = q.turn_id join turn_steps s on s.turn_id = q.turn_id and s.n = q.n
       where q.id = $1 and q.state = 'open' and t.state = 'waiting'`,
      [question],
    );
    const row = rows[0];
    return row !== undefined && placement.hosted().includes(row.agent) ? row : null;
  }

  return (turn: ClaimedTurn, emit: (event: StreamEvent) => void): ((event: StreamEvent) => void) => {
    const question = delegatedBy(turn);
    if (question === null) return emit;
    const early: StreamEvent[] = [];
    let report = (event: StreamEvent): void => {
      if (early.length < MAX_EARLY) early.push(event);
    };
    waitingTurn(question)
      .then((waiting) => {
        report = waiting === null ? () => undefined : linesFor(waiting, turn.agent, hub);
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
  };
}

function linesFor(
  { turnId, attempt, toolCallId }: WaitingRow,
  agent: string,
  hub: Pick<StreamHub, "say" | "rest">,
): (event: StreamEvent) => void {
  const progress = createProgress(agent, (text) =>
    hub.say(turnId, attempt, { type: "tool.progress", turn_id: turnId, tool_call_id: toolCallId, text }),
  );
  return (event) => {
    progress(event);
    if (isFinal(event)) hub.rest(turnId, finalIdOf(attempt));
  };
}
