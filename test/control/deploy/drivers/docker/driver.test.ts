/** The Docker driver with programs that play `docker` and `ssh`: what it asks, and what it makes of the answers. */

import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createDockerDriver } from "../../../../../control/deploy/drivers/docker/driver.ts";
import { parseFree, parseListeners } from "../../../../../control/deploy/drivers/docker/preflight.ts";
import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import { dockerPlan, IMAGE_ID, nodePlan } from "../../../../support/docker-target.ts";
import { createFakeTools, type FakeTools } from "../../../../support/fake-tools.ts";

const REMOTE = "ssh://ops@two.example:2222";
const signal = new AbortController().signal;
const registry = null;

let tools: FakeTools;
let servers: Server[];

beforeEach(async () => {
  tools = await createFakeTools();
  servers = [];
  vi.stubEnv("PATH", `${tools.directory}:${process.env.PATH}`);
  vi.stubEnv("DOCKER_HOST", undefined);
});

afterEach(async () => {
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  await tools.remove();
});

const ANSWERS = {
  version: `echo '{"Server":{"ApiVersion":"1.45","Os":"linux"}}'`,
  context: "echo unix:///var/run/docker.sock",
  network: `echo '[]'; echo 'Error response from daemon: network fleet not found' >&2; exit 1`,
  container: `echo '[]'; echo 'Error response from daemon: No such container: x' >&2; exit 1`,
  list: "",
  info: "echo /nowhere",
  volume: `echo '[]'; echo 'Error response from daemon: get x: no such volume' >&2; exit 1`,
  other: `echo "not expected: $*" >&2; exit 1`,
};

/** `docker` that answers as an engine on which nothing stands, but for what is given. */
async function engine(answers: Partial<typeof ANSWERS> = {}): Promise<void> {
  const all = { ...ANSWERS, ...answers };
  await tools.add(
    "docker",
    `case "$*" in
      *"context inspect"*) ${all.context} ;;
      *"version --format"*) ${all.version} ;;
      *"network inspect"*) ${all.network} ;;
      *"container inspect"*) ${all.container} ;;
      *"container ls"*) ${all.list} ;;
      *"volume inspect"*) ${all.volume} ;;
      *"volume ls"*) true ;;
      *info*) ${all.info} ;;
      *) ${all.other} ;;
    esac`,
  );
}

interface Shown {
  readonly name: string;
  readonly stack?: string;
  readonly status?: string;
  readonly health?: string;
  readonly port?: string;
}

function container({ name, stack, status = "running", health, port }: Shown): string {
  const shown = {
    Id: `id-of-${name}`,
    Name: `/${name}`,
    Config: { Image: IMAGE_ID, Labels: stack ? { "cairn.stack": stack } : null },
    State: { Status: status, ...(health ? { Health: { Status: health } } : {}) },
    HostConfig: { PortBindings: port ? { "7433/tcp": [{ HostIp: "", HostPort: port }] } : {} },
  };
  return `echo '${JSON.stringify([shown])}'`;
}

function driver(plan: Partial<DockerPlan> = {}) {
  return createDockerDriver(dockerPlan({ postgres: null, ...plan }), { registry });
}

