/** The Docker target on the mock engine: what it declares, how it is held to its limits, and that nothing secret is in sight. */

import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parse } from "dotenv";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { DockerPlan } from "../../../infra/plan/types.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import {
  type Declaration,
  type Declared,
  declare,
  dockerPlan,
  find,
  nodePlan,
  SECRET_WORDS,
} from "../../support/docker-target.ts";
import { TLS_PEM } from "../../support/postgres-tls.ts";

/** One resource: what it is called, what it waits for, and what the engine may do with it. */
function lineOf({ type, name, after, options }: Declared): string {
  const order = after.length === 0 ? "" : ` after ${after.join(", ")}`;
  return `${type} ${name}${order} ${JSON.stringify(options)}`;
}

const REMOTE = "ssh://ops@two.example:2222";

/** Text of a file that a container lends. */
function upload(declaration: Declaration, container: string, path: string): Record<string, unknown> {
  const uploads = find(declaration, "Container", `${container}.files`).inputs["uploads"];
  const found = Array.isArray(uploads) ? uploads.find((file) => file.file === path) : undefined;
  if (!found) throw new Error(`${path} is not lent by ${container}`);
  return found;
}

function everything(): DockerPlan {
  return dockerPlan({
    sharedStorage: true,
    postgres: {
      image: "pgvector/pgvector:pg17",
      limits: { memoryBytes: null, cpus: null },
      publish: { address: "10.0.0.5", port: 15_432 },
    },
    nodes: [
      nodePlan("alpha"),
      nodePlan("beta", {
        host: REMOTE,
        image: {
          id: null,
          digest: `registry.example/cairn@sha256:${"2".repeat(64)}`,
          reference: "registry.example/cairn:0.1.0",
          version: "0.1.0",
          revision: null,
        },
        limits: { memoryBytes: null, cpus: null },
        publish: null,
      }),
    ],
  });
}

let shown: Declaration;
beforeAll(async () => {
  shown = await declare(everything());
});

test("the resources of PostgreSQL, two nodes on two hosts and shared storage, their order and their options stay as they were", () => {
  // A resource under another name is a new one, and the old one is deleted with its data.
  const { resources, outputs } = shown;
  expect(resources.map(lineOf).join("\n")).toMatchInlineSnapshot(`
    "command:local:Command fleet-alpha-pids {"deleteBeforeReplace":true,"replaceOnChanges":["triggers[*]"]}
    command:local:Command fleet-beta-pids {"deleteBeforeReplace":true,"replaceOnChanges":["triggers[*]"]}
    command:local:Command fleet-postgres-pids {"deleteBeforeReplace":true,"replaceOnChanges":["triggers[*]"]}
    docker:index/container:Container fleet-alpha after fleet-postgres {"deleteBeforeReplace":true,"replaceOnChanges":["cpuPeriod","cpuQuota","healthcheck","init","tmpfs"]}
    docker:index/container:Container fleet-alpha.files {"deleteBeforeReplace":true}
    docker:index/container:Container fleet-beta after fleet-postgres {"deleteBeforeReplace":true,"replaceOnChanges":["cpuPeriod","cpuQuota","healthcheck","init","tmpfs"]}
    docker:index/container:Container fleet-beta.files {"deleteBeforeReplace":true}
    docker:index/container:Container fleet-postgres {"deleteBeforeReplace":true,"replaceOnChanges":["cpuPeriod","cpuQuota","healthcheck","init","tmpfs"]}
    docker:index/container:Container fleet-postgres.files {"deleteBeforeReplace":true}
    docker:index/network:Network network-local {"deleteBeforeReplace":true}
    docker:index/network:Network network-ops-two-example-2222-f2ad2173 {"deleteBeforeReplace":true}
    docker:index/remoteImage:RemoteImage fleet-postgres-image {}
    docker:index/volume:Volume fleet-alpha-home {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    docker:index/volume:Volume fleet-alpha-workspace {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    docker:index/volume:Volume fleet-beta-home {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    docker:index/volume:Volume fleet-beta-workspace {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    docker:index/volume:Volume fleet-postgres-data {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    docker:index/volume:Volume fleet-shared-local {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    docker:index/volume:Volume fleet-shared-ops-two-example-2222-f2ad2173 {"protect":true,"retainOnDelete":true,"ignoreChanges":["labels","driver","driverOpts"]}
    pulumi:providers:docker docker-local {}
    pulumi:providers:docker docker-ops-two-example-2222-f2ad2173 {}"
  `);
  expect(outputs).toEqual({
    nodes: [
      { name: "alpha", workload: "fleet-alpha", place: "local", image: `sha256:${"1".repeat(64)}` },
      {
        name: "beta",
        workload: "fleet-beta",
        place: REMOTE,
        image: `registry.example/cairn@sha256:${"2".repeat(64)}`,
      },
    ],
    data: [
      { name: "fleet-postgres-data", place: "local" },
      { name: "fleet-alpha-home", place: "local" },
      { name: "fleet-alpha-workspace", place: "local" },
      { name: "fleet-beta-home", place: REMOTE },
      { name: "fleet-beta-workspace", place: REMOTE },
      { name: "fleet-shared", place: "local" },
      { name: "fleet-shared", place: REMOTE },
    ],
  });
});

