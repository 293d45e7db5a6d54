/** What a turn may hand to other turns, by the rules and by the hooks. */

import { DelegationError, ToolError } from "../../contracts/errors.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import { type DelegationProblem, delegationProblem, MAX_DELEGATION_DEPTH } from "../../domain/delegation.ts";
import type { HookPipeline } from "../hooks.ts";
import type { Agent } from "./agents.ts";
import { delegatedBy, type Task } from "./turn-delegation.ts";
import type { ClaimedTurn } from "./turn-rows.ts";

export interface Delegation {
  /** Checks a new task and runs the hooks; a target of null is the turn's own agent. Throws DelegationError, or what a hook throws. */
  before(target: string | null, message: string): Promise<Task>;
  /** The reply, as the hooks leave it. */
  after(target: string | null, message: string, reply: string): Promise<string>;
  /** TOOL_REFUSED in a turn that was delegated itself: what is between it and the user is another turn. */
  assertUser(): void;
}

export interface DelegationDeps {
  readonly turn: ClaimedTurn;
  readonly info: TurnInfo;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly hooks: HookPipeline;
  readonly signal: AbortSignal;
  /** Agents of the turn and of those that wait for it, its own first. */
  chain(): Promise<readonly string[]>;
}

export function createDelegation({ turn, info, agents, hooks, signal, chain }: DelegationDeps): Delegation {
  return {
    async before(wanted, message) {
      const target = wanted ?? turn.agent;
      const request = { chain: await chain(), target, spawned: wanted === null, agents: new Set(agents.keys()) };
      const problem = delegationProblem(request);
      if (problem) throw refused(problem, target, [...agents.keys()]);
      const { task } = await hooks.run("delegation:before", { ...info, target, task: message }, signal);
      return { agent: target, message: task };
    },
    async after(wanted, message, reply) {
      const target = wanted ?? turn.agent;
      return (await hooks.run("delegation:after", { ...info, target, task: message, result: reply }, signal)).result;
    },
    assertUser() {
      if (delegatedBy(turn) === null) return;
      throw new ToolError(
        "TOOL_REFUSED",
        "This turn was begun by another agent: there is no user to ask or to send to.",
      );
    },
  };
}

function refused(problem: DelegationProblem, target: string, agents: readonly string[]): DelegationError {
  switch (problem) {
    case "no_target":
      return new DelegationError("DELEGATION_NO_TARGET", `There is no agent "${target}".`, {
        hint: `Agents: ${agents.join(", ")}.`,
      });
    case "too_deep":
      return new DelegationError("DELEGATION_TOO_DEEP", `A task is handed on at most ${MAX_DELEGATION_DEPTH} times.`, {
        hint: "Do it in this turn.",
      });
    case "cycle":
      return new DelegationError("DELEGATION_CYCLE", `The agent "${target}" waits for this turn already.`, {
        hint: "Do it in this turn, or hand it to another agent.",
      });
  }
}
