/** Docker inside a CT, and the image in it: installed if missing, loaded from a file on the Proxmox host, or pulled. */

import { createHash } from "node:crypto";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { ImageIdentity, ProxmoxPlan, SecretValues } from "../../plan/types.ts";
import { dockerAuths } from "../../registry.ts";
import { type CtSpec, imageDirectory } from "./ct.ts";
import { locked, PRELUDE, script } from "./shell.ts";

/** An image as a CT is to have it. */
export interface CtImage {
  /** What `docker run` gets inside the CT. */
  readonly name: string;
  /** File on the Proxmox host; null where the CT can pull the image alone. */
  readonly file: string | null;
  /** What `docker pull` gets; null where only the file will do. */
  readonly pull: string | null;
}

/**
 * An identity with a digest is pulled by it. One without goes by its id: the file of that id is loaded and tagged with it,
 * because engines with another image store give the same image another id.
 */
export function ctImage(plan: ProxmoxPlan, image: ImageIdentity | string): CtImage {
  if (typeof image === "string") {
    return { name: image, file: `${imageDirectory(plan)}/ref-${sha256(image)}.tar`, pull: image };
  }
  if (image.digest !== null) return { name: image.digest, file: null, pull: image.digest };
  const hex = /^sha256:([0-9a-f]{64})$/.exec(image.id ?? "")?.[1];
  if (hex === undefined) {
    throw new InfraError("INFRA_IMAGE_MISSING", `The image ${image.reference} has neither an id nor a digest.`, {
      hint: "Run `cairn build`.",
    });
  }
  return { name: `cairn-image:${hex}`, file: `${imageDirectory(plan)}/${hex}.tar`, pull: null };
}

/** The id of an image that an engine knows by such a name; every other name as it is. */
export function imageOfName(name: string): string {
  return name.replace(/^cairn-image:(?=[0-9a-f]{64}$)/, "sha256:");
}

/** Installs Docker in the CT where it is missing, waits until it answers, and bounds the CT's journal. */
export function ensureDocker(spec: CtSpec): readonly string[] {
  return locked(String(spec.vmid), inCt(spec, script(INSTALL, [])));
}

/** Brings `image` into the CT's Docker. Standard input: `registryInput`. */
export function ensureImage(spec: CtSpec, image: CtImage): readonly string[] {
  return locked(
    String(spec.vmid),
    script(IMAGE, [String(spec.vmid), image.name, image.file ?? "", image.pull ?? "", PULL]),
  );
}

/** What `ensureImage` reads: base64 of Docker's own config.json, or an empty line without credentials. A secret. */
export function registryInput(registry: SecretValues["registry"]): string {
  if (registry === null) return "\n";
  return `${Buffer.from(JSON.stringify({ auths: dockerAuths(registry) })).toString("base64")}\n`;
}

/** `argv` inside the CT, as its root, standard input passed on. */
export function inCt(spec: Pick<CtSpec, "vmid">, argv: readonly string[]): readonly string[] {
  // Not every version of pct finds programs in sbin.
  return script(`${PRELUDE}exec pct exec "$@"`, [String(spec.vmid), "--", ...argv]);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const INSTALL = `${PRELUDE}
if ! command -v dockerd >/dev/null; then
  tries=30
  until ip route show default 2>/dev/null | grep -q . || [ "$tries" -eq 0 ]; do tries=$((tries - 1)); sleep 1; done
  if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update -o APT::Update::Error-Mode=any >&2 || fail INFRA_FAILED "the container cannot reach its package mirror (see above): check bridge, vlan, address, gateway and nameserver, or use a template with Docker in it"
    more=
    # A package of its own since Debian 13.
    if apt-cache show docker-cli >/dev/null 2>&1; then more=docker-cli; fi
    apt-get -q install -y --no-install-recommends docker.io ca-certificates $more >&2 ||
      fail INFRA_FAILED "Docker could not be installed in the container (see above); a template with Docker in it works, too"
  elif command -v apk >/dev/null; then
    apk add docker ca-certificates >&2 || fail INFRA_FAILED "Docker could not be installed in the container (see above)"
  else
    fail INFRA_FAILED "the template has neither apt nor apk; use a Debian, Ubuntu or Alpine one, or one with Docker in it"
  fi
fi
answers() { docker version --format '{{.Server.Version}}' 2>/dev/null; }
if ! version=$(answers); then
  if [ -d /run/systemd/system ]; then systemctl enable --now docker >&2 || true
  elif command -v rc-update >/dev/null; then rc-update add docker default >&2; rc-service docker start >&2 || true
  elif [ -x /etc/init.d/docker ]; then service docker start >&2 || true
  fi
  tries=60
  until version=$(answers); do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail INFRA_FAILED "Docker in the container does not answer after 60 s; the container needs features nesting=1 and, unprivileged, keyctl=1"
    sleep 1
  done
fi
# By itself the journal takes a tenth of the disk. What containers write is bounded by Docker (container.ts).
bound=/etc/systemd/journald.conf.d/50-cairn.conf
if [ -d /run/systemd/system ] && [ ! -f "$bound" ]; then
  mkdir -p "\${bound%/*}"
  printf '[Journal]\\nSystemMaxUse=200M\\nRuntimeMaxUse=50M\\n' >"$bound"
  systemctl try-restart systemd-journald >&2 || true
fi
echo "Docker $version answers"
`;

const IMAGE = `${PRELUDE}
vmid=$1 name=$2 file=$3 pull=$4 puller=$5
IFS= read -r registry || registry=
if pct exec "$vmid" -- docker image inspect "$name" >/dev/null 2>&1 </dev/null; then echo "$name is there"; exit 0; fi
if [ -n "$file" ] && [ -f "$file" ]; then
  loaded=$(pct exec "$vmid" -- docker load -q <"$file" | sed -n 's/^Loaded image\\( ID\\)*: //p' | tr -d '\\r' | tail -n 1)
  [ -n "$loaded" ] || fail INFRA_IMAGE_MISSING "$file holds no image"
  [ "$loaded" = "$name" ] || pct exec "$vmid" -- docker tag "$loaded" "$name" </dev/null
  touch "$file"
elif [ -n "$pull" ]; then
  printf '%s\\n' "$registry" | pct exec "$vmid" -- /bin/sh -c "$puller" cairn "$pull" >&2 ||
    fail INFRA_IMAGE_MISSING "container $vmid could not pull $pull (see above)"
else
  fail INFRA_IMAGE_MISSING "$file is not on this host: bring the image there with cairn infra up"
fi
echo "$name is there"
`;

// Credentials lie in memory (/run) while the pull runs, and nowhere else.
const PULL = `${PRELUDE}
umask 077
folder=$(mktemp -d /run/cairn-registry.XXXXXX)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
base64 -d >"$folder/config.json"
[ -s "$folder/config.json" ] || rm "$folder/config.json"
docker --config "$folder" pull -q "$1"
`;
