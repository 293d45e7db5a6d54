/** Where PostgreSQL's data lie on a Proxmox host while they go to another major: ssh, pct and docker are played, the scripts and directories real. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createProxmoxDriver } from "../../../../../control/deploy/drivers/proxmox/driver.ts";
import { postgresCt } from "../../../../../infra/components/proxmox/ct.ts";
import { databaseDataOf } from "../../../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { lacks } from "../../../../lanes/tools.ts";

const signal = new AbortController().signal;
const NEXT = databaseDataOf("lab", 18);

let base: string;
let plan: ProxmoxPlan;

/** `docker` answers from a file for each of its first two words; without one it fails. */
const PROGRAMS = {
  ssh: `for line in "$@"; do :; done\nexec /bin/sh -c "$line"\n`,
  pct: `printf 'pct %s\\n' "$*" | head -n 1 >>"$PLAYED/calls"
case $1 in
  status) cat "$PLAYED/status" ;;
  config) cat "$PLAYED/config" 2>/dev/null || exit 2 ;;
  pending) echo 'new mp0: another' ;;
  exec) shift 3; if [ "$1" = docker ]; then exec "$@"; fi ;;
esac
`,
  docker: `printf 'docker %s\\n' "$*" | head -n 1 >>"$PLAYED/calls"
[ "$1" != version ] || exit 0
[ -f "$PLAYED/$1 $2" ] || { echo "Error: no such $1: $2" >&2; exit 1; }
cat "$PLAYED/$1 $2"
`,
};

const write = (name: string, text: string): void => writeFileSync(join(base, "played", name), text);
const calls = () =>
  existsSync(join(base, "played", "calls")) ? readFileSync(join(base, "played", "calls"), "utf8") : "";
const data = (...below: string[]) => join(base, "data", "lab", ...below);
const servers = () => {
  const { database } = createProxmoxDriver(plan);
  if (database === undefined) throw new Error("the plan has a PostgreSQL");
  return database;
};