test("what the engine knows a thing by stays as it was: its name and its labels", () => {
  const declaration = shown;
  const named = declaration.resources.filter(({ type }) => /:(Container|Network|Volume)$/.test(type));
  const labelsOf = ({ inputs }: Declared) =>
    // The shape of labels, as the target declares them.
    (inputs["labels"] as { label: string; value: string }[]).map(({ label, value }) => `${label}=${value}`).sort();
  expect(Object.fromEntries(named.map((one) => [one.name, one.inputs["name"]]))).toEqual({
    ...Object.fromEntries(named.map(({ name }) => [name, name])),
    "network-local": "fleet",
    "network-ops-two-example-2222-f2ad2173": "fleet",
    "fleet-shared-local": "fleet-shared",
    "fleet-shared-ops-two-example-2222-f2ad2173": "fleet-shared",
  });
  const found = named.filter(({ type }) => !type.endsWith(":Container"));
  expect(Object.fromEntries(found.map((one) => [one.name, labelsOf(one).join(" ")]))).toEqual({
    "network-local": "cairn.role=network cairn.stack=fleet",
    "network-ops-two-example-2222-f2ad2173": "cairn.role=network cairn.stack=fleet",
    "fleet-alpha-home": "cairn.node=alpha cairn.role=node cairn.stack=fleet",
    "fleet-alpha-workspace": "cairn.node=alpha cairn.role=node cairn.stack=fleet",
    "fleet-beta-home": "cairn.node=beta cairn.role=node cairn.stack=fleet",
    "fleet-beta-workspace": "cairn.node=beta cairn.role=node cairn.stack=fleet",
    "fleet-postgres-data": "cairn.role=postgres cairn.stack=fleet",
    "fleet-shared-local": "cairn.role=shared cairn.stack=fleet",
    "fleet-shared-ops-two-example-2222-f2ad2173": "cairn.role=shared cairn.stack=fleet",
  });
  const labelled = (name: string) => labelsOf(find(declaration, "Container", name));
  const compose = (service: string) => [
    "com.docker.compose.container-number=1",
    "com.docker.compose.oneoff=False",
    "com.docker.compose.project=fleet",
    `com.docker.compose.service=${service}`,
  ];
  expect(labelled("fleet-alpha")).toEqual([
    "cairn.memory=limited",
    "cairn.node=alpha",
    "cairn.role=node",
    "cairn.stack=fleet",
    ...compose("alpha"),
  ]);
  expect(labelled("fleet-beta")).toEqual([
    "cairn.node=beta",
    "cairn.role=node",
    "cairn.stack=fleet",
    ...compose("beta"),
  ]);
  expect(labelled("fleet-postgres")).toEqual(["cairn.role=postgres", "cairn.stack=fleet", ...compose("postgres")]);
});

