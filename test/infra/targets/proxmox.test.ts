/** The Proxmox target on the mock engine: what it declares, what of it is secret, and what cannot be lost. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "dotenv";
import { beforeAll, expect, test } from "vitest";
import { databaseFiles } from "../../../infra/components/proxmox/postgres.ts";
import type { ProxmoxPlan } from "../../../infra/plan/types.ts";
import { TLS_PEM } from "../../support/postgres-tls.ts";
import { type Declaration, type Declared, declare, nodePlan, proxmoxPlan, WORDS } from "../../support/proxmox/mocks.ts";

function everything(): ProxmoxPlan {
  const digest = `registry.example/cairn@sha256:${"2".repeat(64)}`;
  const pulled = { id: null, digest, reference: "registry.example/cairn:0.1.0", version: "0.1.0", revision: null };
  return proxmoxPlan({
    sharedStorage: true,
    vlan: 30,
    nameserver: "192.168.1.1",
    nodes: [
      nodePlan("alpha"),
      nodePlan("beta", {
        vmid: 702,
        pveNode: "pve2",
        address: "dhcp",
        image: pulled,
        limits: { memoryBytes: null, cpus: null },
        publish: { address: "0.0.0.0", port: 8443 },
        tls: true,
      }),
    ],
  });
}

const named = ({ resources }: Declaration, name: string) => {
  const found = resources.find((resource) => resource.name === name);
  if (found) return found;
  throw new Error(`${name} was not declared: ${resources.map((resource) => resource.name).join(", ")}`);
};

/** What a shell makes of a line; the scripts themselves, which are constants, only by their place. */
function words(line: string): unknown[] {
  const text = execFileSync("/bin/sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
  return text
    .split("\0")
    .slice(0, -1)
    .map((word) => (word.startsWith("'/bin/sh' ") ? words(word) : word.startsWith("set -eu\n") ? "(script)" : word));
}

/** The `docker run` of a container's command: the words before its options, the options by name, then image and arguments. */
function dockerRun({ inputs }: Declared) {
  const flat = words(String(inputs["create"])).flat().map(String);
  const all = flat.at(-1) === "/etc/pve" ? flat.slice(0, -1) : flat;
  const start = all.indexOf("--label");
  const options: Record<string, string[]> = {};
  let at = start;
  while (all[at]?.startsWith("--")) {
    const name = all[at] ?? "";
    const takesValue = name !== "--read-only";
    options[name] = [...(options[name] ?? []), ...(takesValue ? [all[at + 1] ?? ""] : [])];
    at += takesValue ? 2 : 1;
  }
  return { before: all.slice(start - 5, start), options, command: all.slice(at) };
}

/** What a system container is set to, by the names of `pct set`. */
function settings(declaration: Declaration, name: string): Readonly<Record<string, string>> {
  const flat = words(String(named(declaration, name).inputs["create"]))
    .flat()
    .map(String);
  const pairs = flat.slice(flat.indexOf("hostname")).filter((word) => word !== "/etc/pve");
  return Object.fromEntries(pairs.flatMap((word, at) => (at % 2 === 0 ? [[word, pairs[at + 1] ?? ""]] : [])));
}

/** Files that a container is given, by their path below its configuration. */
function files(declaration: Declaration, name: string): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "cairn-files-"));
  try {
    const input = String(named(declaration, name).inputs["stdin"]);
    execFileSync("/bin/sh", ["-c", 'base64 -d | tar -x -C "$0" -f -', folder], { input });
    const paths = readFileSync(join(folder, "paths"), "utf8").trim().split("\n");
    return new Map(paths.map((path, index) => [path, readFileSync(join(folder, String(index)), "utf8")]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let shown: Declaration;
beforeAll(async () => {
  shown = await declare(everything());
});

test("the commands of PostgreSQL, two nodes on two members and shared storage, their order and their options stay as they were", () => {
  // A command under another name is a new one, and the old one's removal is run.
  const { resources, outputs } = shown;
  const lines = resources.map(({ name, after, options }) => {
    const order = after.length === 0 ? "" : ` after ${after.join(", ")}`;
    return `${name}${order} ${JSON.stringify(options)}`;
  });
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "fleet-alpha-container after fleet-alpha-image {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-alpha-ct after fleet-alpha-home, fleet-alpha-workspace, fleet-postgres-container, fleet-shared {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-alpha-docker after fleet-alpha-ct {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-alpha-home {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-alpha-image after fleet-alpha-docker {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-alpha-workspace {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-beta-container after fleet-beta-image {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-beta-ct after fleet-beta-home, fleet-beta-workspace, fleet-postgres-container, fleet-shared-pve2 {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-beta-docker after fleet-beta-ct {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-beta-home {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-beta-image after fleet-beta-docker {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-beta-workspace {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-postgres-container after fleet-postgres-image {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-postgres-ct after fleet-postgres-data {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-postgres-data {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-postgres-docker after fleet-postgres-ct {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-postgres-image after fleet-postgres-docker {"deleteBeforeReplace":true,"replaceOnChanges":["triggers","triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-shared {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}
    fleet-shared-pve2 {"protect":true,"retainOnDelete":true,"replaceOnChanges":["triggers[*]"],"additionalSecretOutputs":["stdout","stderr","connection"]}"
  `);
  expect(outputs).toEqual({
    nodes: [
      { name: "alpha", workload: "701", place: "pve.example", image: `cairn-image:${"1".repeat(64)}` },
      {
        name: "beta",
        workload: "702",
        place: "pve.example/pve2",
        image: `registry.example/cairn@sha256:${"2".repeat(64)}`,
      },
    ],
    data: [
      { name: "fleet-postgres-data", place: "pve.example:/var/lib/cairn/fleet/postgres" },
      { name: "fleet-alpha-home", place: "pve.example:/var/lib/cairn/fleet/alpha/home" },
      { name: "fleet-alpha-workspace", place: "pve.example:/var/lib/cairn/fleet/alpha/workspace" },
      { name: "fleet-shared", place: "pve.example:/var/lib/cairn/fleet/shared" },
      { name: "fleet-beta-home", place: "pve.example/pve2:/var/lib/cairn/fleet/beta/home" },
      { name: "fleet-beta-workspace", place: "pve.example/pve2:/var/lib/cairn/fleet/beta/workspace" },
      { name: "fleet-shared-pve2", place: "pve.example/pve2:/var/lib/cairn/fleet/shared" },
    ],
  });
  for (const { inputs } of resources) expect(inputs["update"]).toBe(inputs["create"]);
});

test("a command is made anew where its container is another one, or lies elsewhere", () => {
  const { resources } = shown;
  const triggers = Object.fromEntries(resources.map(({ name, inputs }) => [name, inputs["triggers"]]));
  for (const part of ["ct", "docker", "image", "container"]) {
    expect(triggers[`fleet-alpha-${part}`]).toEqual(["701", "", "local-lvm", "unprivileged"]);
    expect(triggers[`fleet-beta-${part}`]).toEqual(["702", "pve2", "local-lvm", "unprivileged"]);
    expect(triggers[`fleet-postgres-${part}`]).toEqual(["700", "", "local-lvm", "unprivileged"]);
  }
  for (const part of ["home", "workspace"]) expect(triggers[`fleet-alpha-${part}`]).toBeUndefined();
});

const HARDENED = {
  "--restart": ["unless-stopped"],
  "--read-only": [],
  "--cap-drop": ["ALL"],
  "--security-opt": ["no-new-privileges"],
  "--log-driver": ["json-file"],
  "--log-opt": ["max-size=10m", "max-file=5"],
};

test("a node's container has the least rights, limits, its data, a probe and time to end", () => {
  const declaration = shown;
  const alpha = dockerRun(named(declaration, "fleet-alpha-container"));
  expect(alpha.command).toEqual([`cairn-image:${"1".repeat(64)}`]);
  expect(alpha.options).toEqual({
    ...HARDENED,
    "--label": [
      "cairn.stack=fleet",
      "cairn.role=node",
      "cairn.node=alpha",
      "com.docker.compose.project=fleet",
      "com.docker.compose.service=alpha",
      "com.docker.compose.container-number=1",
      "com.docker.compose.oneoff=False",
    ],
    "--stop-timeout": ["90"],
    "--hostname": ["alpha"],
    "--user": ["1000:0"],
    "--pids-limit": ["512"],
    "--memory": ["1024m"],
    "--memory-swap": ["1024m"],
    "--cpus": ["1.5"],
    "--env": ["SERVICE_CONTAINER=1", "SERVICE_LISTEN=0.0.0.0:7433"],
    "--mount": [
      "type=bind,src=/etc/cairn,dst=/etc/cairn,readonly",
      "type=bind,src=/srv/cairn-data/home,dst=/var/lib/cairn",
      "type=bind,src=/srv/cairn-data/workspace,dst=/srv/cairn",
      "type=bind,src=/srv/cairn-data/shared,dst=/srv/shared",
    ],
    "--tmpfs": ["/tmp:rw,nosuid,nodev,exec,mode=1777,size=512m", "/run:rw,nosuid,nodev,noexec,mode=0755,size=16m"],
    "--publish": ["127.0.0.1:7433:7433"],
    "--health-cmd": ["node /opt/cairn/dist/runtime/health-probe.js"],
    "--health-interval": ["5s"],
    "--health-timeout": ["10s"],
    "--health-retries": ["3"],
    "--health-start-period": ["300s"],
  });
  // Name, its files' folder, their owner, seconds to stop; the hash of the files is between them.
  expect(alpha.before).toEqual(["fleet-alpha", expect.stringMatching(/^[0-9a-f]{64}$/), "/etc/cairn", "0", "90"]);

  const beta = dockerRun(named(declaration, "fleet-beta-container"));
  const { "--memory": _memory, "--memory-swap": _swap, "--cpus": _cpus, ...unlimited } = alpha.options;
  expect(beta.options).toEqual({
    ...unlimited,
    "--label": alpha.options["--label"]?.map((label) => label.replace("alpha", "beta")),
    "--hostname": ["beta"],
    "--publish": ["0.0.0.0:8443:7433"],
  });
  expect(beta.command).toEqual([`registry.example/cairn@sha256:${"2".repeat(64)}`]);
});

test("the database's container has the least rights, its data, a probe and more time", () => {
  const { options, command, before } = dockerRun(named(shown, "fleet-postgres-container"));
  expect(options).toEqual({
    ...HARDENED,
    "--label": [
      "cairn.stack=fleet",
      "cairn.role=postgres",
      "com.docker.compose.project=fleet",
      "com.docker.compose.service=postgres",
      "com.docker.compose.container-number=1",
      "com.docker.compose.oneoff=False",
    ],
    "--stop-timeout": ["120"],
    "--network": ["host"],
    "--user": ["999:999"],
    "--shm-size": ["256m"],
    "--env": [
      "PGDATA=/var/lib/postgresql/data",
      "POSTGRES_DB=cairn",
      "POSTGRES_HBA_FILE=/etc/cairn-postgres/pg_hba.conf",
      "POSTGRES_PASSWORD_FILE=/etc/cairn-postgres/password",
      "POSTGRES_TLS_FILE=/etc/cairn-postgres/server.pem",
      "POSTGRES_USER=cairn",
    ],
    "--mount": [
      "type=bind,src=/etc/cairn-postgres,dst=/etc/cairn-postgres,readonly",
      "type=bind,src=/srv/cairn-data/postgres,dst=/var/lib/postgresql/data",
    ],
    "--tmpfs": [
      "/tmp:rw,nosuid,nodev,noexec,mode=1777,size=256m",
      "/var/run/postgresql:rw,nosuid,nodev,noexec,mode=0775,uid=999,gid=999,size=1m",
    ],
    "--health-cmd": ["pg_isready -q -h 127.0.0.1 -p 5432 -U cairn -d cairn"],
    "--health-interval": ["5s"],
    "--health-timeout": ["10s"],
    "--health-retries": ["3"],
    "--health-start-period": ["600s"],
    "--entrypoint": ["/bin/sh"],
  });
  expect(command).toEqual(["pgvector/pgvector:pg17", "/etc/cairn-postgres/start.sh", "-c", "port=5432"]);
  expect(before).toEqual(["fleet-postgres", expect.any(String), "/etc/cairn-postgres", "999", "120"]);
});

test("a system container has its identity, limits, network, place in the order of starts and its data", () => {
  const declaration = shown;
  const alpha = settings(declaration, "fleet-alpha-ct");
  expect(alpha).toEqual({
    hostname: "alpha",
    memory: "1280",
    swap: "512",
    cores: "2",
    cpulimit: "1.5",
    features: "nesting=1,keyctl=1",
    net0: "name=eth0,bridge=vmbr0,tag=30,ip=192.168.1.41/24,gw=192.168.1.1",
    nameserver: "192.168.1.1",
    onboot: "1",
    startup: "order=2,down=105",
    tags: "cairn",
    description: "cairn.stack=fleet cairn.node=alpha",
    mp0: "/var/lib/cairn/fleet/alpha/home,mp=/srv/cairn-data/home",
    mp1: "/var/lib/cairn/fleet/alpha/workspace,mp=/srv/cairn-data/workspace",
    mp2: "/var/lib/cairn/fleet/shared,mp=/srv/cairn-data/shared",
    mp3: "",
  });
  // Template, storage, size of its disk in GiB, and that root in it is nobody outside.
  const made = words(String(named(declaration, "fleet-alpha-ct").inputs["create"]));
  const template = made.indexOf("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst");
  expect(made.slice(template + 1, template + 4)).toEqual(["local-lvm", "16", "1"]);
  expect(settings(declaration, "fleet-beta-ct")).toMatchObject({
    hostname: "beta",
    memory: "2048",
    cores: "",
    cpulimit: "",
    net0: "name=eth0,bridge=vmbr0,tag=30,ip=dhcp",
    mp0: "/var/lib/cairn/fleet/beta/home,mp=/srv/cairn-data/home",
  });
  // The database starts before the nodes and ends after them.
  expect(settings(declaration, "fleet-postgres-ct")).toMatchObject({
    hostname: "fleet-postgres",
    startup: "order=1,down=135",
    description: "cairn.stack=fleet cairn.node=postgres",
    mp0: "/var/lib/cairn/fleet/postgres,mp=/srv/cairn-data/postgres",
    mp1: "",
  });
});

test("a system container is removed under its own mark, and checked to hold none of the data", () => {
  const removal = words(String(named(shown, "fleet-alpha-ct").inputs["delete"])).flat();
  expect(removal.slice(removal.indexOf("cairn.stack=fleet cairn.node=alpha"))).toEqual([
    "cairn.stack=fleet cairn.node=alpha",
    "/var/lib/cairn/fleet/.creating-701",
    "90",
    "/var/lib/cairn/fleet/.applied-701",
    "/var/lib/cairn/fleet/alpha/home",
    "/var/lib/cairn/fleet/alpha/workspace",
    "/var/lib/cairn/fleet/shared",
  ]);
});

test("data lie in folders of their users, on the member that needs them", () => {
  const declaration = shown;
  const folder = (name: string) => {
    const all = words(String(named(declaration, name).inputs["create"]));
    const flat = all.flat();
    const at = flat.indexOf("/var/lib/cairn");
    const end = flat.indexOf("/etc/pve");
    return [all.find((word) => word === "pve2") ?? null, ...flat.slice(at, end === -1 ? undefined : end)];
  };
  expect(folder("fleet-alpha-home")).toEqual([
    null,
    "/var/lib/cairn",
    "fleet",
    "101000",
    "100000",
    "fleet",
    "alpha",
    "home",
  ]);
  expect(folder("fleet-beta-workspace")).toEqual([
    "pve2",
    "/var/lib/cairn",
    "fleet",
    "101000",
    "100000",
    "fleet",
    "beta",
    "workspace",
  ]);
  expect(folder("fleet-postgres-data")).toEqual([
    null,
    "/var/lib/cairn",
    "fleet",
    "100999",
    "100999",
    "fleet",
    "postgres",
  ]);
  expect(folder("fleet-shared-pve2")).toEqual([
    "pve2",
    "/var/lib/cairn",
    "fleet",
    "101000",
    "100000",
    "fleet",
    "shared",
  ]);
});

test("an image is loaded from the host where it was brought there, else pulled by what names it", () => {
  const declaration = shown;
  const image = (name: string) => {
    const flat = words(String(named(declaration, name).inputs["create"])).flat();
    return flat.slice(flat.findIndex((word) => /^(cairn-image|registry|pgvector)/.test(String(word)))).slice(0, 3);
  };
  const id = "1".repeat(64);
  const pulled = `registry.example/cairn@sha256:${"2".repeat(64)}`;
  expect(image("fleet-alpha-image")).toEqual([`cairn-image:${id}`, `/var/lib/cairn/.images/${id}.tar`, ""]);
  expect(image("fleet-beta-image")).toEqual([pulled, "", pulled]);
  expect(image("fleet-postgres-image")).toEqual([
    "pgvector/pgvector:pg17",
    expect.stringMatching(/^\/var\/lib\/cairn\/\.images\/ref-[0-9a-f]{64}\.tar$/),
    "pgvector/pgvector:pg17",
  ]);
});

test("nothing secret stands in an input that the engine does not encrypt", async () => {
  const without = proxmoxPlan({ postgres: null, postgresVmid: null, postgresAddress: null });
  const declared = [await declare(everything()), await declare(without)];
  for (const { inputs } of declared.flatMap(({ resources }) => resources)) {
    expect(["[secret]", undefined]).toContain(inputs["stdin"]);
  }
  const text = JSON.stringify(declared);
  for (const word of [...Object.values(WORDS), "PRIVATE KEY"]) {
    const forms = [word, encodeURIComponent(word), JSON.stringify(word).slice(1, -1)];
    for (const form of [...forms, ...forms.map((one) => Buffer.from(one).toString("base64").slice(0, -4))]) {
      expect(text).not.toContain(form);
    }
  }
  expect(text).toContain("[secret]");
});

test("data are protected and kept, their removal runs nothing, and nothing else is protected", async () => {
  const { resources } = await declare(everything());
  const kept = resources.filter(({ options }) => options["protect"] === true);
  expect(kept.map(({ name }) => name)).toEqual([
    "fleet-alpha-home",
    "fleet-alpha-workspace",
    "fleet-beta-home",
    "fleet-beta-workspace",
    "fleet-postgres-data",
    "fleet-shared",
    "fleet-shared-pve2",
  ]);
  for (const { inputs, options } of kept) {
    expect(options["retainOnDelete"]).toBe(true);
    const removal = String(inputs["delete"]);
    expect(execFileSync("/bin/sh", ["-c", removal.startsWith("'true'") ? removal : "true"]).toString()).toBe("");
    expect(removal).not.toMatch(/\brm\b|destroy/);
  }
});

test("every connection has the pinned key, and the provider never gets to choose", async () => {
  const plan = everything();
  const { resources } = await declare(plan, { reveal: true });
  for (const { inputs } of resources) {
    expect(inputs["connection"]).toMatchObject({ hostKey: plan.ssh.hostKey, user: "root" });
    expect(inputs["addPreviousOutputInEnv"]).toBe(false);
    expect(inputs["environment"]).toBeUndefined();
  }
  await expect(declare({ ...plan, ssh: { ...plan.ssh, hostKey: "" } })).rejects.toMatchObject({
    code: "INFRA_PLAN_INVALID",
  });
});

test("a node gets its variables and the database's address in .env, and the image's credentials where it is pulled", async () => {
  const declaration = await declare(everything(), { reveal: true });
  const env = parse(files(declaration, "fleet-alpha-container").get(".env") ?? "");
  expect(env["SERVICE_API_TOKEN"]).toBe(WORDS.token);
  const url = new URL(env["SERVICE_PG_URL"] ?? "");
  expect([url.host, url.pathname, decodeURIComponent(url.password)]).toEqual([
    "192.168.1.40:5432",
    "/cairn",
    WORDS.password,
  ]);
  expect(files(declaration, "fleet-postgres-container").get("password")).toBe(`${WORDS.password}\n`);
  // The server has the key, the node what it is to show, and no more.
  expect(files(declaration, "fleet-postgres-container").get("server.pem")).toBe(TLS_PEM);
  expect(url.searchParams.get("sslmode")).toBe("verify-ca");
  expect(url.searchParams.get("sslrootcert")).toBe("/etc/cairn/postgres.pem");
  expect(files(declaration, "fleet-alpha-container").get("postgres.pem")).toBe(
    TLS_PEM.slice(TLS_PEM.indexOf("\n-----BEGIN CERT") + 1),
  );
  const config = JSON.parse(
    Buffer.from(String(named(declaration, "fleet-beta-image").inputs["stdin"]), "base64").toString(),
  );
  expect(config.auths["registry.example"].auth).toBe(Buffer.from(`ops:${WORDS.registry}`).toString("base64"));
  expect(named(declaration, "fleet-alpha-image").inputs["stdin"]).toBeUndefined();
});

test("a changed secret changes the node's own input and no other", async () => {
  const before = await declare(everything(), { reveal: true });
  const plan = everything();
  const [alpha] = plan.nodes;
  const file = { path: "/etc/cairn/cairn.yaml", content: "version: 1\nagents: {}\n" };
  const after = await declare(
    { ...plan, nodes: [{ ...(alpha ?? nodePlan("x")), files: [file] }, ...plan.nodes.slice(1)] },
    { reveal: true },
  );
  const changed = after.resources.filter(({ name, inputs }) => {
    const { connection: _one, ...now } = inputs;
    const { connection: _two, ...then } = named(before, name).inputs;
    return JSON.stringify(now) !== JSON.stringify(then);
  });
  expect(changed.map(({ name }) => name)).toEqual(["fleet-alpha-container"]);
});

test("the database takes its nodes alone: by address, by network where DHCP gives it, all where it is published", () => {
  const rules = (plan: ProxmoxPlan) =>
    (
      databaseFiles(plan, { password: "p", tls: TLS_PEM }).find(({ path }) => path.endsWith("/pg_hba.conf"))?.content ??
      ""
    )
      .split("\n")
      .filter((line) => !/^#|^$|^local all postgres peer$| (?:127\.0\.0\.1\/32|::1\/128) /.test(line));
  const plan = everything();
  expect(rules(plan)).toEqual([
    "hostssl cairn cairn 192.168.1.41/32 scram-sha-256",
    "hostssl cairn cairn samenet scram-sha-256",
  ]);
  expect(rules({ ...plan, nodes: [nodePlan("alpha")] })).toEqual(["hostssl cairn cairn 192.168.1.41/32 scram-sha-256"]);
  const published = {
    image: "x",
    limits: { memoryBytes: null, cpus: null },
    publish: { address: "0.0.0.0", port: 5432 },
  };
  expect(rules({ ...plan, postgres: published })).toEqual(["hostssl cairn cairn all scram-sha-256"]);
});

test.each([
  ["a database without a fixed address", { postgresAddress: "dhcp" }],
  ["a data directory with a comma in it", { dataDir: "/data,mp=/etc" }],
  ["a node whose data would lie in the database's", { nodes: [nodePlan("postgres")] }],
])("%s is refused with what to do", async (_what, change) => {
  const error = await declare({ ...everything(), ...change }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "INFRA_PLAN_INVALID", details: { hint: expect.any(String) } });
});

test("a node without an image is refused", async () => {
  const plan = proxmoxPlan({ nodes: [nodePlan("alpha", { image: null })] });
  await expect(declare(plan)).rejects.toMatchObject({ code: "INFRA_IMAGE_MISSING" });
});
