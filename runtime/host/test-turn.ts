/**
 * A turn that this very node runs, whichever agents it hosts: what tests a node after an update. It goes the way of every turn, from
 * the inbox to the outbox, and asks no model.
 */

import { join } from "node:path";
import type { Turns } from "../app/api.ts";
import type { Agent } from "../app/turn/agents.ts";
import type { Dispatcher } from "../app/turn/dispatcher.ts";
import type { Inbox } from "../app/turn/inbox.ts";
import type { NewId } from "../contracts/ports.ts";
import type { ChatChunk, Provider } from "../contracts/provider.ts";
import { SELF_TEST_SESSION } from "../contracts/reading.ts";
import type { TurnResult } from "../contracts/stream.ts";

const REPLY = "This node runs turns.";
/** Characters that no name of an agent or a provider has. */
const PROVIDER = "~test";

/** The agent of the node's own tests; no other node ever hosts it. */
export function testAgent(node: { readonly id: string; readonly name: string }, workspaces: string): Agent {
  const name = `~${node.id}`;
  return {
    name,
    provider: PROVIDER,
    fallbacks: [],
    thinking: "off",
    workspace: join(workspaces, name),
    workspacesOfOthers: join(workspaces, name),
    tools: { include: [], others: { include: [] } },
    node: node.name,
  };
}

export const testProvider: Provider = {
  id: PROVIDER,
  name: "Test",
  async *chatStream(): AsyncGenerator<ChatChunk, void, undefined> {
    yield { type: "text", text: REPLY };
    yield { type: "end", stopReason: "end", usage: { inputTokens: 0, outputTokens: 0 }, model: "test" };
  },
  isAvailable: () => Promise.resolve(true),
  getModel: () => "test",
  setModel: () => undefined,
};

export interface TestTurnParts {
  readonly agent: Agent;
  /** A channel that sends nothing by itself. */
  readonly channel: string;
  readonly inbox: Inbox;
  readonly turns: Pick<Turns, "wait">;
  readonly dispatcher: Pick<Dispatcher, "kick">;
  readonly newId: NewId;
}

/** Resolves when the turn has ended. RUNTIME_TURN_ errors as of any turn. */
export function createTestTurn({ agent, channel, inbox, turns, dispatcher, newId }: TestTurnParts) {
  return async (signal: AbortSignal): Promise<TurnResult> => {
    const id = newId();
    const { turnId } = await inbox.accept({
      address: { channel, conversation: `${SELF_TEST_SESSION}${id}`, user: "" },
      agent: agent.name,
      externalId: id,
      text: "A test of this node.",
      owner: true,
    });
    dispatcher.kick();
    return turns.wait(agent.name, turnId, signal);
  };
}
