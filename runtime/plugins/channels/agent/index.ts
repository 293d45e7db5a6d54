/**
 * The `agent` channel: messages that come over HTTP. It has no platform to send to: a reply waits with its turn until
 * the client fetches it, so that sending is done as soon as the reply is stored.
 */

import type { AgentCaller, AgentChannel } from "../../../contracts/agent-channel.ts";
import type { Address, ChannelState, CommandHandler, MessageHandler } from "../../../contracts/channel.ts";
import { RuntimeError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";

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

/** Users of tokens begin with it, and no others. */
const TOKEN_USER = "token:";

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
    mayFollow(caller, user) {
      return caller.owner || user === own(caller) || user.startsWith(`${own(caller)}/`);
    },
    async command(command) {
      const run = open(onCommand);
      return run({ ...addressOf(settings, command), agent: command.agent, line: command.line });
    },
  };
}

interface Sender {
  readonly session: string;
  readonly user?: string;
  readonly caller: AgentCaller;
}

function addressOf(settings: AgentChannelSettings, sender: Sender): { owner: boolean; address: Address } {
  const { owner, user } = identify(sender, settings.ownerId);
  return { owner, address: { channel: settings.id, conversation: sender.session, user } };
}

/**
 * The sender. The owner's user is empty, whatever `owner_id` says today, so that a changed configuration keeps their
 * sessions. Any other token never acts as the owner, nor as another token's users: it acts for itself, and the users
 * that it names are its own.
 */
function identify({ user, caller }: Sender, ownerId: string | undefined): { owner: boolean; user: string } {
  if (!caller.owner) return { owner: false, user: user === undefined ? own(caller) : `${own(caller)}/${user}` };
  if (user === undefined || user === ownerId) return { owner: true, user: "" };
  if (user.startsWith(TOKEN_USER)) {
    const issues = [{ path: "user", message: `must not begin with ${TOKEN_USER}, as the users of tokens do` }];
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", "This user cannot be named.", { issues });
  }
  return { owner: false, user };
}

/** A token's own user, by its id: a later token with the name of a revoked one is another user. No id holds a slash. */
function own(caller: AgentCaller): string {
  return `${TOKEN_USER}${caller.id}`;
}

/** The key belongs to its sender: another user's equal key in a session of the same name is another message. */
function externalId(address: Address, key: string): string {
  return `${encodeURIComponent(address.user.toWellFormed())}:${key}`;
}
