/**
 * A Proxmox host to test against: a real sshd whose commands find the stand-ins for pct and its like, which drive real LXC
 * containers on a bridge of their own. Everything has a name of its own and is gone after `stop`.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
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
import type { ProxmoxNodePlan, ProxmoxPlan } from "../../../infra/plan/types.ts";
import { type SshServer, startSshd } from "../ssh/sshd.ts";
import { proxmoxTemplate } from "./template.ts";

export interface ProxmoxTestHost {
  readonly ssh: SshServer;
  /** State of the stand-ins: conf/, calls, and switches for faults. */
  readonly state: string;
  /** Below it is a disk of its own, where it has one. */
  readonly dataDir: string;
  readonly template: string;
  /** A plan for one node `one` here; its address is in the bridge's network. */
  plan(change?: Partial<ProxmoxPlan>, node?: Partial<ProxmoxNodePlan>): ProxmoxPlan;
  /** Runs a stand-in by hand, as an administrator would. */
  pct(...args: string[]): string;
  /** `docker` in this machine's PATH that has these images' files to save. */
  engineWith(...images: { readonly identity: { readonly id: string | null }; readonly file: string }[]): string;
  stop(): Promise<void>;
}

const FAKES = join(import.meta.dirname, "..", "..", "fakes", "proxmox");
const TEMPLATE = "local:vztmpl/debian-13-docker_13.1-1_amd64.tar.zst";

/** `diskMiB`: of a disk of its own, with storage and data; that of the machine when absent. */
export async function startProxmox({ diskMiB }: { readonly diskMiB?: number } = {}): Promise<ProxmoxTestHost> {
  const template = proxmoxTemplate();
  const id = randomBytes(3).toString("hex");
  const state = mkdtempSync(join(tmpdir(), "cairn-pve-"));
  // The users of unprivileged containers pass through it.
  chmodSync(state, 0o711);
  const dataDir = join(state, "data");
  // The stand-ins' own state stays elsewhere, as that of Proxmox does.
  const disk = diskMiB === undefined ? null : mountDisk(state, diskMiB);
  for (const folder of [dataDir, join(state, "ct")]) mkdirSync(folder, { recursive: true });
  symlinkSync(template, join(state, "template"));
  writeFileSync(join(state, "prefix"), `cairn${id}-`);
  writeFileSync(join(state, "templates"), `${TEMPLATE}\n`);
  const bridge = `cairn${id}`;
  const third = 1 + ((randomBytes(1)[0] ?? 0) % 250);
  ip("link", "add", bridge, "type", "bridge");
  ip("addr", "add", `10.213.${third}.1/24`, "dev", bridge);
  ip("link", "set", bridge, "up");
  const forgetBridge = letThrough(bridge);
  const environment = {
    CAIRN_PVE: state,
    // What rollouts leave on a host.
    XDG_STATE_HOME: join(state, "state"),
    PATH: `${FAKES}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  };
  const ssh = await startSshd({ environment });
  const pct = (...args: string[]): string =>
    execFileSync(join(FAKES, "pct"), args, { encoding: "utf8", env: { ...process.env, ...environment } });

  return {
    ssh,
    state,
    dataDir,
    template,
    pct,
    plan: (change = {}, node = {}) => ({
      schema: 1,
      target: "proxmox",
      stack: "fleet",
      version: "0.1.0",
      nodes: [{ ...testNode(), address: `10.213.${third}.11/24`, ...node }],
      postgres: null,
      sharedStorage: false,
      ssh: {
        host: ssh.host,
        port: ssh.port,
        user: ssh.user,
        hostKey: ssh.hostKey,
        identityFile: ssh.identityFile,
      },
      template: TEMPLATE,
      storage: "local-lvm",
      diskBytes: 8 * 1024 ** 3,
      bridge,
      vlan: null,
      gateway: `10.213.${third}.1`,
      nameserver: null,
      unprivileged: true,
      dataDir,
      postgresVmid: null,
      postgresAddress: null,
      ...change,
    }),
    engineWith: (...images) => {
      const folder = mkdtempSync(join(state, "engine-"));
      const cases = images.map(({ identity: { id }, file }) => {
        return `  'image inspect ${id}') echo '${id}' ;;\n  'save ${id} ') cat '${file}' ;;`;
      });
      const program = `#!/bin/sh
if [ "$1" = image ]; then set -- image inspect "$5"; fi
case "$1 $2 $3" in
${cases.join("\n")}
  *) exit 1 ;;
esac
`;
      writeFileSync(join(folder, "docker"), program, { mode: 0o755 });
      return folder;
    },
    stop: async () => {
      const conf = join(state, "conf");
      for (const vmid of existsSync(conf) ? readdirSync(conf) : []) {
        spawnSync(join(FAKES, "pct"), ["unlock", vmid], { env: { ...process.env, ...environment } });
        spawnSync(join(FAKES, "pct"), ["destroy", vmid, "--force", "1"], { env: { ...process.env, ...environment } });
      }
      await ssh.stop();
      forgetBridge();
      ip("link", "del", bridge);
      disk?.unmount();
      const mounted = readFileSync("/proc/mounts", "utf8")
        .split("\n")
        .filter((line) => line.includes(` ${state}/`));
      if (mounted.length > 0) throw new Error(`still mounted: ${mounted.join("; ")}`);
      rmSync(state, { recursive: true, force: true });
    },
  };
}

/** A file as the disk of storage and data: of a tmpfs every page would count as memory of the container that writes it. */
function mountDisk(state: string, mib: number) {
  const folder = mkdtempSync("/var/tmp/cairn-pve-");
  const [file, root] = [join(folder, "disk"), join(state, "disk")];
  execFileSync("truncate", ["--size", `${mib}M`, file]);
  execFileSync("mkfs.ext4", ["-q", "-m", "0", file]);
  mkdirSync(root);
  execFileSync("mount", ["-o", "loop", file, root]);
  const shown = ["ct", "data"].map((name) => ({ there: join(root, name), here: join(state, name) }));
  for (const { there, here } of shown) {
    mkdirSync(there);
    mkdirSync(here);
    execFileSync("mount", ["--bind", there, here]);
  }
  return {
    unmount: () => {
      for (const place of [...shown.map(({ here }) => here), root]) execFileSync("umount", ["--lazy", place]);
      rmSync(folder, { recursive: true });
    },
  };
}

function testNode(): ProxmoxNodePlan {
  return {
    name: "one",
    agents: ["main"],
    image: null,
    files: [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\n" }],
    secretVariables: ["SERVICE_API_TOKEN"],
    environment: { SERVICE_CONTAINER: "1" },
    limits: { memoryBytes: 256 * 1024 ** 2, cpus: null },
    stopTimeoutS: 10,
    publish: { address: "127.0.0.1", port: 7433 },
    tls: false,
    vmid: 700,
    pveNode: null,
    address: "dhcp",
  };
}

const FILTERED = "/proc/sys/net/bridge/bridge-nf-call-iptables";

/**
 * Docker's engine on this machine makes the kernel filter what passes a bridge, and drops what is not its own: containers on
 * `bridge` would not reach each other. Gives what takes the rule for this bridge away.
 */
function letThrough(bridge: string): () => void {
  if (!existsSync(FILTERED) || readFileSync(FILTERED, "utf8").trim() !== "1") return () => {};
  const rule = ["FORWARD", "-i", bridge, "-o", bridge, "-j", "ACCEPT"];
  execFileSync("iptables", ["-w", "-I", ...rule]);
  return () => {
    execFileSync("iptables", ["-w", "-D", ...rule]);
  };
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}
