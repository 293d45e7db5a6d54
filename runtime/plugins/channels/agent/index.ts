/**
 * The `agent` channel: messages that come over HTTP. It has no platform to send to: a reply waits with its turn until
 * the client fetches it, so that sending is done as soon as the reply is stored.
 */

import type { AgentChannel } from "../../../contracts/agent-channel.ts";
import type { ChannelState, CommandHandler, MessageHandler } from "../../../contracts/channel.ts";
import { RuntimeError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";
import { addressOf, externalId, mayFollow } from "../shared/callers.ts";

export interface AgentChannelSettings {
  /** As in `channels.<id>`. */
  readonly id: string;
  /** `channels.<id>.owner_id`: the user name that means the owner. */
  readonly ownerId?: string;
  readonly newId: NewId;
}

type State = "new" | "started" | "stopped";

const STATES: Readonly<Record<State, ChannelState>> = {
  new: { state: "connecting", reason: "the node is starting" },
  started: { state: "up", reason: null },
  stopped: { state: "down", reason: "the node is stopping" },
};

export function createAgentChannel(settings: AgentChannelSettings): AgentChannel {
  let state: State = "new";
  let onMessage: MessageHandler | undefined;
  let onCommand: CommandHandler | undefined;

  /** The handler, if the channel is open. */
  function open<Handler>(handler: Handler | undefined): Handler {
    if (state === "stopped") throw new RuntimeError("RUNTIME_DRAINING", "This node accepts no new messages.");
    if (state === "new" || !handler) throw new RuntimeError("RUNTIME_NOT_READY", "This node is still starting.");
    return handler;
  }

  return {
    id: settings.id,
    platform: "agent",
    async start() {
      state = "started";
    },
    async stop() {
      state = "stopped";
    },
    state: () => STATES[state],
    async send() {
      return null;
    },
    onMessage(handler) {
      onMessage = handler;
    },
    onCommand(handler) {
      onCommand = handler;
    },
    async post(message) {
      const accept = open(onMessage);
      const { owner, address } = addressOf(settings, message);
      return accept({
        address,
        agent: message.agent,
        externalId: externalId(address, message.idempotencyKey ?? settings.newId()),
        text: message.text,
        owner,
        ...(message.attachments?.length ? { attachments: message.attachments } : {}),
        ...(message.history?.length ? { history: message.history } : {}),
        ...(message.task ? { task: message.task } : {}),
      });
    },
    mayFollow,
    async command(command) {
      const run = open(onCommand);
      return run({ ...addressOf(settings, command), agent: command.agent, line: command.line });
    },
  };
}
