/** Logins of deployed nodes: each has its own, given to it over its own interface. Nothing of one passes through the stack's state. */

import { existsSync } from "node:fs";
import type { Tokens } from "../../runtime/client/token-endpoint.ts";
import {
  credentialsPath,
  isConfidential,
  type LoginEndpoints,
  removeCredentials,
  withCredentialsLock,
} from "../../runtime/config/index.ts";
import { CairnError, ChannelError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { LoginRecord } from "../../runtime/contracts/logins.ts";
import { UsageError } from "../output/failure.ts";
import { connectToStack, type DeployedNode } from "../service/deployed-node.ts";
import { type DeployedStack, requireNode } from "../service/deployed-stack.ts";
import { serverPart } from "./login.ts";
import { type LoginResult, nodeLogin, resultOnNodes, withoutLogin } from "./result.ts";
import type { LoginTarget } from "./target.ts";

type Members = Pick<DeployedStack, "record" | "nodes" | "members">;

/** The members that are meant: the one of this name, the pods of the node of this name, else all. UsageError for an unknown name. */
export function chosenMembers(stack: Members, named: string | undefined): readonly string[] {
  if (named === undefined) return stack.members.map(({ name }) => name);
  const name = requireNode(stack, named);
  const own = stack.members.filter((member) => member.name === name || member.node === name);
  return own.map((member) => member.name);
}

/** The one that a login is for. UsageError, naming them, where there is a choice. */
export function onlyMember(stack: Members, named: string | undefined, command: string): string {
  const names = chosenMembers(stack, named);
  const [only = ""] = names;
  if (names.length === 1) return only;
  throw new UsageError(
    `Each of ${names.join(", ")} has a login of its own: a refresh token counts once.`,
    `Name one: \`${command} --node ${only}\`.`,
  );
}

/**
 * Before somebody logs in: whether the node would take this login. RUNTIME_CONFLICT where it could not use it, RUNTIME_NOT_FOUND
 * where its configuration has none, RUNTIME_INVALID_REQUEST for a way that is not confidential; errors of the way to it.
 */
export async function checkNode(
  stack: DeployedStack,
  node: string,
  { provider, endpoints, server }: LoginTarget,
  signal: AbortSignal,
): Promise<void> {
  await onNode(stack, node, signal, async (connection) => {
    refuseUnencrypted(connection);
    const record = (await recordsOf(connection, signal)).find((one) => one.provider === provider);
    const bring = `Bring the configuration to it with \`cairn infra up\`, then run \`cairn login ${provider}\` again.`;
    if (record === undefined) {
      const message = `The node ${node} has no login of ${provider} in its configuration.`;
      throw new RuntimeError("RUNTIME_NOT_FOUND", message, { hint: bring });
    }
    if (record.key_comes_first) {
      const message = `The node ${node} uses providers.${provider}.api_key, and would not use a login.`;
      throw new RuntimeError("RUNTIME_CONFLICT", message, { hint: `Remove the key from cairn.yaml. ${bring}` });
    }
    if (record.server_url !== (server?.url ?? null)) {
      const message = `The configuration of the node ${node} has another address for ${provider}.`;
      throw new RuntimeError("RUNTIME_CONFLICT", message, { hint: bring });
    }
    if (endpoints !== null && (record.client_id !== endpoints.clientId || record.token_url !== endpoints.tokenUrl)) {
      const message = `The configuration of the node ${node} has another client id or token address for ${provider}.`;
      throw new RuntimeError("RUNTIME_CONFLICT", message, { hint: bring });
    }
  });
}

/**
 * Gives the node the tokens, and has them nowhere else. Where the node's answer is lost, it is asked whether it has stored them.
 * Errors of the connection: the tokens are lost, or the error says that this is unknown.
 */
export async function keepOnNode(
  stack: DeployedStack,
  node: string,
  { target, endpoints }: { readonly target: LoginTarget; readonly endpoints: LoginEndpoints },
  tokens: Tokens,
  signal: AbortSignal,
): Promise<LoginResult> {
  const { provider, server } = target;
  const login = {
    client_id: endpoints.clientId,
    token_url: endpoints.tokenUrl,
    access_token: tokens.accessToken,
    refresh_token: tokens.refreshToken,
    expires_in: tokens.expiresInS,
    scopes: tokens.scopes ?? endpoints.scopes,
    ...(server === null ? {} : { server: serverPart(server, endpoints) }),
  };
  const recordOf = async (connection: DeployedNode) =>
    (await recordsOf(connection, signal)).find((one) => one.provider === provider);
  const record = await onNode(stack, node, signal, async (connection) => {
    refuseUnencrypted(connection);
    const before = await recordOf(connection);
    try {
      return await connection.client.storeLogin(provider, login, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CairnError) || !WITHOUT_ANSWER.has(error.code)) throw error;
      const after = await onNode(stack, node, signal, recordOf).catch(() => {
        signal.throwIfAborted();
        throw unknownOutcome(node, provider, error);
      });
      if (!after?.logged_in) throw error;
      if (!before?.logged_in || after.expires_at !== before.expires_at) return after;
      // Without an end two logins cannot be told from each other.
      throw after.expires_at === null ? unknownOutcome(node, provider, error) : error;
    }
  });
  return resultOnNodes("login", target, [nodeLogin(node, record)], { changed: true });
}