async function listen(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

async function codes(plan: Partial<DockerPlan> = {}): Promise<string[]> {
  return (await driver(plan).preflight(signal)).map(({ severity, code }) => `${severity} ${code}`);
}

test("nothing is wrong with an engine on which nothing stands", async () => {
  await engine();
  expect(await codes({ nodes: [nodePlan("alpha", { publish: null })] })).toEqual([]);
});

test("a machine without Docker is told what to install", async () => {
  vi.stubEnv("PATH", tools.directory);
  const [finding] = await driver().preflight(signal);
  expect(finding).toMatchObject({
    severity: "error",
    code: "INFRA_TOOL_MISSING",
    hint: expect.stringContaining("Install"),
  });
});

test.each([
  [
    "an engine that does not run",
    { version: "echo 'Cannot connect to the Docker daemon at unix:///x' >&2; exit 1" },
    "INFRA_HOST_UNREACHABLE",
  ],
  [
    "an engine that is too old",
    { version: `echo '{"Server":{"ApiVersion":"1.43","Os":"linux"}}'` },
    "INFRA_TOOL_MISSING",
  ],
  [
    "an engine of Windows containers",
    { version: `echo '{"Server":{"ApiVersion":"1.45","Os":"windows"}}'` },
    "INFRA_PLAN_INVALID",
  ],
  ["an answer that nobody understands", { version: "echo hello" }, "INFRA_FAILED"],
  [
    "another engine than the provider's",
    { context: "echo unix:///home/me/.docker/run/docker.sock" },
    "INFRA_CONTEXT_UNKNOWN",
  ],
  [
    "a network of that name of somebody else",
    { network: `echo '[{"Id":"n1","Name":"fleet","Labels":{}}]'` },
    "INFRA_UP_REFUSED",
  ],
  [
    "a container of that name of another stack",
    { container: container({ name: "fleet-alpha", stack: "other" }) },
    "INFRA_UP_REFUSED",
  ],
])("%s is an error before anything is changed", async (_what, answers, code) => {
  await engine(answers);
  expect(await codes({ nodes: [nodePlan("alpha", { publish: null })] })).toEqual([`error ${code}`]);
});

test("the network and containers of the stack itself are no conflict", async () => {
  await engine({
    network: `echo '[{"Id":"n1","Name":"fleet","Labels":{"cairn.stack":"fleet"}}]'`,
    container: container({ name: "fleet-alpha", stack: "fleet", port: "7433" }),
    list: "echo id-of-fleet-alpha",
  });
  const port = await listen();
  expect(await codes({ nodes: [nodePlan("alpha", { publish: null })] })).toEqual([]);
  await engine({ container: container({ name: "fleet-alpha", stack: "fleet", port: String(port) }), list: "echo x" });
  expect(await codes({ nodes: [nodePlan("alpha", { publish: { address: "127.0.0.1", port } })] })).toEqual([]);
});

test("a port that a program or a container of somebody else has is an error that names it", async () => {
  const publish = { address: "127.0.0.1", port: await listen() };
  await engine();
  const byProgram = await driver({ nodes: [nodePlan("alpha", { publish })] }).preflight(signal);
  expect(byProgram).toEqual([
    expect.objectContaining({ code: "INFRA_PORT_IN_USE", message: expect.stringContaining("alpha") }),
  ]);
  await engine({
    container: `case "$*" in *x*) ${container({ name: "web", port: String(publish.port) })} ;; *) ${ANSWERS.container} ;; esac`,
    list: "echo x",
  });
  const byContainer = await driver({ nodes: [nodePlan("b", { publish })], stack: "s", network: "n" }).preflight(signal);
  expect(byContainer).toEqual([expect.objectContaining({ message: expect.stringContaining("the container web") })]);
});

const SSH_WORDS = {
  changed: "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
  unknown:
    "No ED25519 host key is known for two.example and you have requested strict checking.\nHost key verification failed.",
  refused: "ssh: connect to host two.example port 2222: Connection refused",
  denied: "ops@two.example: Permission denied (publickey).",
};

test.each([
  ["shows another key", SSH_WORDS.changed, "INFRA_HOST_KEY_MISMATCH", /ssh-keygen -R \[two.example\]:2222/],
  ["is not known", SSH_WORDS.unknown, "INFRA_HOST_KEY_MISMATCH", /fingerprint/],
  ["does not answer", SSH_WORDS.refused, "INFRA_HOST_UNREACHABLE", /ssh -p 2222 ops@two.example/],
  ["does not take the key", SSH_WORDS.denied, "INFRA_HOST_UNREACHABLE", /BatchMode/],
])("a host that %s is not talked to", async (_what, words, code, hint) => {
  await engine();
  await tools.add("ssh", `cat >&2 <<'WORDS'\n${words}\nWORDS\nexit 255`);
  const findings = await driver({ nodes: [nodePlan("alpha", { host: REMOTE, publish: null })] }).preflight(signal);
  expect(findings).toEqual([expect.objectContaining({ severity: "error", code, hint: expect.stringMatching(hint) })]);
  const calls = await tools.calls();
  expect(calls.filter(([tool]) => tool === "docker")).toEqual([]);
  expect(calls[0]).toEqual(
    expect.arrayContaining(["StrictHostKeyChecking=yes", "BatchMode=yes", "--", "two.example", "true"]),
  );
});

test("a host over SSH is asked for its ports and its disk, and Docker is given its address", async () => {
  await engine({ info: `echo "/var/lib/d'ocker"` });
  await tools.add(
    "ssh",
    `case "$*" in
      *ss\\ -Hltn*) echo 'LISTEN 0 4096 0.0.0.0:7433 0.0.0.0:*' ;;
      *df*) printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\\n/dev/a b 100 90 2000000 90%% /\\n' ;;
    esac`,
  );
  const findings = await driver({ nodes: [nodePlan("alpha", { host: REMOTE })] }).preflight(signal);
  expect(findings.map(({ severity, code }) => [severity, code])).toEqual([
    ["error", "INFRA_PORT_IN_USE"],
    ["warning", "INFRA_DISK_FULL"],
  ]);
  const calls = await tools.calls();
  for (const call of calls.filter(([tool]) => tool === "docker")) expect(call.slice(1, 3)).toEqual(["-H", REMOTE]);
  expect(calls.flat()).toContain(`df -Pk -- '/var/lib/d'\\''ocker'`);
});

test.each([
  ["running and healthy", container({ name: "fleet-alpha", stack: "fleet", health: "healthy" }), "running", "healthy"],
  ["in its start", container({ name: "fleet-alpha", stack: "fleet", health: "starting" }), "running", "starting"],
  [
    "ended, whatever it said last",
    container({ name: "fleet-alpha", stack: "fleet", status: "exited", health: "healthy" }),
    "stopped",
    "unknown",
  ],
  ["of another stack", container({ name: "fleet-alpha", stack: "other", health: "healthy" }), "missing", "unknown"],
  ["not there", ANSWERS.container, "missing", "unknown"],
  ["on a host that is away", "echo 'error during connect: Get x: ssh' >&2; exit 1", "unknown", "unknown"],
])("a node that is %s is seen as that", async (_what, answer, state, health) => {
  await engine({ container: answer });
  expect(await driver().observe(signal)).toEqual([expect.objectContaining({ name: "alpha", state, health })]);
});

test("data are found under the plan's names, with the stack that made them", async () => {
  await engine({
    volume: `echo '[{"Name":"fleet-alpha-home","Labels":{"cairn.stack":"old"}},{"Name":"fleet-shared","Labels":null}]'; echo 'no such volume' >&2; exit 1`,
  });
  expect(await driver({ sharedStorage: true }).existingData(signal)).toEqual([
    { name: "fleet-alpha-home", place: "local", stack: "old" },
    { name: "fleet-shared", place: "local", stack: null },
  ]);
});

test("data that something runs on are found with its name", async () => {
  await engine({
    volume: `echo '[{"Name":"fleet-alpha-home","Labels":null},{"Name":"fleet-alpha-workspace","Labels":null}]'`,
    list: String.raw`printf 'old-node\tfleet-alpha-home,other\nbackup\tfleet-alpha-home\nbare\t\n'`,
  });
  expect(await driver().existingData(signal)).toEqual([
    { name: "fleet-alpha-home", place: "local", stack: null, usedBy: ["old-node", "backup"] },
    { name: "fleet-alpha-workspace", place: "local", stack: null },
  ]);
});

test("an interrupted volume or network is taken over if the stack made it, and left alone if not", async () => {
  const volume = (stack: string) => `echo '[{"Name":"fleet-alpha-home","Labels":{"cairn.stack":"${stack}"}}]'`;
  await engine({
    volume: volume("fleet"),
    network: `echo '[{"Id":"n1","Name":"fleet","Labels":{"cairn.stack":"fleet"}}]'`,
  });
  expect(await driver().findInterrupted("docker:index/volume:Volume", "fleet-alpha-home", signal)).toBe(
    "fleet-alpha-home",
  );
  expect(await driver().findInterrupted("docker:index/network:Network", "fleet", signal)).toBe("n1");
  expect(await driver().findInterrupted("command:local:Command", "fleet-alpha-pids", signal)).toBeNull();
  await engine({ volume: volume("other") });
  expect(await driver().findInterrupted("docker:index/volume:Volume", "fleet-alpha-home", signal)).toBeNull();
});

test("an interrupted container of the stack is removed, for it may lack its files; one of somebody else is not", async () => {
  const type = "docker:index/container:Container";
  await engine({ container: container({ name: "fleet-alpha", stack: "fleet" }), other: "true" });
  expect(await driver().findInterrupted(type, "fleet-alpha", signal)).toBeNull();
  const changes = async () =>
    (await tools.calls()).filter((call) => call.includes("rm") || call.includes("stop")).map((call) => call.slice(2));
  expect(await changes()).toEqual([
    ["stop", "--", "id-of-fleet-alpha"],
    ["rm", "--force", "--volumes", "--", "id-of-fleet-alpha"],
  ]);
  await engine({ container: container({ name: "fleet-alpha", stack: "other" }), other: "true" });
  expect(await driver().findInterrupted(type, "fleet-alpha", signal)).toBeNull();
  expect(await changes()).toHaveLength(2);
});

test("only data of the deployment are deleted, and none that a container uses", async () => {
  const own = { name: "fleet-alpha-home", place: "local", stack: "fleet" };
  await engine({ other: "true" });
  const removals = async () => (await tools.calls()).filter((call) => call.includes("rm"));
  await driver().deleteData([own], signal);
  expect(await removals()).toEqual([["docker", "volume", "rm", "--", "fleet-alpha-home"]]);
  await expect(driver().deleteData([own, { ...own, name: "precious" }], signal)).rejects.toMatchObject({
    code: "INFRA_DATA_PROTECTED",
  });
  expect(await removals()).toHaveLength(1);
  await engine({ other: "echo 'Error response from daemon: remove x: volume is in use - [abc]' >&2; exit 1" });
  await expect(driver().deleteData([own], signal)).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
  await engine({ other: "echo 'Error: No such volume: fleet-alpha-home' >&2; exit 1" });
  await driver().deleteData([own], signal);
});

test("an image that no registry has comes from this machine's engine or not at all", async () => {
  await engine({ other: "echo 'Error response from daemon: No such image: x' >&2; exit 1" });
  const image = nodePlan("alpha").image ?? "";
  expect(await driver().hasImage(image, "local", signal)).toBe(false);
  await expect(driver().deliverImage(image, "local", () => undefined, signal)).rejects.toMatchObject({
    code: "INFRA_IMAGE_MISSING",
  });
  expect((await tools.calls()).flat()).not.toContain("pull");
});

test("the architecture of a node is that of its host's engine", async () => {
  await engine({ version: "echo arm64" });
  const nodes = [nodePlan("alpha", { host: REMOTE })];
  expect(await driver({ nodes }).architectures("alpha", signal)).toEqual(["arm64"]);
  expect((await tools.calls()).at(-1)).toEqual(["docker", "-H", REMOTE, "version", "--format", "{{.Server.Arch}}"]);
});

test("the log of the last ten minutes is reckoned by the clock of the host's engine", async () => {
  await engine({ info: "echo 2030-01-31T13:00:00.5+01:00" });
  const action = { kind: "logs", lines: null, follow: false, since: { agoSeconds: 600 } } as const;
  const nodes = [nodePlan("alpha", { host: REMOTE })];
  const { args } = await driver({ nodes }).enter({ kind: "node", name: "alpha" }, action, signal);
  expect(args.at(-1)).toBe("docker logs --since=2030-01-31T11:50:00.500Z fleet-alpha");
  expect(await tools.calls()).toEqual([["docker", "-H", REMOTE, "info", "--format", "{{.SystemTime}}"]]);
  await engine({ info: "echo" });
  await expect(driver({ nodes }).enter({ kind: "node", name: "alpha" }, action, signal)).rejects.toThrow(/its time/);
});

test("an image with a digest is pulled by it where it runs", async () => {
  const digest = `registry.example/cairn@sha256:${"2".repeat(64)}`;
  await engine({ other: "echo 'Error response from daemon: No such image: x' >&2; exit 1" });
  const image = { id: IMAGE_ID, digest, reference: "registry.example/cairn:1", version: "1", revision: null };
  await expect(driver().deliverImage(image, REMOTE, () => undefined, signal)).rejects.toMatchObject({
    code: "INFRA_IMAGE_MISSING",
  });
  expect(await tools.calls()).toContainEqual(["docker", "-H", REMOTE, "pull", "--quiet", "--", digest]);
});

test("a node on this machine is reached directly, and one that publishes nothing is not", async () => {
  const publish = { address: "0.0.0.0", port: 7433 };
  expect((await driver({ nodes: [nodePlan("alpha", { publish, tls: true })] }).connect("alpha", signal)).url).toBe(
    "https://127.0.0.1:7433",
  );
  await expect(
    driver({ nodes: [nodePlan("alpha", { publish: null })] }).connect("alpha", signal),
  ).rejects.toMatchObject({
    code: "INFRA_PLAN_INVALID",
  });
  await expect(driver().connect("nobody", signal)).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
});

test("an abort ends a question that Docker does not answer", async () => {
  await tools.add("docker", "exec sleep 600");
  const abort = new AbortController();
  const asked = driver().observe(abort.signal);
  await expect.poll(async () => (await tools.calls()).length).toBe(1);
  abort.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
});

test.each([
  ["Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 100 50 42 55% /var\n", 42 * 1024],
  ["Filesystem 1024-blocks Used Available Capacity Mounted on\n", null],
  ["", null],
  ["df: x: No such file or directory", null],
])("%j of df means %s bytes", (text, expected) => {
  expect(parseFree(text)).toBe(expected);
});

test("lines of ss give addresses and ports", () => {
  const text =
    "LISTEN 0 128 127.0.0.53%lo:53 0.0.0.0:*\nLISTEN 0 4096 [::]:22 [::]:*\nLISTEN 0 1 *:80 *:*\n\nnonsense\n";
  expect(parseListeners(text)).toEqual([
    { address: "127.0.0.53", port: 53 },
    { address: "::", port: 22 },
    { address: "*", port: 80 },
  ]);
});

test("a node's data are archived whole, however much there is of them", async () => {
  const folder = await archives();
  const bytes = 1_000_000;
  const piece = join(folder, "piece.gz");
  // Level 0: as large as what is in it, and some bytes more.
  await writeFile(piece, gzipSync(Buffer.alloc(bytes), { level: 0 }));
  await engine({ other: `case "$1" in run) for i in $(seq 101); do cat ${piece}; done ;; esac` });
  const file = join(folder, "two.tar.gz");
  await archive(file, signal);
  expect((await stat(file)).size).toBeGreaterThan(101 * bytes);
});

test("an archive that ended early is no archive, and nothing of it stays", async () => {
  const folder = await archives();
  await engine({ other: 'case "$1" in run) head -c 100000 /dev/urandom | gzip | head -c 50000 ;; esac' });
  await expect(archive(join(folder, "two.tar.gz"), signal)).rejects.toMatchObject({
    code: "INFRA_FAILED",
    message: "The archive ended before it was whole; nothing was deleted.",
  });
  expect(await readdir(folder)).toEqual([]);
});

test("nothing stays of an archive that was stopped", async () => {
  const folder = await archives();
  await engine({ other: 'case "$1" in run) echo begun; exec sleep 3600 ;; esac' });
  const stopping = new AbortController();
  const archiving = archive(join(folder, "two.tar.gz"), stopping.signal);
  await expect.poll(async () => (await readFile(join(folder, "two.tar.gz.part")).catch(() => "")).length).toBe(6);
  stopping.abort(new Error("stopped"));
  await expect(archiving).rejects.toThrow("stopped");
  expect(await readdir(folder)).toEqual([]);
});

test("an archive that finds no room on the disk of this machine says so", async () => {
  const folder = await archives();
  await symlink("/dev/full", join(folder, "two.tar.gz.part"));
  await engine({ other: 'case "$1" in run) cat /dev/zero ;; esac' });
  await expect(archive(join(folder, "two.tar.gz"), signal)).rejects.toMatchObject({ code: "ENOSPC" });
});

test("a copy that is stopped ends on the host, too, and one that a killed command has left goes first", async () => {
  await engine({ other: 'case "$1" in run) exec sleep 3600 ;; esac' });
  const stopping = new AbortController();
  const driver = createDockerDriver(dockerPlan({ nodes: [nodePlan("two")] }), { registry });
  const home = { name: "fleet-one-home", place: "local", stack: "fleet" };
  const copying = driver.copyData(home, "fleet-two-home", "two", stopping.signal);
  await expect.poll(async () => (await tools.calls()).some((call) => call[1] === "run")).toBe(true);
  stopping.abort(new Error("stopped"));
  await expect(copying).rejects.toThrow("stopped");
  const calls = (await tools.calls()).map(([, ...args]) => args.join(" "));
  const run = calls.findIndex((call) => /^run .*--name fleet\.copy /.test(call));
  expect([calls[run - 1], calls[run + 1]]).toEqual(Array(2).fill("container rm --force -- fleet.copy"));
});

test("no log of the host keeps what is archived", async () => {
  const folder = await archives();
  await engine({ other: 'case "$1" in run) echo files | gzip ;; esac' });
  await archive(join(folder, "two.tar.gz"), signal);
  const run = (await tools.calls()).find((call) => call[1] === "run");
  expect(run?.join(" ")).toContain("--log-driver none");
});

async function archives(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "cairn-archive-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function archive(file: string, ending: AbortSignal): Promise<void> {
  const driver = createDockerDriver(dockerPlan({ nodes: [nodePlan("two")] }), { registry });
  const home = { name: "fleet-two-home", place: "local", stack: "fleet" };
  await driver.archiveData([home], file, () => undefined, ending);
}
