import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { postgresCt } from "../../../infra/components/proxmox/ct.ts";
import { renderEnvFile } from "../../../infra/plan/env-file.ts";
import type { NodePlan } from "../../../infra/plan/types.ts";
import type { Project } from "../../../infra/project.ts";
import { loadConfig } from "../../../runtime/config/index.ts";
import { CairnError, InfraError } from "../../../runtime/contracts/errors.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { AGENTS, type ProjectFiles, planOf, projectOf, TOKEN } from "../../support/infra/project.ts";

const PROXMOX = 'proxmox: { host: pve, host_key: "ssh-ed25519 AAAA", postgres_address: 10.0.0.9/24 }';

const UPGRADED = PROXMOX.replace(" }", ", database_directory: postgres-18 }");

/** The paths that a refused plan complains of, each with its message. */
async function problems(deployment: string, rest = "", options: ProjectFiles = {}): Promise<Map<string, string>> {
  const error = await planOf(`${AGENTS}deployment: { ${deployment} }\n${rest}`, options).catch(
    (caught: unknown) => caught,
  );
  if (!(error instanceof InfraError)) throw error instanceof Error ? error : new Error("the plan was not refused");
  expect(error.code).toBe("INFRA_PLAN_INVALID");
  expect(error.details.hint).toBeDefined();
  return new Map(error.details.issues?.map(({ path, message }) => [path, message]));
}

const nodes = (...names: string[]) => `nodes: [${names.join(", ")}]`;