/** Of a request that may have been done. */
const WITHOUT_ANSWER: ReadonlySet<string> = new Set(["CHANNEL_CONNECTION_LOST", "RUNTIME_NOT_READY"]);

function unknownOutcome(node: string, provider: string, cause: CairnError): ChannelError {
  const message = `It is unknown whether the node ${node} has stored the login: ${cause.message}`;
  return new ChannelError("CHANNEL_CONNECTION_LOST", message, {
    cause,
    hint: `See \`cairn login ${provider} --status --node ${node}\` once it answers, and log in again where there is none.`,
  });
}

/** A node that does not answer is one that is not logged in, with the reason. */
export async function statusOnNodes(
  stack: DeployedStack,
  names: readonly string[],
  target: LoginTarget,
  signal: AbortSignal,
): Promise<LoginResult> {
  const nodes = await Promise.all(
    names.map(async (node) => {
      try {
        const records = await onNode(stack, node, signal, (connection) => recordsOf(connection, signal));
        const record = records.find((one) => one.provider === target.provider);
        return record === undefined
          ? withoutLogin(node, `Its configuration has no login of ${target.provider}.`)
          : nodeLogin(node, record);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof CairnError)) throw error;
        return withoutLogin(node, error.message);
      }
    }),
  );
  return resultOnNodes("status", target, nodes, { changed: false });
}

/** Also removes what this machine still has from the time before it was deployed: nothing here uses it any more. */
export async function logOutOnNode(
  stack: DeployedStack,
  node: string,
  target: LoginTarget,
  signal: AbortSignal,
): Promise<LoginResult> {
  const { provider, home } = target;
  const removed = await onNode(stack, node, signal, async (connection) => {
    // Says of a node of an older version what it is.
    await recordsOf(connection, signal);
    return (await connection.client.removeLogin(provider, { signal })).removed;
  });
  const own = credentialsPath(home, provider);
  // No directory is made here for a lock around nothing.
  const here =
    existsSync(own) && (await withCredentialsLock(home, provider, () => removeCredentials(home, provider), signal));
  const file = here ? own : null;
  return resultOnNodes("logout", target, [withoutLogin(node, null)], { changed: removed || here, file });
}

async function onNode<T>(
  stack: DeployedStack,
  node: string,
  signal: AbortSignal,
  work: (connection: DeployedNode) => Promise<T>,
): Promise<T> {
  const connection = await connectToStack(stack, signal, { node });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

async function recordsOf({ client, node }: DeployedNode, signal: AbortSignal): Promise<readonly LoginRecord[]> {
  try {
    return await client.logins({ signal });
  } catch (error) {
    if (!(error instanceof CairnError) || error.code !== "RUNTIME_NOT_FOUND") throw error;
    throw new RuntimeError("RUNTIME_CONFLICT", `The node ${node} is of a version that takes no login.`, {
      hint: "Bring it to this version with `cairn update`, or use an API key there.",
    });
  }
}

function refuseUnencrypted({ url, node }: DeployedNode): void {
  if (isConfidential(url)) return;
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", `The way to the node ${node} is not encrypted (${url}).`, {
    hint: "A login is sent over TLS, an SSH tunnel or this machine's loopback alone. Set runtime.tls, then `cairn infra up`.",
  });
}