test("a container has its volumes, its files read only, a name in the network and a probe", () => {
  const declaration = shown;
  expect(find(declaration, "Container", "fleet-alpha").inputs).toMatchObject({
    hostname: "alpha",
    user: "1000:0",
    init: false,
    envs: ["SERVICE_CONTAINER=1", "SERVICE_LISTEN=0.0.0.0:7433"],
    networksAdvanced: [{ name: "fleet", aliases: ["alpha"] }],
    volumes: [
      { volumeName: "fleet-alpha-home", containerPath: "/var/lib/cairn" },
      { volumeName: "fleet-alpha-workspace", containerPath: "/srv/cairn" },
      { volumeName: "fleet-shared", containerPath: "/srv/shared" },
      { fromContainer: "fleet-alpha.files-id:ro" },
    ],
    tmpfs: {
      "/run": "rw,nosuid,nodev,noexec,mode=0755,size=16777216",
      "/tmp": "rw,nosuid,nodev,exec,mode=1777,size=536870912",
    },
    healthcheck: {
      tests: ["CMD", "node", "/opt/cairn/dist/runtime/health-probe.js"],
      interval: "15s",
      timeout: "10s",
      retries: 3,
      startPeriod: "5m0s",
      startInterval: "2s",
    },
    removeVolumes: true,
  });
  expect(find(declaration, "Container", "fleet-postgres").inputs).toMatchObject({
    hostname: "postgres",
    user: "999:999",
    groupAdds: ["0"],
    entrypoints: ["/bin/sh", "/etc/cairn-postgres/start.sh"],
    envs: [
      "PGDATA=/var/lib/postgresql/data",
      "POSTGRES_DB=cairn",
      "POSTGRES_HBA_FILE=/etc/cairn-postgres/pg_hba.conf",
      "POSTGRES_PASSWORD_FILE=/etc/cairn-postgres/password",
      "POSTGRES_TLS_FILE=/etc/cairn-postgres/server.pem",
      "POSTGRES_USER=cairn",
    ],
    networksAdvanced: [{ name: "fleet", aliases: ["postgres"] }],
    ports: [{ internal: 5432, external: 15_432, ip: "10.0.0.5" }],
    shmSize: 256,
    stopTimeout: 120,
    volumes: [
      { volumeName: "fleet-postgres-data", containerPath: "/var/lib/postgresql/data" },
      { fromContainer: "fleet-postgres.files-id:ro" },
    ],
    tmpfs: {
      "/tmp": "rw,nosuid,nodev,noexec,mode=1777,size=268435456",
      "/var/run/postgresql": "rw,nosuid,nodev,noexec,mode=0775,uid=999,gid=999,size=1048576",
    },
    healthcheck: {
      tests: ["CMD", ..."pg_isready -q -h 127.0.0.1 -p 5432 -U cairn -d cairn".split(" ")],
      startPeriod: "10m0s",
    },
  });
});

test("the limit of processes is set again whenever the container is another one", () => {
  const { inputs } = find(shown, "Command", "fleet-alpha-pids");
  expect(inputs).toMatchObject({
    create: "fleet-alpha-id",
    triggers: ["fleet-alpha-id", 512],
    environment: { DOCKER_CONTEXT: "default" },
  });
});

test("the database's image stays on its host when the stack goes", () => {
  expect(find(shown, "RemoteImage", "fleet-postgres-image").inputs).toEqual({
    name: "pgvector/pgvector:pg17",
    keepLocally: true,
  });
});

test("a container that only lends files never runs, has no network, and its files are secret", () => {
  const declaration = shown;
  const folders = { alpha: "/etc/cairn", beta: "/etc/cairn", postgres: "/etc/cairn-postgres" };
  for (const [name, containerPath] of Object.entries(folders)) {
    expect(find(declaration, "Container", `fleet-${name}.files`).inputs).toMatchObject({
      start: false,
      mustRun: false,
      restart: "no",
      networkMode: "none",
      capabilities: { drops: ["ALL"] },
      securityOpts: ["no-new-privileges:true"],
      removeVolumes: true,
      uploads: "[secret]",
      volumes: [{ containerPath }],
    });
  }
});

test("nothing secret stands in an input that the engine does not encrypt", async () => {
  const text = JSON.stringify(await declare(everything()));
  for (const word of Object.values(SECRET_WORDS)) {
    for (const form of [word, encodeURIComponent(word), JSON.stringify(word).slice(1, -1)])
      expect(text).not.toContain(form);
  }
  expect(text).toContain("[secret]");
});