describe("a plan is refused", () => {
  test("because of the target manual, with what to do instead", async () => {
    const error = await planOf(AGENTS).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: "INFRA_TARGET_MANUAL",
      details: { hint: expect.stringContaining("cairn start --detach") },
    });
  });

  test.each<[string, string, string, RegExp]>([
    [
      "two nodes on one port",
      `target: docker, ${nodes("{ name: a }", "{ name: b, port: 7433 }")}`,
      "deployment.nodes[1].port",
      /7433 on local is that of deployment.nodes\[0\].port/,
    ],
    [
      "the database on a node's port",
      `target: docker, datahub: { postgres: true, publish: "127.0.0.1:7433" }`,
      "deployment.nodes",
      /deployment.datahub.publish/,
    ],
    [
      "a node on another host than its database",
      `target: docker, datahub: { postgres: true }, ${nodes("{ name: a }", '{ name: b, host: "ssh://u@h" }')}`,
      "deployment.nodes[1].host",
      /deployment.datahub.publish/,
    ],
    [
      "a database that is published where the other host does not reach it",
      `target: docker, datahub: { postgres: true, publish: "127.0.0.1:5432" }, ${nodes("{ name: a }", '{ name: b, host: "ssh://u@h" }')}`,
      "deployment.datahub.publish",
      /that other hosts reach/,
    ],
    [
      "shared storage over several hosts",
      `target: docker, datahub: { shared_storage: true }, ${nodes("{ name: a }", '{ name: b, host: "ssh://u@h" }')}`,
      "deployment.nodes[1].host",
      /shared_storage/,
    ],
    [
      "a node named as the database",
      `target: docker, datahub: { postgres: true }, ${nodes("{ name: postgres }")}`,
      "deployment.nodes[0].name",
      /database/,
    ],
    [
      "a name that is too long",
      `target: docker, ${nodes(`{ name: ${"a".repeat(60)} }`)}`,
      "deployment.nodes[0].name",
      /52/,
    ],
    [
      "a number taken twice",
      `target: proxmox, ${PROXMOX}, ${nodes("{ name: a, vmid: 702 }", "{ name: b }")}`,
      "deployment.nodes[1].vmid",
      /702 is the number of a/,
    ],
    [
      "a node with the database's number",
      `target: proxmox, ${PROXMOX}, datahub: { postgres: true }, ${nodes("{ name: a, vmid: 700 }")}`,
      "deployment.nodes[0].vmid",
      /database/,
    ],
    [
      "an address taken twice",
      `target: proxmox, ${PROXMOX}, ${nodes("{ name: a, address: 10.0.0.1/24 }", "{ name: b, address: 10.0.0.1/24 }")}`,
      "deployment.nodes[1].address",
      /10.0.0.1 is the address of a/,
    ],
    [
      "a database whose address nobody knows",
      `target: proxmox, ${PROXMOX.replace(/, postgres_address.*(?= })/, "")}, datahub: { postgres: true }`,
      "deployment.proxmox.postgres_address",
      /192.168.1.50/,
    ],
    [
      "a node whose data would lie among other data",
      `target: proxmox, ${PROXMOX}, ${nodes("{ name: shared }")}`,
      "deployment.nodes[0].name",
      /directory/,
    ],
    [
      "a node whose data would lie in the database's directory",
      `target: proxmox, ${UPGRADED}, ${nodes("{ name: postgres-18 }")}`,
      "deployment.nodes[0].name",
      /directory/,
    ],
    [
      "an embedded store with replicas",
      "target: kubernetes, kubernetes: { replicas: 2 }",
      "deployment.kubernetes.replicas",
      /one process/,
    ],
    [
      "replicas that make a certificate each",
      "target: kubernetes, kubernetes: { replicas: 2 }, datahub: { postgres: true } }\nmemory: { postgres: {} }\nruntime: { tls: auto",
      "deployment.kubernetes.replicas",
      /a certificate of its own.*deployment\.nodes/,
    ],
    [
      "requests above limits",
      "target: kubernetes, kubernetes: { requests: { memory: 2Gi } }",
      "deployment.kubernetes.limits.memory",
      /requests/,
    ],
  ])("because of %s", async (_what, deployment, path, words) => {
    const found = await problems(deployment);
    expect([...found.keys()]).toContain(path);
    expect(found.get(path)).toMatch(words);
  });

  test("only where the address of the database's host is not known, when it listens everywhere", async () => {
    const deployment = (host: string) =>
      `target: docker, docker: { host: ${host} }, datahub: { postgres: true, publish: "0.0.0.0:5432" }, ${nodes("{ name: a }", '{ name: b, host: "ssh://u@other" }')}`;
    expect([...(await problems(deployment("local"))).keys()]).toEqual(["deployment.datahub.publish"]);
    const plan = await planOf(`${AGENTS}deployment: { ${deployment('"ssh://u@db"')} }\n`);
    expect(plan.postgres?.publish).toEqual({ address: "0.0.0.0", port: 5432 });
  });

  test("because of a second database", async () => {
    const docker = "target: docker, datahub: { postgres: true }";
    const own = await problems(docker, 'memory: { postgres: { connection_string: "postgres://own/d" } }\n');
    expect(own.get("memory.postgres.connection_string")).toMatch(/beside the one that is deployed/);
    const embedded = await problems(docker, "memory: { embedded: {} }\n");
    expect(embedded.get("memory.embedded")).toMatch(/nothing would use/);
  });

  test("without a token, which the nodes would refuse to serve without", async () => {
    const found = await problems("target: docker", "", { variables: "SERVICE_API_TOKEN=\n" });
    expect(found.get("SERVICE_API_TOKEN")).toMatch(/cairn init/);
  });

  test("with everything that is wrong at once", async () => {
    const found = await problems(
      `target: docker, datahub: { postgres: true, shared_storage: true }, ${nodes("{ name: postgres }", '{ name: b, host: "ssh://u@h", port: 70 }', '{ name: c, host: "ssh://u@h", port: 70 }')}`,
    );
    expect([...found.keys()]).toEqual([
      "deployment.nodes[0].name",
      "deployment.nodes[2].port",
      "deployment.nodes[1].host",
      "deployment.nodes[2].host",
    ]);
  });

  test.each(["a; rm -rf /", "$(id)", "a\nb", "../x", "-rf", "", "A", "a".repeat(64)])(
    "by the schema, for a node called %j",
    async (name) => {
      const yaml = `${AGENTS}${stringify({ deployment: { target: "docker", nodes: [{ name }] } })}`;
      await expect(planOf(yaml)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    },
  );
});

