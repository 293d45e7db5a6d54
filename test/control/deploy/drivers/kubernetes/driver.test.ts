/** The driver with a kubectl that is played: what it is asked, in which words, and what its failures become. */

import { chmodSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createKubernetesDriver } from "../../../../../control/deploy/drivers/kubernetes/driver.ts";
import { isAlive } from "../../../../../control/service/processes.ts";
import { kubernetesPlan, nodePlan, SECRET_VALUES, secretValues } from "../../../../support/kubernetes/plans.ts";

const signal = new AbortController().signal;
let directory: string;

/** What the played kubectl answers to the first of these that its arguments contain. */
interface Answer {
  readonly to: string;
  readonly out?: string;
  readonly err?: string;
  readonly code?: number;
  /** Goes on after its answer until it is told to end. */
  readonly stays?: boolean;
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cairn-kubectl-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function played(...answers: Answer[]): Promise<string> {
  const program = join(directory, "kubectl");
  const source = `#!${process.execPath}
const fs = require("node:fs");
const args = process.argv.slice(2);
const stdin = args.includes("--filename=-") ? fs.readFileSync(0, "utf8") : "";
fs.appendFileSync(${JSON.stringify(join(directory, "calls"))}, JSON.stringify({ args, stdin, pid: process.pid }) + "\\n");
const answer = ${JSON.stringify(answers)}.find(({ to }) => args.join(" ").includes(to)) ?? {};
fs.writeSync(2, answer.err ?? "");
fs.writeSync(1, answer.out ?? "");
process.exitCode = answer.code ?? 0;
if (answer.stays) setInterval(() => {}, 1000);
`;
  await writeFile(program, source);
  chmodSync(program, 0o755);
  return program;
}

function calls(): { args: string[]; stdin: string; pid: number }[] {
  const text = readFileSync(join(directory, "calls"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const plan = kubernetesPlan({ kubeconfig: "/somewhere/config", context: "fleet; rm -rf /", namespace: "agents" });
const driver = (program: string, of = plan) => createKubernetesDriver(of, secretValues(), { program });
const config = JSON.stringify({ contexts: [{ name: "fleet" }, { name: "other" }], "current-context": "other" });
const podList = (name: string, ready: boolean) =>
  JSON.stringify({
    items: [
      {
        metadata: { name, labels: { "cairn.dev/node": "main" } },
        spec: { containers: [{ name: "cairn", image: "cairn:1" }] },
        status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
      },
    ],
  });

describe("architectures of a node", () => {
  const machine = (architecture: string, spec: object = {}) => ({ spec, status: { nodeInfo: { architecture } } });
  const machines = (...items: object[]) => played({ to: "get nodes", out: JSON.stringify({ items }) });
  const labelled = { ...plan, nodes: [nodePlan({ name: "main", nodeSelector: { disk: "fast", zone: "a" } })] };

  it("are those of the machines that its labels choose and that take its pods", async () => {
    const closed = machine("riscv64", { unschedulable: true });
    const tainted = machine("s390x", { taints: [{ effect: "NoSchedule" }] });
    const preferring = machine("arm64", { taints: [{ effect: "PreferNoSchedule" }] });
    const program = await machines(machine("amd64"), closed, tainted, preferring, machine("amd64"));
    expect(await driver(program, labelled).architectures("main", signal)).toEqual(["amd64", "arm64"]);
    expect(calls().at(-1)?.args).toContain("--selector=disk=fast,zone=a");
  });

  it("are unknown to whom the cluster does not list its machines", async () => {
    const program = await played({
      to: "get nodes",
      err: "Error from server (Forbidden): nodes is forbidden",
      code: 1,
    });
    expect(await driver(program).architectures("main", signal)).toEqual([]);
  });
});

describe("every call", () => {
  it("names file, context and namespace as arguments of their own, and holds no secret", async () => {
    const program = await played({ to: "get", out: "" });
    await driver(program).existingData(signal);
    await driver(program).observe(signal);
    await driver(program).prepare?.(() => {}, signal);
    const where = ["--kubeconfig=/somewhere/config", "--context=fleet; rm -rf /", "--namespace=agents"];
    for (const { args, stdin } of calls()) {
      expect(args.slice(0, 3)).toEqual(where);
      expect(JSON.stringify([args, stdin])).not.toContain(SECRET_VALUES.token);
    }
    expect(calls().at(-1)?.stdin).toContain('"pod-security.kubernetes.io/enforce":"restricted"');
  });

  it("ends when it is told to", async () => {
    const program = await played({ to: "get", stays: true });
    const stop = new AbortController();
    const running = driver(program).existingData(stop.signal);
    await expect
      .poll(() => {
        try {
          return calls().length;
        } catch {
          return 0;
        }
      })
      .toBe(1);
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    const pid = calls()[0]?.pid ?? 0;
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

describe("what goes wrong", () => {
  it("is a missing kubectl", async () => {
    const findings = await driver(join(directory, "nothing")).preflight(signal);
    expect(findings).toContainEqual(expect.objectContaining({ severity: "error", code: "INFRA_TOOL_MISSING" }));
  });

  it("is an unknown context, found out before the cluster is asked anything", async () => {
    const program = await played({ to: "config view", out: config });
    const [finding] = (await driver(program).preflight(signal)).filter(({ severity }) => severity === "error");
    expect(finding).toMatchObject({ code: "INFRA_CONTEXT_UNKNOWN", hint: expect.stringContaining("fleet, other") });
    expect(calls().map(({ args }) => args)).toEqual([
      ["--kubeconfig=/somewhere/config", "config", "view", "--output=json"],
    ]);
  });

  it.each([
    ["Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", "INFRA_HOST_UNREACHABLE"],
    [
      "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?",
      "INFRA_HOST_UNREACHABLE",
    ],
    ["error: You must be logged in to the server (Unauthorized)", "INFRA_HOST_UNREACHABLE"],
    ['error: context "nope" does not exist', "INFRA_CONTEXT_UNKNOWN"],
    ['Error from server (Forbidden): pods is forbidden: User "x" cannot list resource "pods"', "INFRA_FAILED"],
    ["something else", "INFRA_FAILED"],
  ])("%s becomes %s", async (err, code) => {
    const program = await played({ to: "get", err: `${err}\n`, code: 1 });
    await expect(driver(program).existingData(signal)).rejects.toMatchObject({ code });
  });

  it("is an answer that nobody knows", async () => {
    const program = await played({ to: "get", out: "{ half" });
    await expect(driver(program).existingData(signal)).rejects.toMatchObject({ code: "INFRA_FAILED" });
    const strange = await played({ to: "get", out: '{"items":[{"metadata":{}}]}' });
    await expect(driver(strange).existingData(signal)).rejects.toMatchObject({ code: "INFRA_FAILED" });
  });
});

describe("preflight without a cluster", () => {
  it("warns of images that no registry has and of plain HTTP that is open to the outside", async () => {
    const image = { id: "sha256:1", digest: null, reference: "cairn:1", version: "0.1.0", revision: null };
    const open = kubernetesPlan({ serviceType: "NodePort", nodes: [nodePlan({ image })] });
    const program = await played({ to: "config view", out: config }, { to: "", err: "was refused", code: 1 });
    const findings = await driver(program, open).preflight(signal);
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      "warning INFRA_PLAN_INVALID",
      "warning INFRA_IMAGE_MISSING",
      "warning INFRA_CONTEXT_UNKNOWN",
      "error INFRA_HOST_UNREACHABLE",
    ]);
  });
});

describe("preflight of a cluster", () => {
  const version = (minor: string) => ({
    to: "version",
    out: JSON.stringify({ serverVersion: { major: "1", minor } }),
  });
  const rest: Answer = { to: "", err: "Error from server (Forbidden): forbidden", code: 1 };
  const api: Answer[] = [
    {
      to: "get service kubernetes",
      out: JSON.stringify({ spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1"] } }),
    },
    { to: "get endpoints kubernetes", out: JSON.stringify({ subsets: [{ addresses: [{ ip: "172.18.0.2" }] }] }) },
  ];
  const networks: Answer = { to: "get servicecidrs", out: JSON.stringify({ spec: { cidrs: ["10.96.0.0/12"] } }) };
  const noNetworks: Answer = {
    to: "get servicecidrs",
    err: 'error: the server doesn\'t have a resource type "servicecidrs"',
    code: 1,
  };

  async function found(of: Parameters<typeof kubernetesPlan>[0], ...answers: Answer[]) {
    const program = await played({ to: "config view", out: config }, ...answers, rest);
    const findings = await driver(program, kubernetesPlan({ context: "fleet", ...of })).preflight(signal);
    return findings.filter(({ message, hint }) => /reach the cluster|user namespaces/.test(`${message}${hint ?? ""}`));
  }

  it("says how to keep agents' commands from the cluster's API", async () => {
    const [finding, ...others] = await found({ deniedNetworks: ["10.0.0.0/30"] }, version("33"), ...api, networks);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({
      severity: "warning",
      message: expect.stringContaining("10.96.0.1 and 172.18.0.2"),
      hint: expect.stringContaining('denied_networks: ["10.0.0.0/30", "10.96.0.0/12", "172.18.0.2/32"]'),
    });
    const [older] = await found({}, version("28"), ...api, noNetworks);
    expect(older?.hint).toContain('denied_networks: ["10.96.0.1/32", "172.18.0.2/32"]');
  });

  it("is silent where they are denied, and where the user may not look", async () => {
    expect(await found({ deniedNetworks: ["10.96.0.0/12", "172.18.0.0/16"] }, version("33"), ...api, networks)).toEqual(
      [],
    );
    expect(await found({}, version("33"))).toEqual([]);
  });

  it.each(["29", "32+"])(
    "refuses user namespaces on a cluster of version 1.%s, which would drop them",
    async (minor) => {
      const findings = await found({ userNamespaces: true }, version(minor));
      expect(findings).toEqual([expect.objectContaining({ severity: "error", code: "INFRA_PLAN_INVALID" })]);
    },
  );

  it("takes user namespaces from 1.33 on", async () => {
    expect(await found({ userNamespaces: true }, version("33+"))).toEqual([]);
  });
});

describe("a way to a node", () => {
  it("is the address that port-forward tells, until it is closed", async () => {
    const program = await played(
      { to: "get pods", out: podList("cairn-main-0", true) },
      { to: "port-forward", out: "Forwarding from 127.0.0.1:40123 -> 7433\n", stays: true },
    );
    const connection = await driver(program).connect("main", signal);
    expect(connection.url).toBe("http://127.0.0.1:40123");
    const call = calls().at(-1);
    expect(call?.args.slice(3)).toEqual(["port-forward", "--address=127.0.0.1", "pod/cairn-main-0", ":7433"]);
    expect(isAlive(call?.pid ?? 0)).toBe(true);
    await connection.close();
    expect(isAlive(call?.pid ?? 0)).toBe(false);
  });

  it("is https where the node serves TLS", async () => {
    const program = await played(
      { to: "get pods", out: podList("cairn-main-0", true) },
      { to: "port-forward", out: "Forwarding from 127.0.0.1:40123 -> 7433\n", stays: true },
    );
    const connection = await driver(program, { ...plan, nodes: [nodePlan({ tls: true })] }).connect("main", signal);
    expect(connection.url).toBe("https://127.0.0.1:40123");
    await connection.close();
  });

  it("is none when port-forward fails, in its words", async () => {
    const program = await played(
      { to: "get pods", out: podList("cairn-main-0", false) },
      {
        to: "port-forward",
        err: "error: unable to forward port because pod is not running. Current status=Pending\n",
        code: 1,
      },
    );
    await expect(driver(program).connect("main", signal)).rejects.toMatchObject({
      message: expect.stringContaining("pod is not running"),
    });
  });

  it("is given up, and its process ended, when the caller stops waiting", async () => {
    const program = await played(
      { to: "get pods", out: podList("cairn-main-0", true) },
      { to: "port-forward", stays: true },
    );
    const stop = new AbortController();
    const running = driver(program).connect("main", stop.signal);
    await expect
      .poll(() => {
        try {
          return calls().length;
        } catch {
          return 0;
        }
      })
      .toBe(2);
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    expect(isAlive(calls().at(-1)?.pid ?? 0)).toBe(false);
  });

  it("is none without a pod that runs, or to a node that is not of the stack", async () => {
    const program = await played({ to: "get pods", out: '{"items":[]}' });
    await expect(driver(program).connect("main", signal)).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
    await expect(driver(program).connect("other", signal)).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
  });
});

describe("before and after the graph", () => {
  it("makes no namespace where it may not even look: it was given one", async () => {
    const words = 'Error from server (Forbidden): namespaces "agents" is forbidden: User "x" cannot get resource\n';
    const program = await played({ to: "get namespace", err: words, code: 1 });
    await driver(program).prepare?.(() => {}, signal);
    expect(calls().map(({ args }) => args.includes("create"))).toEqual([false]);
  });

  it("does not wait for a node that was not deployed", async () => {
    const program = await played({ to: "get statefulset", out: "" });
    await driver(program).reconcile?.(() => {}, signal);
    expect(calls().every(({ args }) => args.includes("get"))).toBe(true);
  });

  it("waits for the database and those nodes that the caller names", async () => {
    const postgres = { image: "pgvector/pgvector:pg17", limits: { memoryBytes: null, cpus: null }, publish: null };
    const nodes = [nodePlan({ name: "main" }), nodePlan({ name: "other" })];
    const program = await played({ to: "get statefulset", out: "" });
    const asked = async (named?: readonly string[]) => {
      await rm(join(directory, "calls"), { force: true });
      const of = driver(program, { ...plan, postgres, nodes });
      await of.reconcile?.(() => {}, signal, undefined, named);
      return calls().flatMap(({ args }) => args.filter((one) => /^cairn-/.test(one)));
    };
    expect(await asked([])).toEqual(["cairn-postgres"]);
    expect(await asked(["other"])).toEqual(["cairn-postgres", "cairn-other"]);
    expect(await asked()).toEqual(["cairn-postgres", "cairn-main", "cairn-other"]);
  });
});

describe("what upgrades of PostgreSQL have left", () => {
  const postgres = { image: "pg:18", limits: { memoryBytes: null, cpus: null }, publish: null };
  const upgraded = { ...plan, postgres: { ...postgres, data: "cairn-postgres-18-data" } };

  it("are the folders on the database's claim that the plan does not name, with a command that removes each", async () => {
    const program = await played({ to: "exec pod/cairn-postgres-0", out: "pgdata\npostgres-18\n" });
    const removal = `${program} --kubeconfig=/somewhere/config --context=fleet; rm -rf / --namespace=agents exec cairn-postgres-0 -- rm -r /var/lib/postgresql/data`;
    expect(await driver(program, upgraded).formerData?.(signal)).toEqual([
      { name: "cairn-postgres-data", place: "agents", stack: "cairn", removal: `${removal}/pgdata` },
    ]);
    expect(await driver(program, { ...plan, postgres }).formerData?.(signal)).toMatchObject([
      { name: "cairn-postgres-18-data", removal: `${removal}/postgres-18` },
    ]);
  });

  it("are unknown, and nothing fails for it, where the pod cannot be entered", async () => {
    const program = await played({ to: "exec", err: 'Error from server (NotFound): pods "x" not found\n', code: 1 });
    expect(await driver(program, upgraded).formerData?.(signal)).toEqual([]);
  });
});

describe("deleting data", () => {
  const data = [{ name: "home-cairn-main-0", place: "agents", stack: "cairn" }];

  it("names the claims, waits for them, and says which are still used", async () => {
    const claims = JSON.stringify({ items: [{ metadata: { name: "home-cairn-main-0" }, spec: {} }] });
    const program = await played(
      { to: "wait --for=delete", err: "error: timed out waiting for the condition", code: 1 },
      { to: "get persistentvolumeclaims", out: claims },
    );
    await expect(driver(program).deleteData(data, signal)).rejects.toMatchObject({
      message: expect.stringContaining("home-cairn-main-0"),
    });
    expect(calls()[0]?.args).toContain("home-cairn-main-0");
  });

  it("asks nothing for nothing", async () => {
    await driver(join(directory, "nothing")).deleteData([], signal);
  });
});

describe("a way into a part", () => {
  const database = {
    ...plan,
    postgres: { image: "pgvector/pgvector:pg17", limits: { memoryBytes: null, cpus: null }, publish: null },
  };
  const logs = { kind: "logs", lines: 20, follow: true, since: new Date("2030-01-31T12:00:00Z") } as const;

  it.each([
    [
      "a node's log",
      { kind: "node", name: "main" },
      logs,
      [
        "logs",
        "pod/cairn-main-0",
        "--container=cairn",
        "--tail=20",
        "--since-time=2030-01-31T12:00:00.000Z",
        "--follow",
      ],
    ],
    [
      "the log of the last ten minutes, by the cluster's clock",
      { kind: "node", name: "main" },
      { kind: "logs", lines: null, follow: false, since: { agoSeconds: 600 } },
      ["logs", "pod/cairn-main-0", "--container=cairn", "--tail=-1", "--since=600s"],
    ],
    [
      "all of the database's log",
      { kind: "postgres" },
      { kind: "logs", lines: null, follow: false, since: null },
      ["logs", "pod/cairn-main-0", "--container=postgres", "--tail=-1"],
    ],
    [
      "a command at a terminal",
      { kind: "node", name: "main" },
      { kind: "exec", argv: ["sh", "-c", "ls -l"], terminal: true },
      ["exec", "--stdin", "--tty", "pod/cairn-main-0", "--container=cairn", "--", "sh", "-c", "ls -l"],
    ],
    [
      "a command without one",
      { kind: "postgres" },
      { kind: "exec", argv: ["psql"], terminal: false },
      ["exec", "--stdin", "pod/cairn-main-0", "--container=postgres", "--", "psql"],
    ],
  ] as const)(
    "is kubectl's, with the cluster and the namespace of the plan: %s",
    async (_what, part, action, words) => {
      const program = await played({ to: "get pods", out: podList("cairn-main-0", true) });
      const command = await driver(program, database).enter(part, action, signal);
      expect(command).toMatchObject({ program, args: [...(calls()[0]?.args.slice(0, 3) ?? []), ...words] });
      const selector = part.kind === "postgres" ? "cairn.dev/node=postgres" : "cairn.dev/node=main";
      expect(calls()[0]?.args.join(" ")).toContain(selector);
    },
  );

  it("is none without a pod, and none to what the plan has not", async () => {
    const program = await played({ to: "get pods", out: '{"items":[]}' });
    const main = { kind: "node", name: "main" } as const;
    await expect(driver(program).enter(main, logs, signal)).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
    const other = { kind: "node", name: "other" } as const;
    await expect(driver(program).enter(other, logs, signal)).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
    await expect(
      driver(program, { ...plan, postgres: null }).enter({ kind: "postgres" }, logs, signal),
    ).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
  });
});

it("names what ended an archive of a node, not a file that tar passes over by itself", async () => {
  const pod = JSON.parse(podList("fleet-archive", true)).items[0];
  const program = await played(
    { to: "get pod", out: JSON.stringify(pod) },
    {
      to: "exec pod/",
      err: "tar: ./home/agent.sock: socket ignored\nerror: read tcp 10.0.0.1:6443: i/o timeout\n",
      code: 1,
    },
  );
  const data = { name: "home-fleet-main-0", place: "agents", stack: "fleet" };
  const file = join(directory, "main.tar.gz");
  await expect(driver(program).archiveData([data], file, () => undefined, signal)).rejects.toMatchObject({
    code: "INFRA_HOST_UNREACHABLE",
    message: "The cluster cannot be reached: error: read tcp 10.0.0.1:6443: i/o timeout.",
  });
});