test("a node's .env has its variables and the address of the stack's own database, also against one of the operator's", async () => {
  const declaration = await declare(everything(), { reveal: true });
  const own = parse(String(upload(declaration, "fleet-alpha", "/etc/cairn/.env")["content"]));
  expect(own).toEqual({
    API_KEY: SECRET_WORDS.key,
    SERVICE_PG_URL: expect.stringContaining("@fleet-postgres:5432/cairn"),
  });
  expect(new URL(own["SERVICE_PG_URL"] ?? "").password).not.toBe("");
  expect(decodeURIComponent(new URL(own["SERVICE_PG_URL"] ?? "").password)).toBe(SECRET_WORDS.password);
  const remote = parse(String(upload(declaration, "fleet-beta", "/etc/cairn/.env")["content"]));
  expect(remote["SERVICE_PG_URL"]).toContain("@10.0.0.5:15432/cairn");
  // The server has the key, a node what it is to show, and no more.
  expect(upload(declaration, "fleet-postgres", "/etc/cairn-postgres/server.pem")["content"]).toBe(TLS_PEM);
  expect(upload(declaration, "fleet-beta", "/etc/cairn/postgres.pem")["content"]).toBe(
    TLS_PEM.slice(TLS_PEM.indexOf("\n-----BEGIN CERT") + 1),
  );
  expect(new URL(remote["SERVICE_PG_URL"] ?? "").searchParams.get("sslrootcert")).toBe("/etc/cairn/postgres.pem");
});

test("without a database of the stack, what stands in a node's .env is as secret", async () => {
  const plan = dockerPlan({ postgres: null, nodes: [nodePlan("alpha", { secretVariables: ["API_KEY"] })] });
  expect(JSON.stringify(await declare(plan))).not.toContain(JSON.stringify(SECRET_WORDS.key).slice(1, -1));
  const lent = upload(await declare(plan, { reveal: true }), "fleet-alpha", "/etc/cairn/.env");
  expect(parse(String(lent["content"]))).toEqual({ API_KEY: SECRET_WORDS.key });
});

test("a node that does not ask for the database is not told of it", async () => {
  const plan = dockerPlan({ nodes: [nodePlan("alpha", { secretVariables: ["API_KEY"] })] });
  const lent = upload(await declare(plan, { reveal: true }), "fleet-alpha", "/etc/cairn/.env");
  expect(parse(String(lent["content"]))).toEqual({ API_KEY: SECRET_WORDS.key });
});

test("a database that is published on every interface is reached by the name of its host", async () => {
  const plan = everything();
  const postgres = {
    image: "pgvector/pgvector:pg17",
    limits: { memoryBytes: null, cpus: null },
    publish: { address: "0.0.0.0", port: 15_432 },
  };
  const declaration = await declare({ ...plan, host: REMOTE, postgres, nodes: [nodePlan("alpha")] }, { reveal: true });
  expect(upload(declaration, "fleet-alpha", "/etc/cairn/.env")["content"]).toContain("@two.example:15432/cairn");
});

test("a node on another host than an unpublished database is refused with what to do", async () => {
  const plan = dockerPlan({ nodes: [nodePlan("alpha", { host: REMOTE })] });
  await expect(declare(plan)).rejects.toMatchObject({
    code: "INFRA_PLAN_INVALID",
    details: { hint: expect.stringContaining("datahub.publish") },
  });
});

test("a node without an image, and a database without a password, are refused", async () => {
  await expect(declare(dockerPlan({ nodes: [nodePlan("alpha", { image: null })] }))).rejects.toMatchObject({
    code: "INFRA_IMAGE_MISSING",
  });
  await expect(declare(dockerPlan(), { password: null })).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
});

test("every volume with data is protected, retained and never replaced; nothing else is", async () => {
  const { resources, outputs } = await declare(everything());
  const volumes = resources.filter(({ type }) => type === "docker:index/volume:Volume");
  expect(volumes.map(({ inputs }) => inputs["name"]).sort()).toEqual(outputs.data.map(({ name }) => name).sort());
  for (const { options } of volumes) {
    expect(options).toEqual({
      protect: true,
      retainOnDelete: true,
      ignoreChanges: ["labels", "driver", "driverOpts"],
    });
  }
  for (const { type, options } of resources.filter((resource) => !volumes.includes(resource))) {
    expect([type, options["protect"], options["retainOnDelete"]]).toEqual([type, undefined, undefined]);
  }
});

test("a volume that is taken over is imported under its own name, and only that one", async () => {
  const { resources } = await declare(everything(), { adopt: ["fleet-postgres-data"] });
  const imported = resources.filter(({ options }) => options["import"] !== undefined);
  expect(imported.map(({ name, options }) => [name, options["import"]])).toEqual([
    ["fleet-postgres-data", "fleet-postgres-data"],
  ]);
});

