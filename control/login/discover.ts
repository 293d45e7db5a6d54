/** Where to log in to an MCP server, and as whom: it says so itself (RFC 9728, RFC 8414), and registers this program (RFC 7591). */

import {
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  type OAuthServerInfo,
  registerClient,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { OAuthError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthClientInformation } from "@modelcontextprotocol/sdk/shared/auth.js";
import { checkResourceAllowed } from "@modelcontextprotocol/sdk/shared/auth-utils.js";
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import { isConfidential, type LoginEndpoints } from "../../runtime/config/index.ts";
import { CairnError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { networkReason } from "../../runtime/contracts/system-errors.ts";
import { visible } from "../output/visible.ts";
import type { LoginServer } from "./target.ts";

/** Milliseconds of one request. */
const DEADLINE_MS = 30_000;
const MAX_BYTES = 1024 * 1024;

type Send = (input: string | URL, init?: RequestInit) => Promise<Response>;
type Metadata = NonNullable<OAuthServerInfo["authorizationServerMetadata"]>;

/** RUNTIME_CONFLICT where the server asks for no login, or not in a way that can be followed; RUNTIME_NOT_READY when it does not answer. */
export async function discoverLogin(
  server: LoginServer,
  redirectUri: string,
  signal: AbortSignal,
): Promise<LoginEndpoints> {
  const send = sender(signal);
  try {
    const asked = await askServer(server, send);
    const found = await discoverOAuthServerInfo(server.url, { ...asked, fetchFn: send });
    const metadata = checkedMetadata(server, found);
    const scopes = server.scopes ?? asked.scope?.split(" ") ?? found.resourceMetadata?.scopes_supported ?? [];
    const client = await clientOf(server, { found, metadata, redirectUri, scope: scopes.join(" "), send });
    return {
      authorizeUrl: metadata.authorization_endpoint,
      tokenUrl: metadata.token_endpoint,
      clientId: client.client_id,
      clientSecret: client.client_secret,
      clientAuth: client.client_secret === undefined ? undefined : authenticationAt(metadata),
      issuer: metadata.issuer,
      resource: found.resourceMetadata?.resource,
      scopes,
    };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CairnError) throw error;
    throw new RuntimeError(
      "RUNTIME_NOT_READY",
      `The login of the MCP server ${server.id} cannot be begun: ${why(error)}.`,
    );
  }
}

/** What the server says when it is asked without a token. */
async function askServer({ id, url }: LoginServer, send: Send): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  const response = await send(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: LATEST_PROTOCOL_VERSION,
        capabilities: {},
        clientInfo: { name: "cairn", version: "0" },
      },
    }),
  });
  await response.body?.cancel();
  if (response.status === 401) {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
    return { ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}), ...(scope ? { scope } : {}) };
  }
  if (response.ok) {
    throw new RuntimeError("RUNTIME_CONFLICT", `The MCP server ${id} asks for no login.`, {
      hint: "See how the node finds it with `cairn status`.",
    });
  }
  throw new RuntimeError("RUNTIME_NOT_READY", `The MCP server ${id} answers with the status ${response.status}.`);
}

function checkedMetadata(server: LoginServer, found: OAuthServerInfo): Metadata {
  const { authorizationServerMetadata: metadata, authorizationServerUrl: issuer, resourceMetadata } = found;
  const refuse = (reason: string) => {
    throw new RuntimeError("RUNTIME_CONFLICT", `The MCP server ${server.id} cannot be logged in to: ${reason}.`, {
      hint: "Ask who runs it, or give it a token of yours as mcp.servers.<id>.headers.Authorization.",
    });
  };
  if (metadata === undefined) return refuse("it does not say where its logins are");
  if (withoutSlash(metadata.issuer) !== withoutSlash(issuer))
    return refuse("its login server has another name than it says");
  const {
    authorization_endpoint,
    token_endpoint,
    registration_endpoint,
    code_challenge_methods_supported: pkce,
  } = metadata;
  for (const address of [authorization_endpoint, token_endpoint, registration_endpoint ?? token_endpoint]) {
    if (!isConfidential(address)) return refuse("an address of its login server is not encrypted");
  }
  if (pkce !== undefined && !pkce.includes("S256")) return refuse("its login server does not take PKCE");
  const resource = resourceMetadata?.resource;
  if (
    resource !== undefined &&
    !checkResourceAllowed({ requestedResource: server.url, configuredResource: resource })
  ) {
    return refuse("it names another server as what the login is for");
  }
  return metadata;
}

interface Registration {
  readonly found: OAuthServerInfo;
  readonly metadata: Metadata;
  readonly redirectUri: string;
  readonly scope: string;
  readonly send: Send;
}

async function clientOf(server: LoginServer, registration: Registration): Promise<OAuthClientInformation> {
  const { id, clientId, clientSecret } = server;
  if (clientId !== undefined) return { client_id: clientId, ...(clientSecret ? { client_secret: clientSecret } : {}) };
  const { found, metadata, redirectUri, scope, send } = registration;
  const own = {
    hint: `Register an application with it, and pass its id with --client-id (mcp.servers.${id}.login.client_id).`,
  };
  if (metadata.registration_endpoint === undefined) {
    throw new RuntimeError("RUNTIME_CONFLICT", `The login server of ${id} registers no programs by itself.`, own);
  }
  try {
    return await registerClient(found.authorizationServerUrl, {
      metadata,
      clientMetadata: {
        client_name: "Cairn",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        ...(scope === "" ? {} : { scope }),
      },
      fetchFn: send,
    });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const words = visible(error.message).slice(0, 200);
    throw new RuntimeError(
      "RUNTIME_CONFLICT",
      `The login server of ${id} does not register this program: ${words}.`,
      own,
    );
  }
}

/** In the body where the server takes that: not all of them decode a secret in the header, as RFC 6749 asks for. */
function authenticationAt({ token_endpoint_auth_methods_supported: methods = [] }: Metadata) {
  return methods.includes("client_secret_post") ? "client_secret_post" : "client_secret_basic";
}

/** Refuses addresses that are not confidential, and answers that are too large. */
function sender(signal: AbortSignal): Send {
  return async (input, init) => {
    if (!isConfidential(String(input))) throw new Error("an address that it names is not encrypted");
    const limited = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
    const response = await fetch(input, { ...init, signal: limited });
    return bounded(response);
  };
}

function bounded(response: Response): Response {
  if (response.body === null) return response;
  let total = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      total += chunk.length;
      if (total <= MAX_BYTES) controller.enqueue(chunk);
      else controller.error(new Error("an answer is too large"));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bound), { status, statusText, headers });
}

function withoutSlash(address: string): string {
  return (URL.parse(address)?.href ?? address).replace(/\/$/, "");
}

function why(error: unknown): string {
  if (error instanceof TypeError || error instanceof DOMException)
    return `it cannot be reached (${networkReason(error)})`;
  if (error instanceof SyntaxError) return "an answer is no JSON";
  return error instanceof Error && error.name === "Error"
    ? visible(error.message).slice(0, 200)
    : "an answer is not as expected";
}
