/**
 * The template of the stand-in Proxmox: a Debian system with Docker in it, made once by debootstrap and kept, its files owned
 * as an unprivileged container sees them. Needs root and Debian's lxc, debootstrap and openssh-server.
 */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { mirrorArguments } from "../debian.ts";

/** Goes up with what is in the template. */
const VERSION = 1;
const PACKAGES = "docker.io,docker-cli,iptables,iproute2,ca-certificates,busybox-static";
const SUBUID_BASE = 100_000;
const BUILD_DEADLINE_MS = 600_000;

/** Docker is started by this process 1, which ends with it as a system does. */
const INIT = `#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t tmpfs tmpfs /run
mkdir -p /run/lock
if [ "$(wc -l </proc/self/cgroup)" -eq 1 ]; then
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup /sys/fs/cgroup
else
  mount -t tmpfs cgroup /sys/fs/cgroup
  for controller in cpu cpuacct cpuset memory devices freezer blkio pids; do
    mkdir -p "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
  done
fi
dockerd --storage-driver overlay2 >/var/log/dockerd.log 2>&1 &
docker=$!
trap 'kill $docker; wait $docker; exit 0' PWR TERM INT
while kill -0 $docker 2>/dev/null; do wait $docker; done
`;

/** Why there can be no CTs here; undefined when there can. */
export function missingForCts(): string | undefined {
  if (process.platform !== "linux") return "CTs need Linux";
  if (process.getuid?.() !== 0) return "CTs need root";
  const tools = ["/usr/bin/lxc-start", "/usr/sbin/sshd", "/usr/bin/flock", "/usr/sbin/ip"];
  const gone = tools.find((path) => !existsSync(path) && !existsSync(path.replace("/usr/sbin/", "/usr/bin/")));
  if (gone !== undefined) return `${gone} is not installed`;
  if (!existsSync(templateFolder()) && !existsSync("/usr/sbin/debootstrap")) return "debootstrap is not installed";
  return undefined;
}

/** Folder of the finished template. The first call on a machine takes minutes; the template is kept in the user's cache. */
export function proxmoxTemplate(): string {
  const folder = templateFolder();
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  // Root of the system to be: mkdtemp makes folders for their owner alone.
  chmodSync(draft, 0o755);
  try {
    execFileSync("debootstrap", ["--variant=minbase", `--include=${PACKAGES}`, "trixie", draft, ...mirrorArguments()], {
      stdio: ["ignore", "ignore", "inherit"],
      timeout: BUILD_DEADLINE_MS,
    });
    writeFileSync(join(draft, "sbin", "cairn-init"), INIT, { mode: 0o755 });
    rmSync(join(draft, "var", "cache", "apt"), { recursive: true, force: true });
    shift(draft);
    moveInto(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

/** A folder with files cannot be renamed over another one: then another suite was first, and its template is as good. */
export function moveInto(draft: string, folder: string): void {
  try {
    renameSync(draft, folder);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EEXIST" && code !== "ENOTEMPTY") throw error;
  }
}

function templateFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "cairn-tests", `proxmox-template-${VERSION}`);
}

/** Gives every file to the user that an unprivileged container has in its place. */
function shift(path: string): void {
  const found = lstatSync(path);
  if (found.isDirectory()) for (const name of readdirSync(path)) shift(join(path, name));
  lchownSync(path, SUBUID_BASE + found.uid, SUBUID_BASE + found.gid);
  // A change of owner takes the set-uid bits away.
  if (!found.isSymbolicLink()) chmodSync(path, found.mode & 0o7777);
}
