/** An agent as turns see it; the composition root makes it from the configuration. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import type { ThinkingLevel } from "../../contracts/provider.ts";
import type { Tool } from "../../contracts/tool.ts";
import type { Budget } from "../../domain/budget.ts";
import { type AgentToolSelection, selectAgentTools } from "../../domain/tool-selection.ts";
import type { ToolSnapshot } from "../tool-registry.ts";

export interface Agent {
  readonly name: string;
  readonly provider: string;
  /** Absent: the provider's default. */
  readonly model?: string;
  readonly fallbacks: readonly string[];
  readonly thinking: ThinkingLevel;
  /** Absolute path; the owner's turns work there. */
  readonly workspace: string;
  /** Absolute path of the directory with a workspace for each other user. */
  readonly workspacesOfOthers: string;
  /** Which of the node's tools its turns get; all of them when absent. */
  readonly tools?: AgentToolSelection | undefined;
  readonly temperature?: number;
  /** Absent: without limits. */
  readonly budget?: Budget;
  /** The one node that hosts it; absent: whichever holds the agent's lease. */
  readonly node?: string;
}

/** Those that may run on the node with this name. */
export function hostableAgents(agents: ReadonlyMap<string, Agent>, node: string): readonly string[] {
  return [...agents.values()]
    .filter((agent) => agent.node === undefined || agent.node === node)
    .map(({ name }) => name);
}

export interface TurnLimits {
  readonly maxToolIterations: number;
  readonly turnTimeoutMs: number;
  /** Milliseconds without a renewal after which a turn's lease expires and another runner takes it over. */
  readonly leaseMs: number;
  /** Tokens of injected memory a turn. */
  readonly contextTokens: number;
  /** IANA name. */
  readonly timezone: string;
  /** Turns that run at once on this node. */
  readonly maxActiveTurns: number;
  /** Of these, the ones that are not the owner's; the rest is always free for the owner. */
  readonly maxTurnsOfOthers: number;
  /** Of these, the ones of a single user who is not the owner, or of a token and all the users that it names. */
  readonly maxTurnsOfOneUser: number;
  /** Queued and running turns that are not the owner's, on all nodes; further messages are refused. */
  readonly maxOpenOfOthers: number;
  /** Of these, the ones of a single user or of a token and all the users that it names. */
  readonly maxOpenOfOneUser: number;
  /** UTF-16 code units of one text of a user who is not the owner. */
  readonly maxTextOfOthers: number;
  /** The same of all texts of one message together, with those that a request brings along. */
  readonly maxTextsOfOthers: number;
  /** Bytes of the attachments of one message of a user who is not the owner. */
  readonly maxAttachedOfOthers: number;
  /** Texts that a user who is not the owner adds to one turn with /steer. */
  readonly maxSteersOfOthers: number;
}

/** Whose turn it is: the channel's own word for the user, and whether that is the owner of the instance. */
export interface Speaker {
  readonly channel: string;
  readonly user: string;
  readonly owner: boolean;
}

/** The tools that the model is offered, by name; a call of any other one is a call of an unknown tool. `only`: of these names. */
export function toolsOf(
  { tools }: ToolSnapshot,
  agent: Pick<Agent, "tools">,
  { owner }: Pick<Speaker, "owner">,
  only: readonly string[] | null = null,
): ReadonlyMap<string, Tool> {
  const selected = selectAgentTools(tools, agent.tools);
  const own = (owner ? selected.owner : selected.others).tools;
  return new Map(own.filter(({ name }) => only?.includes(name) ?? true).map((tool) => [tool.name, tool]));
}

/**
 * Where the turn's tools work. Each user who is not the owner has a directory of their own, named by a hash because a
 * channel's users may be called anything. It is made by the first call that needs it.
 */
export function workspaceOf(agent: Agent, { channel, user, owner }: Speaker): string {
  if (owner) return agent.workspace;
  const name = createHash("sha256")
    .update(JSON.stringify([channel, user]))
    .digest("hex")
    .slice(0, 32);
  return join(agent.workspacesOfOthers, name);
}
