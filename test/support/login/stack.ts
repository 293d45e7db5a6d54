/** A stack on the real Docker engine whose agents think with a login, and the servers of that login, as its containers reach them. */

import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { onTestFinished, vi } from "vitest";
import { type Credentials, credentialsPath } from "../../../runtime/config/credentials.ts";
import { startAnthropicFake } from "../../fakes/anthropic/index.ts";
import type { OAuthFake } from "../../fakes/oauth/index.ts";
import type { FakeServer } from "../../fakes/shared/server.ts";
import { identity } from "../certificates.ts";
import { temporaryDirectory } from "../deployment.ts";
import { docker, uniqueName } from "../docker/containers.ts";
import { ensureTestImages } from "../docker/images.ts";
import { removeStack } from "../docker-lane.ts";
import { type Operator, operator } from "../operator.ts";
import { freePort } from "../ports.ts";
import { tlsFront } from "../tls-front.ts";
import { consenting } from "./consent.ts";
import { CLIENT_ID, oauthFake } from "./credentials.ts";

/** Seconds that access tokens count. */
const EXPIRES_IN_S = 5;

export interface LoginStack extends Operator {
  readonly name: string;
  readonly oauth: OAuthFake;
  /** An API that takes the tokens that count now, and nothing else. */
  readonly api: FakeServer;
  /** Names of two images, which differ. */
  readonly images: readonly [string, string];
  /** Of the commands, from the first `up` on. */
  readonly home: string;
  /** cairn.yaml, with another setting of all nodes. */
  write(rounds: number): Promise<void>;
  /** `cairn login --node`, and the user who agrees in the browser. */
  logIn<T>(node: string): Promise<T>;
  /** What the agent of this node answers. */
  ask(node: string, text: string): Promise<string>;
  /** What the node has on its volume. */
  stored(node: string): Promise<Credentials>;
}

/** Built and configured, not deployed. Each node has the agent `of-NODE`. Ends with the test. */
export async function loginStack(token: string, nodes: readonly string[]): Promise<LoginStack> {
  const { node: base, postgres } = await ensureTestImages();
  const name = uniqueName("cairn-login");
  const address = await docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", "bridge");
  const authority = await identity({ isAuthority: true });
  const server = await identity({ address, signedBy: authority });
  const oauth = await oauthFake({ expiresInS: EXPIRES_IN_S });
  const api = await startAnthropicFake({ apiKey: (given) => (oauth.accepts(given) ? (given ?? null) : null) });
  onTestFinished(() => api.close());
  const at = await tlsFront(oauth.url, address, server);
  const login = { client_id: CLIENT_ID, authorize_url: `${at}/authorize`, token_url: `${at}/token` };
  const anthropic = { model: "claude-sonnet-4-6", base_url: await tlsFront(api.url, address, server), login };

  const trusted = join(await temporaryDirectory(), "authority.pem");
  await writeFile(trusted, authority.cert);
  const images = [`${name}:1`, `${name}:2`] as const;
  // No page of this machine's user is opened.
  const typed = await operator(token, { NODE_EXTRA_CA_CERTS: trusted, BROWSER: "true" });
  onTestFinished(() => removed(name, images));
  const ports = await Promise.all(nodes.map(() => freePort()));
  const configuration = (rounds: number) => ({
    version: 1,
    runtime: { default_agent: `of-${nodes[0]}`, max_tool_iterations: rounds, tls: "auto" },
    agents: Object.fromEntries(nodes.map((node) => [`of-${node}`, { provider: "anthropic", node }])),
    providers: { anthropic },
    memory: { postgres: {} },
    deployment: {
      name,
      target: "docker",
      nodes: nodes.map((node, index) => ({ name: node, port: ports[index] })),
      docker: { network: name },
      datahub: { postgres: true, image: postgres },
    },
  });
  const write = (rounds: number) => typed.configure(configuration(rounds));
  await write(50);
  for (const image of images) {
    await typed.cairn("build", "--base-image", await baseThatTrusts(authority.cert, base, image), "--tag", image);
  }
  // The engine's plugins and programs are this machine's; what the commands write is the test's.
  const home = await temporaryDirectory();
  vi.stubEnv("PULUMI_HOME", process.env["PULUMI_HOME"] ?? join(homedir(), ".pulumi"));
  vi.stubEnv("HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  return {
    ...typed,
    name,
    oauth,
    api,
    images,
    home,
    write,
    logIn: (node) => typed.heard(consenting(oauth, login.authorize_url), "login", "--node", node),
    ask: async (node, text) => {
      const { text: answer } = await typed.cairn<{ text: string }>(
        "chat",
        "--agent",
        `of-${node}`,
        "--node",
        node,
        text,
      );
      return answer;
    },
    stored: async (node) =>
      JSON.parse(await docker("exec", `${name}-${node}`, "cat", credentialsPath("/var/lib/cairn", "anthropic"))),
  };
}

/** As an operator's own base does it for a server with a certificate of the house. */
async function baseThatTrusts(certificate: string, base: string, forImage: string): Promise<string> {
  const context = await temporaryDirectory();
  const name = `${forImage}-base`;
  await mkdir(context, { recursive: true });
  await writeFile(join(context, "authority.pem"), certificate);
  await writeFile(
    join(context, "Dockerfile"),
    [
      `FROM ${base}`,
      `LABEL dev.cairn.test="${forImage}"`,
      "COPY authority.pem /usr/local/share/authority.pem",
      'RUN cat "${NODE_EXTRA_CA_CERTS:-/dev/null}" /usr/local/share/authority.pem > /usr/local/share/trusted.pem',
      "ENV NODE_EXTRA_CA_CERTS=/usr/local/share/trusted.pem",
      "",
    ].join("\n"),
  );
  await docker("build", "--quiet", "--tag", name, context);
  return name;
}

async function removed(name: string, images: readonly string[]): Promise<void> {
  await removeStack(name);
  const { stdout } = await execa("docker", ["volume", "ls", "--quiet", "--filter", `name=${name}`], { reject: false });
  const volumes = stdout.split("\n").filter((line) => line !== "");
  if (volumes.length > 0) await execa("docker", ["volume", "rm", "--force", ...volumes], { reject: false });
  const all = images.flatMap((image) => [image, `${image}-base`]);
  await execa("docker", ["image", "rm", "--force", ...all], { reject: false });
}