describe("a plan", () => {
  const TARGETS = ["target: docker", `target: proxmox, ${PROXMOX}`, "target: kubernetes"];

  test("is the same on every machine, whatever its operator has set for a service there", async () => {
    for (const target of TARGETS) {
      const yaml = `${AGENTS}deployment: { ${target}, datahub: { postgres: true } }\n`;
      const here = await planOf(yaml);
      const there = await planOf(yaml, {
        env: {
          SERVICE_HOME: "/tmp/elsewhere",
          SERVICE_LISTEN: "127.0.0.1:9",
          SERVICE_PG_URL: "postgres://u:p@h/d",
          SERVICE_PG_DIRECT_URL: "postgres://u:p@h/d",
          HOSTNAME: "other",
        },
        variables: "SERVICE_LISTEN=127.0.0.1:10\nPULUMI_CONFIG_PASSPHRASE=x\nOP_SERVICE_ACCOUNT_TOKEN=y\n",
      });
      expect(there).toEqual(here);
    }
  });

  test("of a node does not change when another one is added", async () => {
    const setting = fc.record(
      {
        memory: fc.constantFrom("512Mi", "1Gi"),
        port: fc.integer({ min: 20_000, max: 60_000 }),
        host: fc.constantFrom("local", "ssh://u@h"),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...TARGETS),
        fc.boolean(),
        fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,6}[a-z0-9]$/), { minLength: 2, maxLength: 5 }),
        fc.array(setting, { minLength: 5, maxLength: 5 }),
        async (target, postgres, names, settings) => {
          const entries = names.map((name, index) => ({ name: `n${name}`, ...settings[index], port: 20_000 + index }));
          const yamlOf = (count: number) =>
            `${AGENTS}mesh: { advertise: "h:1" }\ndeployment: { ${target}, datahub: { postgres: ${postgres}, publish: "10.0.0.5:5432" }, nodes: ${JSON.stringify(entries.slice(0, count))} }\n`;
          const before = await planOf(yamlOf(names.length - 1));
          const after = await planOf(yamlOf(names.length));
          expect(after.nodes.slice(0, -1)).toEqual(before.nodes);
          expect({ ...after, nodes: [] }).toEqual({ ...before, nodes: [] });
        },
      ),
      { numRuns: 15 },
    );
  });

  test("keeps the database's data where they are, or has them where an upgrade has left them", async () => {
    const mounted = async (proxmox: string) => {
      const plan = await planOf(`${AGENTS}deployment: { target: proxmox, ${proxmox}, datahub: { postgres: true } }\n`);
      const ct = plan.target === "proxmox" ? postgresCt(plan) : null;
      return [ct?.directories[0]?.name, ct?.settings["mp0"]];
    };
    expect(await mounted(PROXMOX)).toEqual([
      "cairn-postgres-data",
      "/var/lib/cairn/cairn/postgres,mp=/srv/cairn-data/postgres",
    ]);
    expect(await mounted(UPGRADED)).toEqual([
      "cairn-postgres-18-data",
      "/var/lib/cairn/cairn/postgres-18,mp=/srv/cairn-data/postgres-18",
    ]);
  });

  test("keeps numbers when the database comes or goes", async () => {
    const yaml = (postgres: boolean) =>
      `${AGENTS}deployment: { target: proxmox, ${PROXMOX}, datahub: { postgres: ${postgres} }, ${nodes("{ name: a }", "{ name: b }")} }\n`;
    const numbers = async (postgres: boolean) => {
      const plan = await planOf(yaml(postgres));
      return plan.target === "proxmox" ? [plan.postgresVmid, ...plan.nodes.map(({ vmid }) => vmid)] : [];
    };
    expect(await numbers(true)).toEqual([700, 701, 702]);
    expect(await numbers(false)).toEqual([null, 701, 702]);
  });

  test("names the only node as mesh.name says, or main", async () => {
    const named = async (mesh: string) =>
      (await planOf(`${AGENTS}${mesh}deployment: { target: docker }\n`)).nodes.map(({ name }) => name);
    expect(await named("")).toEqual(["main"]);
    expect(await named("mesh: { name: solo }\n")).toEqual(["solo"]);
  });

  test("gives an address that leads to one node to one node, and says so", async () => {
    const { plan, warnings } = await projectOf(
      `${AGENTS}mesh: { advertise: "node.example.org:7433" }\ndeployment: { target: docker, ${nodes("{ name: a }", "{ name: b }")} }\n`,
    );
    const advertised = plan.nodes.map(({ files }) => files[0]?.content.includes("node.example.org"));
    expect(advertised).toEqual([true, false]);
    expect(warnings.map(({ path }) => path)).toContain("mesh.advertise");
  });

  describe("in a mesh", () => {
    const said = async (target: string, mesh = "enabled: true") => {
      const { plan, warnings } = await projectOf(
        `${AGENTS}mesh: { ${mesh} }\ndeployment: { ${target} }\nmemory: { postgres: {} }\n`,
        { variables: "SERVICE_PG_URL=postgres://u:p@db.example.org/d\nPUBLIC=public.example.org\n" },
      );
      const configurations = plan.nodes.map(({ files }) => parse(files[0]?.content ?? "").mesh);
      return {
        addresses: configurations.map(({ advertise }) => advertise ?? null),
        names: configurations.map(({ name }) => name),
        warned: warnings.filter(({ path }) => path.endsWith("advertise")),
      };
    };

    test("each node says where the others reach it, as the target gives it an address", async () => {
      const two = nodes("{ name: a }", "{ name: b }");
      expect((await said(`target: docker, ${two}`)).addresses).toEqual(["cairn-a:7433", "cairn-b:7433"]);
      const apart = nodes('{ name: a, host: "ssh://u@one.example.org" }', '{ name: b, host: "ssh://two.example.org" }');
      expect((await said(`target: docker, ${apart}`)).addresses).toEqual([
        "one.example.org:7433",
        "two.example.org:7433",
      ]);
      const pods = await said(`target: kubernetes, ${two}`);
      expect(pods.addresses).toEqual([
        "cairn-a-0.cairn-a-pods.cairn.svc:7433",
        "cairn-b-0.cairn-b-pods.cairn.svc:7433",
      ]);
      expect((await said("target: docker")).addresses).toEqual(["cairn-main:7433"]);
    });

    test("what is written comes first, and a reference stays one", async () => {
      const two = nodes("{ name: a }", "{ name: b, advertise: b.example.org }");
      const written = await said(`target: docker, ${two}`, 'enabled: true, advertise: "${PUBLIC}:443"');
      expect(written.addresses).toEqual(["${PUBLIC}:443", "b.example.org"]);
      expect((await said(`target: docker, ${two}`, "enabled: false")).addresses).toEqual([null, "b.example.org"]);
    });

    test("a node that the others cannot reach is warned of, with where to write its address", async () => {
      const paths = async (target: string) => (await said(target)).warned.map(({ path }) => path);
      const mixed = nodes("{ name: a }", '{ name: b, host: "ssh://two.example.org" }');
      expect(await paths(`target: docker, ${mixed}`)).toEqual(["deployment.nodes[0].advertise"]);
      const proxmox = `target: proxmox, proxmox: { host: pve.example.org, host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", gateway: 10.0.0.1 }`;
      const half = nodes("{ name: a }", "{ name: b, address: 10.0.0.4/24 }");
      expect(await paths(`${proxmox}, ${half}`)).toEqual(["deployment.nodes[0].advertise"]);
      // Whoever is alone in its deployment has peers elsewhere.
      expect(await paths("target: docker")).toEqual(["mesh.advertise"]);
      expect(await paths(`target: docker, ${nodes("{ name: a }")}`)).toEqual(["deployment.nodes[0].advertise"]);
      expect(await paths(`target: docker, ${nodes("{ name: a }", "{ name: b }")}`)).toEqual([]);
    });
  });

  test("warns of what means something else in a container", async () => {
    const { warnings } = await projectOf(
      `version: 1
agents: { main: { node: nowhere } }
providers: { ollama: { model: m, base_url: "http://127.0.0.1:11434" } }
mcp: { servers: { x: { command: x, cwd: /opt/x } } }
deployment: { target: docker }
`,
    );
    const paths = warnings.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(["providers.ollama.base_url", "agents.main.node", "mcp.servers.x.cwd"]),
    );
  });
});

