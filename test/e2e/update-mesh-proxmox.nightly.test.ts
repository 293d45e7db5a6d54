/**
 * `update --mesh` of two CTs by the commands that an operator types; the host is the tests' own, with `pct` played and real containers
 * behind it.
 */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { UpdateHistory, UpdateResult } from "../../control/update/result.ts";
import { lacks } from "../lanes/tools.ts";
import { uniqueName } from "../support/docker/containers.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type LoadReport, startLoad, summaryOf } from "../support/fleet-load.ts";
import { type Operator, operator } from "../support/operator.ts";
import { type ProxmoxTestHost, startProxmox } from "../support/proxmox/host.ts";

const TOKEN = "cairn_test-token-of-a-deployed-fleet";
const NODES = ["ada", "bob"];
const [FIRST_VMID, PORT, FORWARDED] = [700, 7433, 7499];
const FAILS = 'ENTRYPOINT ["node", "-e", "console.error(\\"out of order\\"); process.exit(3)"]';
/** In the network of a CT: the node's port is published on its loopback alone. */
const FORWARD = `const net = require("node:net");
net.createServer((socket) => {
  const there = net.connect(${PORT}, "127.0.0.1");
  for (const [one, other] of [[socket, there], [there, socket]]) {
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
    one.pipe(other);
  }
}).listen(${FORWARDED}, "0.0.0.0", () => console.log("listening"));`;

describe.skipIf(lacks("lxc", "docker-images", "pulumi-command"))("update --mesh on proxmox", () => {
  let host: ProxmoxTestHost;
  beforeAll(async () => {
    host = await startProxmox();
  }, IMAGES_TIMEOUT_MS);
  afterAll(() => host?.stop(), IMAGES_TIMEOUT_MS);

  it("gives each node another image under load, and both get back what they had where it fails", {
    timeout: 3 * IMAGES_TIMEOUT_MS,
  }, async () => {
    const { stack, imageOf } = await deployed(host);
    const ran = await imagesOf(host);
    const second = await imageOf("2");
    const urls = await Promise.all(NODES.map(async (name, index) => [name, await forward(host, index)] as const));
    const load = startLoad(Object.fromEntries(urls), TOKEN);
    expect(await stack.cairn<UpdateResult>("update", "--mesh", "--prebuilt", second)).toMatchObject({
      outcome: "updated",
    });
    const report = await load.stop();
    console.log(`update --mesh of two CTs: ${summaryOf(report)}`);
    await expectAnswered(host, report);
    expect(report.fewest).toBe(1);
    const given = await imagesOf(host);
    expect(new Set(given).size).toBe(1);
    expect(given).not.toEqual(ran);
    const history = async () => (await stack.cairn<UpdateHistory>("update", "--mesh", "--history")).rollouts;
    const [passed] = await history();
    expect(passed?.outcome).toBe("passed");
    expect(passed?.done.toSorted()).toEqual(NODES);
    expect(await stack.cairn("infra", "preview")).toMatchObject({ changes: [] });

    const failing = await imageOf("3", FAILS);
    expect(await stack.document<UpdateResult>("update", "--mesh", "--prebuilt", failing)).toMatchObject({
      outcome: "rolled_back",
      last_words: expect.arrayContaining([expect.stringContaining("out of order")]),
    });
    expect(await imagesOf(host)).toEqual(given);
    expect((await history())[0]).toMatchObject({ outcome: "rolled_back", done: [], failed: passed?.done[0] });
    expect(await stack.cairn("infra", "preview")).toMatchObject({ changes: [] });
  });
});

interface Deployed {
  readonly stack: Operator;
  /** Another image of the same program. `steps`: lines of a Dockerfile on top of it. */
  imageOf(tag: string, steps?: string): Promise<string>;
}

async function deployed(host: ProxmoxTestHost): Promise<Deployed> {
  const images = await ensureTestImages();
  const name = uniqueName("mesh");
  const made = new Set([`${name}:1`]);
  onTestFinished(async () => void (await execa("docker", ["image", "rm", "--force", ...made], { reject: false })));
  const stack = await operator(TOKEN);
  const { ssh, dataDir } = host;
  const { template, storage, bridge, gateway } = host.plan();
  const network = gateway?.replace(/\.1$/, "") ?? "";
  await stack.configure({
    version: 1,
    agents: { main: {} },
    providers: { offline: {} },
    memory: { postgres: {} },
    deployment: {
      name: "mesh",
      target: "proxmox",
      nodes: NODES.map((node, index) => ({ name: node, address: `${network}.${11 + index}/24`, memory: "1Gi" })),
      proxmox: {
        host: ssh.host,
        port: ssh.port,
        user: ssh.user,
        host_key: ssh.hostKey,
        identity_file: ssh.identityFile,
        template,
        storage,
        bridge,
        gateway,
        data_dir: dataDir,
        postgres_address: `${network}.10/24`,
      },
      datahub: { postgres: true, memory: "1Gi", image: images.postgres },
    },
  });
  await stack.cairn("build", "--base-image", images.node, "--tag", `${name}:1`);
  await stack.cairn("infra", "up", "--yes");
  return {
    stack,
    async imageOf(tag, steps = `LABEL test.image=${tag}`) {
      const image = `${name}:${tag}`;
      made.add(image);
      await execa("docker", ["build", "--quiet", "--tag", image, "-"], { input: `FROM ${name}:1\n${steps}\n` });
      return image;
    },
  };
}

const vmidOf = (index: number): string => String(FIRST_VMID + 1 + index);

async function imagesOf(host: ProxmoxTestHost): Promise<string[]> {
  return NODES.map((node, index) =>
    host.pct("exec", vmidOf(index), "--", "docker", "inspect", "--format", "{{.Image}}", `mesh-${node}`).trim(),
  );
}

/** Where the node's interface is reached from here until the test ends. */
async function forward(host: ProxmoxTestHost, index: number): Promise<string> {
  const name = `${readFileSync(join(host.state, "prefix"), "utf8")}${vmidOf(index)}`;
  const lxc = ["-P", join(host.state, "ct"), "-n", name, "-p", "-H"];
  const pid = execFileSync("lxc-info", lxc, { encoding: "utf8" }).trim();
  const words = [`--net=/proc/${pid}/ns/net`, process.execPath, "-e", FORWARD];
  const child = spawn("nsenter", words, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  await once(child.stdout, "data");
  return `http://${host.plan().gateway?.replace(/\.1$/, "")}.${11 + index}:${FORWARDED}`;
}

/** Every message was accepted once, and answered once. */
async function expectAnswered(host: ProxmoxTestHost, { sent, answered }: LoadReport): Promise<void> {
  expect(answered).toBe(sent);
  const sql = `select (select count(*) from inbox), (select count(*) from turns where state = 'done'),
    (select count(*) from outbox), (select count(*) from messages where role = 'user' and content like 'Remember the word%'),
    (select count(distinct content) from messages where role = 'user' and content like 'Remember the word%')`;
  const psql = ["docker", "exec", "mesh-postgres", "psql", ..."-XqAt -U postgres -d cairn -c".split(" "), sql];
  const counts = host.pct("exec", String(FIRST_VMID), "--", ...psql);
  const [inbox, done, replies, asked, different] = counts.trim().split("|").map(Number);
  expect({ done, replies }).toEqual({ done: inbox, replies: inbox });
  expect({ asked, different }).toEqual({ asked: sent, different: sent });
}