test("every container that serves has the least rights, limits, rotated logs and time to end", async () => {
  const declaration = await declare(everything());
  for (const name of ["fleet-alpha", "fleet-beta", "fleet-postgres"]) {
    const { inputs, options } = find(declaration, "Container", name);
    expect(inputs).toMatchObject({
      name,
      readOnly: true,
      privileged: false,
      capabilities: { drops: ["ALL"] },
      securityOpts: ["no-new-privileges:true"],
      restart: "unless-stopped",
      logDriver: "json-file",
      logOpts: { "max-size": "10000000", "max-file": "3" },
      wait: false,
      mustRun: true,
    });
    expect(inputs["stopTimeout"]).toBe(inputs["destroyGraceSeconds"]);
    expect(Number(inputs["stopTimeout"])).toBeGreaterThanOrEqual(90);
    expect(inputs["user"]).not.toMatch(/^(0|root)(:|$)/);
    expect(options["deleteBeforeReplace"]).toBe(true);
    expect(find(declaration, "Command", `${name}-pids`).inputs["interpreter"]).toEqual(
      expect.arrayContaining(["update", "--pids-limit", "512"]),
    );
  }
  expect(find(declaration, "Container", "fleet-alpha").inputs).toMatchObject({
    memory: 512,
    memorySwap: 512,
    cpuPeriod: 100_000,
    cpuQuota: 150_000,
  });
  expect(find(declaration, "Container", "fleet-beta").inputs).not.toHaveProperty("memory");
});

test("the limit on processes is set again where the container ends at that moment, and given up after five times", async () => {
  const declaration = await declare(everything());
  const { interpreter } = find(declaration, "Command", "fleet-postgres-pids").inputs;
  const [program = "", ...words] = z.array(z.string()).parse(interpreter);
  const folder = await temporaryDirectory();
  const attempts = async (succeedsAt: number): Promise<readonly [string[], number | null]> => {
    const script = `#!/bin/sh\necho "$*" >> calls\n[ "$(wc -l < calls)" -ge ${succeedsAt} ]\n`;
    await writeFile(join(folder, "docker"), script, { mode: 0o755 });
    const { status } = spawnSync(program, [...words, "id of it"], {
      cwd: folder,
      env: { PATH: `${folder}:${process.env["PATH"]}` },
    });
    const calls = (await readFile(join(folder, "calls"), "utf8")).trim().split("\n");
    await rm(join(folder, "calls"));
    return [calls, status];
  };
  const call = "update --pids-limit 512 id of it";
  expect(await attempts(2)).toEqual([[call, call], 0]);
  expect(await attempts(9)).toEqual([Array(5).fill(call), 1]);
});

test("plain nodes and the database are published only where the plan says", async () => {
  const declaration = await declare(everything());
  expect(find(declaration, "Container", "fleet-alpha").inputs["ports"]).toEqual([
    { internal: 7433, external: 7433, ip: "127.0.0.1" },
  ]);
  expect(find(declaration, "Container", "fleet-beta").inputs["ports"]).toEqual([]);
  const closed = await declare(dockerPlan());
  expect(find(closed, "Container", "fleet-postgres").inputs["ports"]).toEqual([]);
});

test("a node runs its image by digest where there is one, else by id", async () => {
  const declaration = await declare(everything());
  expect(find(declaration, "Container", "fleet-alpha").inputs["image"]).toBe(`sha256:${"1".repeat(64)}`);
  expect(find(declaration, "Container", "fleet-beta").inputs["image"]).toContain("@sha256:");
});

test("every host over SSH is reached with its key checked and nothing asked", async () => {
  const { resources } = await declare(everything());
  const providers = resources.filter(({ type }) => type === "pulumi:providers:docker");
  const remote = providers.find(({ inputs }) => inputs["host"] === REMOTE);
  expect(providers).toHaveLength(2);
  // Providers take what is no text as JSON.
  expect(JSON.stringify(remote?.inputs["sshOpts"])).toContain("StrictHostKeyChecking=yes");
  expect(JSON.stringify(remote?.inputs["sshOpts"])).toContain("BatchMode=yes");
  const pids = resources.find(({ name }) => name === "fleet-beta-pids");
  expect(pids?.inputs["interpreter"]).toEqual(
    expect.arrayContaining(["ssh", "StrictHostKeyChecking=yes", "-p", "2222", "-l", "ops", "--", "two.example"]),
  );
});
