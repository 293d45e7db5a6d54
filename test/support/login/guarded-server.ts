/** An MCP server over HTTP that takes the tokens of a login alone, and says where that is. */

import { onTestFinished } from "vitest";
import { type McpHttpFake, startMcpHttpFake } from "../../fakes/mcp/http.ts";
import { type OAuthFake, type OAuthFakeOptions, startOAuthFake } from "../../fakes/oauth/index.ts";

export interface GuardedServer {
  readonly server: McpHttpFake;
  readonly oauth: OAuthFake;
  /** `Authorization` of each request to the server itself. */
  readonly authorizations: (string | undefined)[];
}

/** `resource`: what the server says of itself in place of the truth. */
export async function guardedServer(
  options: Partial<OAuthFakeOptions> = {},
  resource: Readonly<Record<string, unknown>> = {},
): Promise<GuardedServer> {
  const server = await startMcpHttpFake();
  const oauth = await startOAuthFake({
    clientId: "registered-client",
    registers: "public",
    resource: server.url,
    ...options,
  });
  onTestFinished(async () => {
    await server.close();
    await oauth.close();
  });
  const authorizations: (string | undefined)[] = [];
  const { origin } = new URL(server.url);
  server.intercept = ({ url, headers: { authorization } }, response) => {
    if (url === "/.well-known/oauth-protected-resource/mcp") {
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          resource: server.url,
          authorization_servers: [oauth.url],
          scopes_supported: ["tools"],
          ...resource,
        }),
      );
      return true;
    }
    authorizations.push(authorization);
    if (oauth.accepts(authorization?.replace(/^Bearer /, ""))) return false;
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
    return true;
  };
  return { server, oauth, authorizations };
}
