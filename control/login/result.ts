/** The document of `cairn login --json`. Never a token. Pure. */

import { type Credentials, credentialsPath, isUsable, problemOf } from "../../runtime/config/index.ts";
import type { LoginRecord } from "../../runtime/contracts/logins.ts";
import type { LoginTarget } from "./target.ts";

export type LoginAction = "login" | "logout" | "status";

/** What is known of a login, wherever it is. */
interface LoginState {
  /** Whether a call could be made now, maybe after a refresh. */
  readonly logged_in: boolean;
  readonly expires_at: string | null;
  /** Whether the token can be refreshed at its end without a new login. */
  readonly renewable: boolean;
  readonly scopes: readonly string[];
  /** False where an API key of the configuration comes first. */
  readonly in_use: boolean;
  /** Why there is none that can be used, besides that there is none or that it is over; null: nothing more is known. */
  readonly problem: string | null;
}

export interface NodeLogin extends LoginState {
  readonly node: string;
}

export interface LoginResult extends LoginState {
  readonly schema: 1;
  readonly action: LoginAction;
  readonly provider: string;
  /** Whether the command changed something. */
  readonly changed: boolean;
  /** Of this machine; null where it is about nodes and this machine has none, or a logout has removed it. */
  readonly file: string | null;
  /** Whether it is about nodes of a deployed stack. */
  readonly deployed: boolean;
  /** Those that it is about; empty for the login of this machine. */
  readonly nodes: readonly NodeLogin[];
}

const NOTHING: LoginState = {
  logged_in: false,
  expires_at: null,
  renewable: false,
  scopes: [],
  in_use: false,
  problem: null,
};

export function resultHere(
  action: LoginAction,
  { provider, home, keyComesFirst, endpoints, server }: LoginTarget,
  credentials: Credentials | null,
  { changed, now }: { readonly changed: boolean; readonly now: Date },
): LoginResult {
  return {
    schema: 1,
    action,
    provider,
    logged_in: credentials !== null && isUsable(credentials, now),
    changed,
    file: credentialsPath(home, provider),
    expires_at: credentials?.expires_at ?? null,
    renewable: credentials !== null && credentials.refresh_token !== null,
    scopes: credentials?.scopes ?? [],
    in_use: credentials !== null && (endpoints ?? server) !== null && !keyComesFirst,
    problem: credentials === null ? null : problemOf(credentials),
    deployed: false,
    nodes: [],
  };
}

/** In the place of one login: that of the only node, else what holds for all of them. */
export function resultOnNodes(
  action: LoginAction,
  { provider }: LoginTarget,
  nodes: readonly NodeLogin[],
  { changed, file = null }: { readonly changed: boolean; readonly file?: string | null },
): LoginResult {
  const [first = NOTHING, ...others] = nodes;
  const { logged_in, expires_at, renewable, scopes, in_use, problem } =
    others.length === 0
      ? first
      : {
          ...NOTHING,
          logged_in: nodes.every((one) => one.logged_in),
          renewable: nodes.every((one) => one.renewable),
          in_use: nodes.every((one) => one.in_use),
        };
  return {
    schema: 1,
    action,
    provider,
    logged_in,
    changed,
    file,
    expires_at,
    renewable,
    scopes,
    in_use,
    problem,
    deployed: true,
    nodes,
  };
}

export function nodeLogin(node: string, record: LoginRecord): NodeLogin {
  const { logged_in, expires_at, renewable, scopes, key_comes_first, problem } = record;
  return { node, logged_in, expires_at, renewable, scopes, in_use: logged_in && !key_comes_first, problem };
}

export function withoutLogin(node: string, problem: string | null): NodeLogin {
  return { ...NOTHING, node, problem };
}
