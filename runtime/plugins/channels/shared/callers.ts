/** Who speaks through a route of this node: the owner, a token, or a user that a token names. */

import type { AgentCaller } from "../../../contracts/agent-channel.ts";
import type { Address } from "../../../contracts/channel.ts";
import { RuntimeError } from "../../../contracts/errors.ts";

export interface Sender {
  readonly session: string;
  readonly user?: string;
  readonly caller: AgentCaller;
}

export interface SenderSettings {
  /** As in `channels.<id>`. */
  readonly id: string;
  /** `channels.<id>.owner_id`: the user name that means the owner. */
  readonly ownerId?: string | undefined;
}

/** Users of tokens begin with it, and no others. */
const TOKEN_USER = "token:";

export function addressOf(settings: SenderSettings, sender: Sender): { owner: boolean; address: Address } {
  const { owner, user } = identify(sender, settings.ownerId);
  return { owner, address: { channel: settings.id, conversation: sender.session, user } };
}

/** Whether a turn of this channel-side user is the caller's to see. */
export function mayFollow(caller: AgentCaller, user: string): boolean {
  return caller.owner || user === own(caller) || user.startsWith(`${own(caller)}/`);
}

/** The key belongs to its sender: another user's equal key in a session of the same name is another message. */
export function externalId(address: Address, key: string): string {
  return `${encodeURIComponent(address.user.toWellFormed())}:${key}`;
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