describe.skipIf(lacks("root"))("PostgreSQL's data on Proxmox", () => {
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-pg-pve-"));
    for (const folder of ["bin", "played"]) mkdirSync(join(base, folder));
    for (const [name, text] of Object.entries(PROGRAMS)) {
      writeFileSync(join(base, "bin", name), `#!/bin/sh\n${text}`);
      chmodSync(join(base, "bin", name), 0o755);
    }
    vi.stubEnv("PATH", `${join(base, "bin")}:${process.env["PATH"]}`);
    vi.stubEnv("PLAYED", join(base, "played"));
    plan = {
      schema: 1,
      target: "proxmox",
      stack: "lab",
      version: "0.1.0",
      nodes: [],
      postgres: { image: "pg:17", limits: { memoryBytes: null, cpus: null }, publish: null },
      sharedStorage: false,
      ssh: { host: "pve", port: 2222, user: "root", hostKey: "ssh-ed25519 AAAA", identityFile: null },
      template: "local:vztmpl/x.tar.zst",
      storage: "local-lvm",
      diskBytes: 8 * 1024 ** 3,
      bridge: "vmbr0",
      vlan: null,
      gateway: null,
      nameserver: null,
      unprivileged: true,
      dataDir: join(base, "data"),
      // No other test's lock.
      postgresVmid: 900_000_000 + process.pid,
      postgresAddress: "192.0.2.10/24",
    };
    mkdirSync(data("postgres", ".cairn-upgrade"), { recursive: true });
    writeFileSync(data("postgres", "PG_VERSION"), "17\n");
    writeFileSync(data("postgres", ".cairn-upgrade", "PG_VERSION"), "18\n");
    const settings = Object.entries(postgresCt(plan)?.settings ?? {}).filter(([, value]) => value !== "");
    write("config", settings.map(([key, value]) => `${key}: ${value}\n`).join(""));
    write("status", "status: running\n");
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(base, { recursive: true, force: true });
  });

  it("are called by a directory's name in cairn.yaml, and removed by a command that has their path", () => {
    expect(servers().setting(NEXT)).toEqual({
      path: ["deployment", "proxmox", "database_directory"],
      value: "postgres-18",
    });
    expect(servers().removal("lab-postgres-data")).toBe(`ssh -p 2222 root@pve rm -r ${data("postgres")}`);
    plan = { ...plan, ssh: { ...plan.ssh, user: "ops", port: 22 } };
    expect(servers().removal("lab-postgres-data")).toBe(`ssh ops@pve sudo rm -r ${data("postgres")}`);
  });

  it("move beside the former ones when they are handed over, and the CT starts with them: once", async () => {
    await servers().handOver(NEXT, signal);
    expect(readFileSync(data("postgres-18", "PG_VERSION"), "utf8")).toBe("18\n");
    expect(readdirSync(data("postgres"))).toEqual(["PG_VERSION"]);
    const { postgresVmid: vmid } = plan;
    const changes = calls()
      .split("\n")
      .filter((line) => /^pct (?:set|reboot)/.test(line));
    expect(changes).toEqual([
      `pct set ${vmid} --mp0 ${data("postgres-18")},mp=/srv/cairn-data/postgres-18`,
      `pct reboot ${vmid} --timeout 130`,
    ]);
    // As after a kill: the plan is the former one still.
    await servers().handOver(NEXT, signal);
    expect(readFileSync(data("postgres-18", "PG_VERSION"), "utf8")).toBe("18\n");
  });

  it("of before are listed with the command that removes them, and go with the rest where all data are to go", async () => {
    await servers().handOver(NEXT, signal);
    mkdirSync(data("one", "home"), { recursive: true });
    symlinkSync(data("postgres"), data("elsewhere"));
    plan = { ...plan, postgres: plan.postgres && { ...plan.postgres, data: NEXT } };
    const driver = createProxmoxDriver(plan);
    const former = (await driver.formerData?.(signal)) ?? [];
    expect(former).toEqual([
      {
        name: "lab-postgres-data",
        place: `pve:${data("postgres")}`,
        stack: "lab",
        removal: `ssh -p 2222 root@pve rm -r ${data("postgres")}`,
      },
    ]);
    rmSync(join(base, "played", "config"));
    await driver.deleteData(former, signal);
    const remaining = readdirSync(data()).filter((name) => !name.startsWith("."));
    expect(remaining.toSorted()).toEqual(["elsewhere", "one", "postgres-18"]);
  });

  it("of before are unknown where the host does not answer", async () => {
    writeFileSync(join(base, "bin", "ssh"), "#!/bin/sh\necho 'Connection timed out' >&2; exit 255\n");
    expect(await createProxmoxDriver(plan).formerData?.(signal)).toEqual([]);
  });

  it("are not handed over where nobody has written them, and nothing is written over", async () => {
    mkdirSync(data("postgres-18"));
    writeFileSync(data("postgres-18", "other"), "");
    await expect(servers().handOver(NEXT, signal)).rejects.toMatchObject({ code: "INFRA_DATA_EXISTS" });
    rmSync(data("postgres-18"), { recursive: true });
    rmSync(data("postgres", ".cairn-upgrade"), { recursive: true });
    await expect(servers().handOver(NEXT, signal)).rejects.toThrow("neither in");
    expect(calls()).not.toContain("pct set");
  });

  it("of a try that failed go, and the former ones stay; a CT that is stopped is started for it", async () => {
    write("status", "status: stopped\n");
    await servers().removeSecond(NEXT, signal);
    expect(calls()).toContain(`pct start ${plan.postgresVmid}`);
    expect(readdirSync(data("postgres"))).toEqual(["PG_VERSION"]);
    await servers().removeSecond(NEXT, signal);
  });

  it("say of which major they are, and an image in the CT of which its server is", async () => {
    expect(await servers().majors("pg:18", signal)).toBeNull();
    write("image inspect", JSON.stringify([{ Id: "sha256:1", Size: 1 }]));
    write("run --rm", "postgres (PostgreSQL) 18.1\n");
    expect(await servers().majors("pg:18", signal)).toEqual({ server: 18, data: 17 });
    rmSync(data("postgres", "PG_VERSION"));
    expect(await servers().majors("pg:18", signal)).toEqual({ server: 18, data: null });
  });

  it.each([
    ["there is no CT", () => rmSync(join(base, "played", "config"))],
    ["it is stopped", () => write("status", "status: stopped\n")],
    ["it is another's", () => write("config", "description: cairn.stack=other cairn.node=postgres\n")],
  ])("are not asked where %s, and nothing is started", async (_words, change) => {
    change();
    write("image inspect", JSON.stringify([{ Id: "sha256:1", Size: 1 }]));
    expect(await servers().majors("pg:18", signal)).toBeNull();
    expect(await servers().image([], signal)).toBeNull();
    expect(calls()).not.toContain("pct start");
  });

  it("are there once something is in their directory", async () => {
    expect(await servers().exists(NEXT, signal)).toBe(false);
    mkdirSync(data("postgres-18"));
    expect(await servers().exists(NEXT, signal)).toBe(false);
    writeFileSync(data("postgres-18", "PG_VERSION"), "18\n");
    expect(await servers().exists(NEXT, signal)).toBe(true);
  });

  it("are written by a second server with the first one's port, files and user, below what the CT has mounted", async () => {
    const config = { Env: ["PGDATA=/d"], Entrypoint: ["/bin/sh", "/s"], Cmd: ["-c", "port=6000"], User: "999:999" };
    write("container inspect", JSON.stringify([{ Config: config, HostConfig: { ShmSize: 64 } }]));
    for (const answer of ["run --rm", "container create", "container start", "exec lab-postgres-upgrade"])
      write(answer, "");
    plan = { ...plan, postgres: plan.postgres && { ...plan.postgres, publish: { address: "0.0.0.0", port: 6000 } } };
    await servers().startSecond("pg:18", NEXT, signal);
    const lines = calls().split("\n");
    const of = (words: string) => lines.find((line) => line.startsWith(words)) ?? "";
    expect(of("docker run")).toMatch(
      /type=bind,src=\/srv\/cairn-data\/postgres,dst=\/data .*mkdir -p -m 0700 \/data\/.cairn-upgrade && chown 999:999/,
    );
    const create = of("docker container create");
    expect(create).toContain("--name lab-postgres-upgrade --network none --restart no");
    expect(create).toContain("src=/srv/cairn-data/postgres/.cairn-upgrade,dst=/var/lib/postgresql/data");
    expect(create).toMatch(/--entrypoint \/bin\/sh pg:18 \/s -c port=6000$/);
    expect(of("docker exec")).toContain("pg_isready -q -h 127.0.0.1 -p 6000");
  });
});
