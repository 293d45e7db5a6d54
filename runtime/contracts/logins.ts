/** The subscription login of a provider, as a node has it and as it is given one. */

/** Never a token. */
export interface LoginRecord {
  /** As in `providers.<id>`. */
  readonly provider: string;
  /** Whether a call could be made now, maybe after a refresh. */
  readonly logged_in: boolean;
  /** ISO 8601; null: unknown, or no login. */
  readonly expires_at: string | null;
  /** Whether the token can be refreshed at its end without a new login. */
  readonly renewable: boolean;
  readonly scopes: readonly string[];
  /** An API key of the configuration comes first: a login would not be used. */
  readonly key_comes_first: boolean;
  /** Of the node's configuration: a login of another application, or of another server, could not be refreshed. */
  readonly client_id: string;
  readonly token_url: string;
  /** Why what is stored cannot be used; null: it can, or there is nothing. */
  readonly problem: string | null;
}

/** Fresh tokens of the provider, and whose they are. */
export interface GivenLogin {
  readonly client_id: string;
  readonly token_url: string;
  readonly access_token: string;
  /** Null: the login ends with the access token. */
  readonly refresh_token: string | null;
  /** Seconds from now on; null when the provider did not send it. */
  readonly expires_in: number | null;
  readonly scopes: readonly string[];
}

/** The logins of one node: each has its own, because a refresh token counts once. */
export interface Logins {
  /** Of the providers whose configuration has a login, in its order. */
  list(): Promise<readonly LoginRecord[]>;
  /**
   * In place of the one before; in use from the next request on. RUNTIME_NOT_FOUND for a provider without a login in the
   * configuration, RUNTIME_CONFLICT where it could not be used or refreshed here, CONFIG_UNWRITABLE.
   */
  store(provider: string, login: GivenLogin): Promise<LoginRecord>;
  /** Whether there was one. RUNTIME_NOT_FOUND for a provider that the configuration does not have. */
  remove(provider: string): Promise<boolean>;
}