describe("secrets", () => {
  // Of one length: no secret is a part of another, as `key` is of `keyhole`.
  const SECRET = fc.stringMatching(/^[A-Za-z0-9]{20}$/);

  test("never stand in a plan, wherever the operator wrote them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(SECRET, { minLength: 9, maxLength: 9 }), async (values) => {
        const secrets = values.map((value) => `zq${value}`);
        const [inEnv, inYaml, fromVault, inUrl, unused, inProcess, inFallback, inArgument, pasted] = secrets;
        const yaml = `version: 1
agents: { main: { provider: anthropic } }
providers:
  anthropic: { model: m, api_key: ${inYaml} }
  openai: { model: m, api_key: "op://vault/x/y" }
  xai: { model: m, api_key: "\${XAI:-${inFallback}}" }
channels: { telegram: { token: "\${TG}", owner_id: 1 } }
memory: { postgres: { connection_string: "postgres://u:${inUrl}@db.example.org/d" } }
mcp: { servers: { a: { command: x, args: ["--key", "sk-${inArgument}aaaaaaaaaaaaaaaa"] }, b: { url: "https://h", headers: { Authorization: "\${HEADER}" } } } }
deployment: { target: docker }
`;
        const project = await projectOf(yaml, {
          variables: `TG=${inEnv}\nUNUSED=${unused}\n`,
          env: { HEADER: inProcess },
          readSecret: async () => fromVault ?? "",
          files: {
            "workspace/PASTED.md": `The key is ${inEnv}, once more ${inYaml}.`,
            "workspace/FINE.md": `not ${pasted}`,
          },
        });
        const text = JSON.stringify(project.plan);
        for (const secret of secrets.slice(0, -1)) expect(text).not.toContain(secret);
        expect(text).not.toContain("PASTED.md");
        expect(text).toContain("FINE.md");
        const values_ = Object.values(project.secrets.variables).join("\n");
        for (const secret of secrets.slice(0, -1)) {
          if (secret === unused) expect(values_).not.toContain(secret);
          else expect(values_).toContain(secret);
        }
        for (const secret of [inEnv, inYaml, fromVault, inArgument]) {
          expect(project.redactValues.some((value) => value.includes(secret ?? ""))).toBe(true);
        }
      }),
      { numRuns: 15 },
    );
  });

  test("of deployment.*, of the password manager and of the state stay with the operator", async () => {
    const { plan, secrets } = await projectOf(
      `${AGENTS}deployment: { target: docker, image: { registry: registry.example.org/team/cairn, username: me, password: "\${REGISTRY}" } }\n`,
      {
        variables:
          "REGISTRY=registry-password\nOP_SERVICE_ACCOUNT_TOKEN=ops_x\nPULUMI_ACCESS_TOKEN=pul-x\nSERVICE_HOME=/home/x/.cairn\n",
      },
    );
    expect(plan.nodes[0]?.secretVariables).toEqual(["SERVICE_API_TOKEN"]);
    expect(secrets.variables).toEqual({ SERVICE_API_TOKEN: TOKEN });
    expect(secrets.registry).toEqual({ server: "registry.example.org", username: "me", password: "registry-password" });
  });

  test("that nothing refers to stay with the operator, with a warning; the service's own and those that are named travel", async () => {
    const given = {
      AWS_SECRET_ACCESS_KEY: "cloud-word",
      DEPLOY_KEY: "other-word",
      GITHUB_TOKEN: "for-commands",
      REFERRED: "for-a-server",
      OTEL_EXPORTER_OTLP_HEADERS: "telemetry-word",
      SERVICE_LOG_LEVEL: "debug",
      TOOL_SYNTH_API_KEY: "synth-word",
    };
    const variables = Object.entries(given)
      .map(([name, value]) => `${name}=${value}\n`)
      .join("");
    const configuration = (otlp: boolean) => `${AGENTS}deployment: { target: docker }
tools: { shell: { env: [GITHUB_TOKEN] } }
mcp: { servers: { files: { command: server, env: { KEY: "\${REFERRED}" } } } }
telemetry: { otlp: ${otlp} }
`;
    const project = await projectOf(configuration(false), { variables });
    const { AWS_SECRET_ACCESS_KEY, DEPLOY_KEY, OTEL_EXPORTER_OTLP_HEADERS, ...travelling } = given;
    expect(project.secrets.variables).toEqual({ ...travelling, SERVICE_API_TOKEN: TOKEN });
    const ignored = "AWS_SECRET_ACCESS_KEY, DEPLOY_KEY, OTEL_EXPORTER_OTLP_HEADERS";
    expect(project.warnings).toContainEqual({ path: ".env", message: expect.stringContaining(ignored) });
    expect(JSON.stringify(project.plan)).not.toContain("AWS_SECRET_ACCESS_KEY");
    const traced = await projectOf(configuration(true), { variables });
    expect(traced.secrets.variables).toMatchObject({ OTEL_EXPORTER_OTLP_HEADERS });
  });

  test("two of them keep two names, and one that is taken is not used", async () => {
    const { plan, secrets } = await projectOf(
      `version: 1
agents: { main: { provider: a-b } }
providers:
  a-b: { kind: anthropic, model: m, api_key: first-secret }
  a_b: { kind: anthropic, model: m, api_key: second-secret }
  c: { kind: anthropic, model: m, api_key: third-secret }
deployment: { target: docker }
`,
      { variables: "SERVICE_SECRET_PROVIDERS_C_API_KEY=taken\n" },
    );
    expect(plan.nodes[0]?.secretVariables).toContain("SERVICE_SECRET_PROVIDERS_A_B_API_KEY_2");
    expect(secrets.variables).toMatchObject({
      SERVICE_SECRET_PROVIDERS_A_B_API_KEY: "first-secret",
      SERVICE_SECRET_PROVIDERS_A_B_API_KEY_2: "second-secret",
      SERVICE_SECRET_PROVIDERS_C_API_KEY: "taken",
      SERVICE_SECRET_PROVIDERS_C_API_KEY_2: "third-secret",
    });
  });
});

