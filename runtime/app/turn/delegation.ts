/** What a turn may hand to other turns, by the rules and by the hooks. */

import { DelegationError, ToolError } from "../../contracts/errors.ts";
import type { HookContexts, TurnInfo } from "../../contracts/hooks.ts";
import {
  type ChainLink,
  type DelegationProblem,
  delegationProblem,
  MAX_DELEGATION_DEPTH,
} from "../../domain/delegation.ts";
import type { Allowance, TaskRequest } from "../../domain/task-allowance.ts";
import type { HookPipeline } from "../hooks.ts";
import type { AgentPlaces } from "../mesh/agent-places.ts";
import { storedConversation } from "../schedules/schedule.ts";
import { isTask, type Task } from "./turn-delegation.ts";
import type { ClaimedTurn } from "./turn-rows.ts";

export interface Delegation {
  /**
   * Checks a new task and runs the hooks; a target of null is the turn's own agent. Throws DelegationError, TOOL_INVALID_ARGUMENTS, or
   * what a hook throws.
   */
  before(
    target: string | null,
    message: string,
    request: TaskRequest & { readonly maxDepth?: number | undefined },
  ): Promise<Task>;
  /** Tokens of tasks that are handed on together, of what each may have: see Allowance. */
  divide(granted: readonly number[]): readonly number[];
  /** What the model reads of the task's end, as the hooks leave it. */
  after(target: string | null, end: TaskEnd): Promise<string>;
  /** TOOL_REFUSED in a turn that was delegated itself: what is between it and the user is another turn. */
  assertUser(): void;
  /** TOOL_REFUSED there, too, and in a turn of a schedule whose replies are stored only: nobody reads the question. */
  assertAnswerable(): void;
  /** TOOL_REFUSED in the same turns: nobody receives a file. */
  assertReceived(): void;
}

export type TaskEnd = Pick<HookContexts["delegation:after"], "task" | "ok" | "result">;

export interface DelegationDeps {
  readonly turn: ClaimedTurn;
  readonly info: TurnInfo;
  readonly places: Pick<AgentPlaces, "find" | "names">;
  readonly hooks: HookPipeline;
  readonly signal: AbortSignal;
  /** Of the turn itself. */
  readonly allowance: Pick<Allowance, "grant" | "divide">;
  /** The turn and those that wait for it, its own first. */
  chain(): Promise<readonly ChainLink[]>;
}

export function createDelegation({ turn, info, places, hooks, signal, allowance, chain }: DelegationDeps): Delegation {
  const assertUser = (): void => {
    if (!isTask(turn)) return;
    throw new ToolError("TOOL_REFUSED", "This turn was begun by another agent: there is no user to ask or to send to.");
  };
  return {
    async before(wanted, message, { maxDepth = MAX_DELEGATION_DEPTH, ...asked }) {
      const target = wanted ?? turn.agent;
      const place = wanted === null ? "here" : (await places.find(target)).place;
      const links = await chain();
      const problem = delegationProblem({ chain: links, target, place, spawned: wanted === null, maxDepth });
      if (problem) throw await refused(problem, target, places, Math.min(maxDepth, MAX_DELEGATION_DEPTH));
      const { task } = await hooks.run("delegation:before", { ...info, target, task: message }, signal);
      const above = links.map(({ node, agent, turn_id }) => ({ node, agent, turn_id }));
      // Another database knows no limits of this one; its own hold there.
      if (place === "elsewhere") return { agent: target, message: task, chain: above, limits: null };
      return { agent: target, message: task, chain: null, limits: allowance.grant(asked, wanted === null) };
    },
    divide: (granted) => allowance.divide(granted),
    async after(wanted, end) {
      const target = wanted ?? turn.agent;
      return (await hooks.run("delegation:after", { ...info, target, ...end }, signal)).result;
    },
    assertUser,
    assertAnswerable() {
      assertUser();
      if (!isStoredOnly(turn)) return;
      throw new ToolError("TOOL_REFUSED", "This turn was begun by a schedule without a channel: nobody can answer.", {
        hint: "Go on without an answer, and say in the reply what is to be decided.",
      });
    },
    assertReceived() {
      assertUser();
      if (!isStoredOnly(turn)) return;
      throw new ToolError(
        "TOOL_REFUSED",
        "This turn was begun by a schedule without a channel: nobody receives a file.",
        {
          hint: "Leave it in the workspace, and name it in the reply.",
        },
      );
    },
  };
}

function isStoredOnly({ schedule, conversation }: ClaimedTurn): boolean {
  return schedule !== null && conversation === storedConversation(schedule);
}

/** Names that a hint has: an error is no directory. */
const MAX_NAMES = 50;

async function refused(
  problem: DelegationProblem,
  target: string,
  places: Pick<AgentPlaces, "names">,
  depth: number,
): Promise<DelegationError> {
  switch (problem) {
    case "no_target": {
      const names = await places.names();
      const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
      return new DelegationError("DELEGATION_NO_TARGET", `There is no agent "${target}" that takes a task.`, {
        hint: `Agents: ${names.slice(0, MAX_NAMES).join(", ")}${more}.`,
      });
    }
    case "too_deep":
      return new DelegationError("DELEGATION_TOO_DEEP", `A task is handed on at most ${depth} times.`, {
        hint: "Do it in this turn.",
      });
    case "cycle":
      return new DelegationError("DELEGATION_CYCLE", `The agent "${target}" waits for this turn already.`, {
        hint: "Do it in this turn, or hand it to another agent.",
      });
  }
}
