/** `cairn login` of nodes in containers: each has its own, refreshes and keeps it, and nothing beside its volume has a token. */

import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { credentialsPath } from "../../runtime/config/credentials.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { lacks } from "../lanes/tools.ts";
import { docker } from "../support/docker/containers.ts";
import { IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { filesWith } from "../support/login/deployed.ts";
import { type LoginStack, loginStack } from "../support/login/stack.ts";
import { dumped, exported, filesInContainer, inspected, logOf, processesOf } from "../support/login/traces.ts";

const TOKEN = "cairn_test-token-of-a-stack-with-logins";
const NODES = ["one", "two"] as const;
const KEPT = credentialsPath("/var/lib/cairn", "anthropic");

interface Status {
  readonly logged_in: boolean;
  readonly nodes: readonly { readonly node: string; readonly logged_in: boolean }[];
}

describe.skipIf(lacks("pulumi-docker", "pulumi-command"))("a fleet on docker whose agents think with a login", () => {
  it("has one a node, over refreshes, a restart and another image, and the tokens are on the volumes alone", {
    timeout: IMAGES_TIMEOUT_MS,
  }, async () => {
    const stack = await loginStack(TOKEN, NODES);
    const { cairn, document, refused, oauth, images } = stack;
    await cairn("infra", "up", "--yes", "--image", images[0]);

    expect(await loggedIn(stack)).toEqual([]);
    const nobody = await refused("chat", "--agent", "of-one", "--node", "one", "hello");
    expect(nobody).toMatchObject({ code: "PROVIDER_UNAUTHORIZED", hint: expect.stringContaining("cairn login") });
    expect(await refused("login")).toMatchObject({ message: expect.stringContaining("one, two") });

    expect(await stack.logIn("one")).toMatchObject({ nodes: [{ node: "one", logged_in: true, renewable: true }] });
    expect(await loggedIn(stack)).toEqual(["one"]);
    await stack.logIn("two");
    expect(await document<Status>("login", "--status")).toMatchObject({ logged_in: true, deployed: true, file: null });
    expect(await loggedIn(stack)).toEqual(["one", "two"]);
    for (const node of NODES) {
      expect(await docker("exec", `${stack.name}-${node}`, "stat", "--format", "%a %u", KEPT)).toBe("600 1000");
      await isUsed(stack, node);
      await isRefreshed(stack, node);
    }

    await docker("restart", `${stack.name}-one`);
    await isServing(stack);
    for (const node of NODES) await isRefreshed(stack, node);

    const before = await containers(stack);
    await stack.write(40);
    await cairn("infra", "up", "--roll", "--yes", "--image", images[1]);
    const after = await containers(stack);
    expect(after.filter(({ id, image }) => before.some((one) => one.id === id || one.image === image))).toEqual([]);
    for (const node of NODES) await isRefreshed(stack, node);
    expect(oauth.counts.authorization_code).toBe(2);
    expect(oauth.reused()).toBe(false);

    await areNowhereElse(stack);

    expect(await cairn("login", "--logout", "--node", "one")).toMatchObject({ changed: true, file: null });
    expect(await filesInContainer(`${stack.name}-one`, oauth.issued())).toEqual([]);
    expect(await loggedIn(stack)).toEqual(["two"]);
    expect(await refused("chat", "--agent", "of-one", "--node", "one", "hello")).toMatchObject({
      code: "PROVIDER_UNAUTHORIZED",
    });
    await stack.ask("two", "still there?");
    expect(await homeOf(stack)).not.toContain("credentials");
  });
});

async function loggedIn({ document }: LoginStack): Promise<string[]> {
  const { nodes } = await document<Status>("login", "--status");
  expect(nodes.map(({ node }) => node)).toEqual([...NODES]);
  return nodes.flatMap((one) => (one.logged_in ? [one.node] : []));
}

/** A turn reaches the API with a token, and with none of another node. */
async function isUsed({ ask, stored, api, oauth }: LoginStack, node: string): Promise<void> {
  // What others said is remembered: this one is said once.
  const text = `hello from ${node}, ${randomUUID()}`;
  expect(await ask(node, text)).toContain("echo");
  const request = api.requests.findLast(({ texts }) => texts.some((one) => one.includes(text)));
  const [, token = ""] = /^Bearer (.+)$/.exec(request?.headers["authorization"] ?? "") ?? [];
  expect(oauth.issued()).toContain(token);
  const others = await Promise.all(NODES.filter((other) => other !== node).map((other) => stored(other)));
  expect(others.map(({ access_token }) => access_token)).not.toContain(token);
}

/** Turns go on after the end of the access token, and the volume has what came in its place. */
async function isRefreshed(stack: LoginStack, node: string): Promise<void> {
  const { refresh_token: former } = await stack.stored(node);
  await expect
    .poll(
      async () => {
        await isUsed(stack, node);
        return (await stack.stored(node)).refresh_token;
      },
      { timeout: EVENTUALLY_MS },
    )
    .not.toBe(former);
}

async function isServing({ document }: LoginStack): Promise<void> {
  const healthy = async () => (await document<{ healthy: boolean }>("infra", "status")).healthy;
  await expect.poll(healthy, { timeout: EVENTUALLY_MS }).toBe(true);
}

async function containers({ name }: LoginStack): Promise<{ readonly id: string; readonly image: string }[]> {
  const lines = await docker("inspect", "--format", "{{.Id}} {{.Image}}", ...NODES.map((node) => `${name}-${node}`));
  return lines.split("\n").map((line) => {
    const [id = "", image = ""] = line.split(" ");
    return { id, image };
  });
}

/** All tokens that were ever given, former ones too. Each text is seen to be the right one by what it does hold. */
async function areNowhereElse({ name, dir, home, images, oauth, stored, printed, kept }: LoginStack): Promise<void> {
  const tokens = oauth.issued();
  const now = await Promise.all(NODES.map((node) => stored(node)));
  const counting = now.flatMap((one) => [one.access_token, one.refresh_token ?? ""]);
  expect(counting.filter((token) => !tokens.includes(token))).toEqual([]);
  const former = tokens.filter((token) => !counting.includes(token));
  expect(former.length).toBeGreaterThan(8);
  for (const node of NODES) {
    expect(await filesInContainer(`${name}-${node}`, counting)).toEqual([KEPT]);
    expect(await filesInContainer(`${name}-${node}`, former)).toEqual([]);
  }

  const texts: (readonly [holds: string, text: string])[] = [
    ['"logged_in":', printed()],
    ["SERVICE_HOME", await inspected(name, images)],
    ["hello from two", await dumped(`${name}-postgres`)],
    [TOKEN, await exported(dir, name)],
    ["encryptionsalt", await kept()],
  ];
  for (const node of NODES) {
    texts.push(["SERVICE_HOME=/var/lib/cairn", await processesOf(`${name}-${node}`)]);
    texts.push(["login refreshed", await logOf(`${name}-${node}`)]);
  }
  for (const [holds, text] of texts) {
    expect(text).toContain(holds);
    expect(tokens.filter((token) => text.includes(token))).toEqual([]);
  }
  expect(await filesWith(home, tokens)).toEqual([]);
  expect(await filesWith(dir, tokens)).toEqual([]);
  expect(await filesWith(dir, [TOKEN])).toEqual([join(dir, ".env")]);
}

/** What the operator's own home directory has, if there is one. */
async function homeOf({ dir }: LoginStack): Promise<string[]> {
  return readdir(join(dir, "home")).catch(() => []);
}
