/** The login to a provider or an MCP server, as a node has it and as it is given one. */

/** Never a token. */
export interface LoginRecord {
  /** As in `providers.<id>`; `mcp.<id>` for `mcp.servers.<id>`. */
  readonly provider: string;
  /** Whether a call could be made now, maybe after a refresh. */
  readonly logged_in: boolean;
  /** ISO 8601; null: unknown, or no login. */
  readonly expires_at: string | null;
  /** Whether the token can be refreshed at its end without a new login. */
  readonly renewable: boolean;
  readonly scopes: readonly string[];
  /** An API key or header of the configuration comes first: a login would not be used. */
  readonly key_comes_first: boolean;
  /** Of the node's configuration: a login of another application, or of another server, could not be refreshed. Of an MCP server those of its login; null: it has none. */
  readonly client_id: string | null;
  readonly token_url: string | null;
  /** Address of the MCP server in the node's configuration; null for a provider. */
  readonly server_url: string | null;
  /** Why what is stored cannot be used; null: it can, or there is nothing. */
  readonly problem: string | null;
}

/** Fresh tokens, and whose they are. */
export interface GivenLogin {
  readonly client_id: string;
  readonly token_url: string;
  readonly access_token: string;
  /** Null: the login ends with the access token. */
  readonly refresh_token: string | null;
  /** Seconds from now on; null when the provider did not send it. */
  readonly expires_in: number | null;
  readonly scopes: readonly string[];
  /** Of an MCP server. */
  readonly server?: GivenServerLogin | undefined;
}

/** What a refresh of a login to an MCP server needs besides. */
export interface GivenServerLogin {
  readonly server_url: string;
  readonly issuer: string;
  /** Null: a public client. */
  readonly client_secret: string | null;
  readonly client_auth: "client_secret_basic" | "client_secret_post" | null;
  /** What the tokens are for; null: the server does not say. */
  readonly resource: string | null;
}

/** The logins of one node: each has its own, because a refresh token counts once. */
export interface Logins {
  /** Of the providers whose configuration has a login, and of the MCP servers that would use one, in its order. */
  list(): Promise<readonly LoginRecord[]>;
  /**
   * In place of the one before; in use from the next request on. RUNTIME_NOT_FOUND for a provider without a login in the
   * configuration, or an unknown MCP server, RUNTIME_CONFLICT where it could not be used or refreshed here, CONFIG_UNWRITABLE.
   */
  store(provider: string, login: GivenLogin): Promise<LoginRecord>;
  /** Whether there was one. RUNTIME_NOT_FOUND for what the configuration does not have. */
  remove(provider: string): Promise<boolean>;
}
