/** Images on their way to the Proxmox host: saved by this machine's engine, checked there, and moved into place whole. */

import { createHash, type Hash } from "node:crypto";
import { Transform } from "node:stream";
import { execa } from "execa";
import { nodeCt } from "../../../../infra/components/proxmox/ct.ts";
import { type CtImage, ctImage } from "../../../../infra/components/proxmox/docker-scripts.ts";
import { locked, PRELUDE, script } from "../../../../infra/components/proxmox/shell.ts";
import type { ImageIdentity, ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { architectureOf } from "../../images/architecture.ts";
import type { Report } from "../../inspection.ts";
import { ctsByMember, type ProxmoxHost, placeOf, withHost } from "./host/host.ts";

/** Of one image: a slow line and some hundred MiB. */
const SEND_TIMEOUT_MS = 3_600_000;
const CHECK_TIMEOUT_MS = 120_000;

export function imagePlaces(plan: ProxmoxPlan): string[] {
  return [...ctsByMember(plan).keys()].map((member) => placeOf(plan, member));
}

/** Of the member that the node's CT is on: a CT has its host's kernel. Errors of the way there. */
export async function architectures(plan: ProxmoxPlan, node: string, signal: AbortSignal): Promise<string[]> {
  const planned = plan.nodes.find(({ name }) => name === node);
  if (planned === undefined) return [];
  const { member } = nodeCt(plan, planned);
  return withHost(plan, signal, async (host) => {
    const machine = architectureOf(await host.run({ member, argv: ["uname", "-m"], timeoutMs: CHECK_TIMEOUT_MS }));
    return [machine].filter((name) => name !== "");
  });
}

/** Whether the image's file lies on the host, or all CTs there have it that are to run it. */
export async function hasImage(
  plan: ProxmoxPlan,
  image: ImageIdentity | string,
  place: string,
  signal: AbortSignal,
): Promise<boolean> {
  const member = memberAt(plan, place);
  const wanted = ctImage(plan, image);
  return withHost(plan, signal, (host) => isThere(host, plan, member, image, wanted));
}

/** Nothing is done twice: a file that is there was whole when it got its name. */
export async function deliverImage(
  plan: ProxmoxPlan,
  image: ImageIdentity | string,
  place: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const member = memberAt(plan, place);
  const wanted = ctImage(plan, image);
  await withHost(plan, signal, async (host) => {
    if (await isThere(host, plan, member, image, wanted)) return;
    const id = wanted.file === null ? null : await localId(image, signal);
    if (id === null || wanted.file === null) {
      if (wanted.pull === null) throw missing(image);
      report(`${wanted.pull} is pulled by the containers on ${place}`);
      return;
    }
    report(`Sending ${nameOf(image)} to ${place}`);
    // By its name, where it has one: the engine in the CT is to know it by that.
    await send(host, member, typeof image === "string" ? image : id, wanted.file, signal);
    report(`${nameOf(image)} is on ${place}`);
  });
}

async function isThere(
  host: ProxmoxHost,
  plan: ProxmoxPlan,
  member: string | null,
  image: ImageIdentity | string,
  wanted: CtImage,
): Promise<boolean> {
  const database = typeof image === "string" && image === plan.postgres?.image;
  const cts = (ctsByMember(plan).get(member) ?? []).filter((ct) => (ct.vmid === plan.postgresVmid) === database);
  const argv = script(PRESENT, [wanted.name, wanted.file ?? "", ...cts.map((ct) => String(ct.vmid))]);
  return (await host.run({ member, argv })).trim() === "yes";
}

async function send(
  host: ProxmoxHost,
  member: string | null,
  name: string,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash("sha256");
  // Two operators with one image: the second one writes it again, and neither sees half of it.
  const lock = `image-${createHash("sha256").update(file).digest("hex").slice(0, 16)}`;
  const saving = execa("docker", ["save", name], { reject: false, buffer: { stdout: false }, cancelSignal: signal });
  const counted = saving.stdout.pipe(counting(hash));
  saving.stdout.once("error", (error) => counted.destroy(error));
  try {
    const answer = await host.run({
      member,
      argv: locked(lock, script(RECEIVE, [file])),
      input: counted,
      timeoutMs: SEND_TIMEOUT_MS,
    });
    const saved = await saving;
    if (saved.failed) throw new InfraError("INFRA_IMAGE_MISSING", `Docker could not save ${name}: ${saved.stderr}`);
    const expected = hash.digest("hex");
    if (answer.trim() !== expected) throw notWhole(file);
    await host.run({ member, argv: locked(lock, script(KEEP, [file, expected])), timeoutMs: CHECK_TIMEOUT_MS });
  } finally {
    saving.kill();
    // Not read any further: a surviving child process must not keep the pipe open.
    saving.stdout.destroy();
    await saving;
  }
}

function notWhole(file: string): InfraError {
  return new InfraError("INFRA_INTERRUPTED", `The image did not arrive whole as ${file}.`, {
    hint: "Repeat the command.",
  });
}

/** A stream that is hashed on its way. */
function counting(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

/** The image's id in this machine's engine; null where the engine, or the image in it, is not here. */
async function localId(image: ImageIdentity | string, signal: AbortSignal): Promise<string | null> {
  const name = typeof image === "string" ? image : (image.id ?? image.reference);
  const asked = await execa("docker", ["image", "inspect", "--format", "{{.Id}}", name], {
    reject: false,
    stdin: "ignore",
    timeout: CHECK_TIMEOUT_MS,
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  return asked.failed || asked.stdout.trim() === "" ? null : asked.stdout.trim();
}

function memberAt(plan: ProxmoxPlan, place: string): string | null {
  const member = [...ctsByMember(plan).keys()].find((candidate) => placeOf(plan, candidate) === place);
  if (member !== undefined) return member;
  throw new InfraError("INFRA_PLAN_INVALID", `The deployment runs nothing on ${place}.`);
}

function missing(image: ImageIdentity | string): InfraError {
  return new InfraError("INFRA_IMAGE_MISSING", `${nameOf(image)} is neither on this machine nor in a registry.`, {
    hint: "Run `cairn build`.",
  });
}

function nameOf(image: ImageIdentity | string): string {
  return typeof image === "string" ? image : image.reference;
}

const PRESENT = `${PRELUDE}
name=$1 file=$2; shift 2
if [ -n "$file" ] && [ -f "$file" ]; then touch "$file"; echo yes; exit 0; fi
[ "$#" -gt 0 ] || { echo no; exit 0; }
for vmid in "$@"; do
  pct exec "$vmid" -- docker image inspect "$name" >/dev/null 2>&1 </dev/null || { echo no; exit 0; }
done
echo yes
`;

// Files that nobody asked for in a month make room. What a broken connection leaves is overwritten by the next attempt.
const RECEIVE = `${PRELUDE}
umask 077
file=$1 folder=\${1%/*}
mkdir -p "$folder"
find "$folder" -maxdepth 1 -type f -name '*.tar' -mtime +30 -delete
trap 'rm -f "$file.part"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$file.part"
sync "$file.part"
sum=$(sha256sum <"$file.part")
trap - EXIT
printf '%s\\n' "\${sum%% *}"
`;

const KEEP = `${PRELUDE}
[ "$(sha256sum <"$1.part" | cut -d' ' -f1)" = "$2" ] || fail INFRA_INTERRUPTED "another command has been sending $1"
mv -f "$1.part" "$1"
`;
