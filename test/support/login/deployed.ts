/** A running node with a provider that is configured for a login, and a directory that has deployed it. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startAnthropicFake } from "../../fakes/anthropic/index.ts";
import type { OAuthFake } from "../../fakes/oauth/index.ts";
import type { FakeServer } from "../../fakes/shared/server.ts";
import { type Cli, createCli, type Outcome, outcomeOf } from "../cli.ts";
import { deployedDirectory } from "../deployed-directory.ts";
import { type Deployment, type NodeProcess, TOKEN } from "../node-process.ts";
import { freePort } from "../ports.ts";
import { deploymentOf, runningNode } from "../running-node.ts";
import { consenting } from "./consent.ts";
import { CLIENT_ID, oauthFake } from "./credentials.ts";

export interface DeployedLogin {
  readonly oauth: OAuthFake;
  /** An API that takes the token that counts now, and nothing else. */
  readonly api: FakeServer;
  /** The node's own. */
  readonly deployment: Deployment;
  /** At the port that the operator's directory has of it. */
  start(): Promise<NodeProcess>;
  /** Of the operator's directory. */
  readonly cli: Cli;
  readonly env: NodeJS.ProcessEnv;
  /** `cairn login`, and the user who agrees in the browser. */
  logIn(...argv: readonly string[]): Promise<Outcome>;
}

/** `node`: of the node's configuration, in place of what the operator's directory says. */
export async function deployedLogin(
  node: { readonly login?: object; readonly key?: string } = {},
): Promise<DeployedLogin> {
  const oauth = await oauthFake();
  const api = await startAnthropicFake({ apiKey: () => oauth.accessToken() });
  onTestFinished(() => api.close());
  const port = await freePort();
  const { authorizeUrl: authorize_url, tokenUrl: token_url } = oauth;
  const login = { client_id: CLIENT_ID, authorize_url, token_url };
  const anthropic = { model: "claude-sonnet-4-6", base_url: api.baseUrl, max_retries: 0 };
  const deployment = await deploymentOf({
    config: {
      agents: { main: { provider: "anthropic" } },
      providers: {
        anthropic: { ...anthropic, login: { ...login, ...node.login }, ...(node.key ? { api_key: node.key } : {}) },
      },
    },
  });
  const cli = await createCli({ configured: false });
  await deployedDirectory(cli.home, {
    ports: { one: port },
    shared: false,
    agents: "{ main: { provider: anthropic } }",
    providers: JSON.stringify({ anthropic: { ...anthropic, login } }),
  });
  const env = { SERVICE_API_TOKEN: TOKEN };
  return {
    oauth,
    api,
    deployment,
    start: () => runningNode(deployment, { env: { SERVICE_LISTEN: `127.0.0.1:${port}` } }),
    cli,
    env,
    async logIn(...argv) {
      const child = cli.start(["login", ...argv], { env });
      const agree = consenting(oauth);
      child.stderr?.on("data", (piece: Buffer) => agree(piece.toString("utf8")));
      return outcomeOf(child);
    },
  };
}

/** The files below a directory that hold one of the words, `credentials/` left out. */
export async function filesWith(dir: string, words: readonly string[]): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("/credentials"))
    .map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(file);
      return words.some((word) => bytes.includes(word)) ? [file] : [];
    }),
  );
  return found.flat();
}