describe("a node in its container", () => {
  test("reads the configuration that the operator meant", async () => {
    const project = await projectOf(
      `version: 1
runtime: { timezone: Europe/Berlin, workspace: ws }
agents:
  main: { provider: openai }
  inner: { provider: openai, workspace: ws/inner }
  own: { provider: openai, workspace: ../own }
  twin: { provider: openai, workspace: ../own }
providers: { openai: { model: m, api_key: op://vault/x/y }, xai: { model: n } }
channels: { telegram: { token: "\${TG}", owner_id: 12345678901234567890 } }
memory: { postgres: { pool: 3 } }
mcp: { servers: { notes: { command: x, cwd: ws/notes, args: ["$\${literal}", "off", "0123"] } } }
deployment: { target: docker, nodes: [{ name: one }], datahub: { postgres: true } }
`,
      { variables: "TG=\"telegram 'token' # with odd characters\"\n", readSecret: async () => "key-of-the-vault" },
    );
    const { config, env, warnings } = await inContainer(project, {
      SERVICE_PG_URL: "postgres://cairn:pw@cairn-postgres/cairn?sslmode=verify-full",
    });
    expect(config.mesh.name).toBe("one");
    expect(config.runtime).toMatchObject({
      listen: "0.0.0.0:7433",
      workspace: "/srv/cairn/workspace",
      timezone: "Europe/Berlin",
    });
    expect(Object.values(config.agents).map(({ workspace }) => workspace)).toEqual([
      undefined,
      "/srv/cairn/workspace/inner",
      "/srv/cairn/agents/own",
      "/srv/cairn/agents/own",
    ]);
    expect(config.providers["openai"]?.api_key).toBe("key-of-the-vault");
    expect(config.channels["telegram"]).toMatchObject({
      token: "telegram 'token' # with odd characters",
      owner_id: "12345678901234567890",
    });
    expect(config.memory).toMatchObject({
      backend: "postgres",
      postgres: { connection_string: "postgres://cairn:pw@cairn-postgres/cairn?sslmode=verify-full", pool: 3 },
    });
    expect(config.mcp.servers["notes"]).toMatchObject({
      cwd: "/srv/cairn/workspace/notes",
      args: ["${literal}", "off", "0123"],
    });
    expect(config.deployment.target).toBe("manual");
    expect(env["SERVICE_API_TOKEN"]).toBe(TOKEN);
    expect(warnings.map(({ path }) => path).sort()).toEqual(["agents.inner.workspace", "providers.xai.api_key"]);
  });

  test.each([
    ["docker", "target: docker", "0.0.0.0"],
    ["proxmox", `target: proxmox, ${PROXMOX}`, "0.0.0.0"],
    ["kubernetes", "target: kubernetes", null],
  ])(
    "makes its certificate itself on %s, and is reached from beyond its host",
    async (_target, deployment, address) => {
      const project = await projectOf(`${AGENTS}runtime: { tls: auto }\ndeployment: { ${deployment} }\n`);
      const [node] = project.plan.nodes;
      expect(project.certificate).toBeNull();
      expect(node).toMatchObject({ tls: true, publish: address === null ? null : { address } });
      expect(node?.files.map(({ path }) => path)).toEqual(["/etc/cairn/cairn.yaml"]);
      expect((await inContainer(project)).config.runtime.tls).toBe("auto");
    },
  );

  test("gets its certificate as a file and its key as a secret", async () => {
    const key = "-----BEGIN PRIVATE KEY-----\nMIGH\nAgEA\n-----END PRIVATE KEY-----\n";
    const project = await projectOf(
      `${AGENTS}runtime: { tls: { cert: c.pem, key: k.pem } }\ndeployment: { target: docker }\n`,
      {
        files: { "c.pem": "-----BEGIN CERTIFICATE-----\nAA\n", "k.pem": key },
      },
    );
    expect(JSON.stringify(project.plan)).not.toContain("MIGH");
    expect(project.redactValues).toContain(key);
    const { config } = await inContainer(project);
    expect(config.runtime.tls).toMatchObject({ cert: expect.stringMatching(/\/tls\/cert\.pem$/), key });
  });

  test("has no image before there is one, whatever it is called", async () => {
    const plan = await planOf(`${AGENTS}deployment: { target: docker, ${nodes("{ name: constructor }")} }\n`);
    expect(plan.nodes).toMatchObject([{ name: "constructor", image: null }]);
  });

  test("keeps its embedded store on the home volume", async () => {
    const project = await projectOf(
      `${AGENTS}memory: { embedded: { path: /data/elsewhere } }\ndeployment: { target: docker }\n`,
    );
    const { config } = await inContainer(project);
    expect(config.memory).toMatchObject({ backend: "embedded", embedded: { path: "/var/lib/cairn/store" } });
  });
});

/** Loads what the first node of the plan finds in its container, from a directory of this machine. */
async function inContainer({ plan, secrets }: Project, extra: Record<string, string> = {}) {
  const [node] = plan.nodes as readonly NodePlan[];
  if (node === undefined) throw new Error("the plan has no node");
  const dir = await temporaryDirectory();
  for (const { path, content } of node.files) {
    const file = join(dir, path.replace(/^\/etc\/cairn\//, ""));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content.replaceAll("/etc/cairn/", `${dir}/`));
  }
  const values: Record<string, string> = { ...secrets.variables, ...extra };
  const variables = Object.fromEntries(node.secretVariables.map((name) => [name, values[name] ?? ""]));
  await writeFile(join(dir, ".env"), renderEnvFile(variables), { mode: 0o600 });
  return loadConfig({
    dir,
    env: { HOME: "/nonexistent", ...node.environment },
    readSecret: async (reference) => Promise.reject(new CairnError("CONFIG_SECRET_UNRESOLVED", reference)),
  });
}
