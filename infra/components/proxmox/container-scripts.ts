/** The Docker container inside a CT: its files through standard input, its start, its end. */

import { createHash } from "node:crypto";
import type { CtSpec } from "./ct.ts";
import { inCt } from "./docker-scripts.ts";
import { locked, PRELUDE, script } from "./shell.ts";

export interface ContainerSpec {
  /** Of the container in the CT's Docker. */
  readonly name: string;
  /** Directory in the CT that is mounted read-only at the same path in the container. */
  readonly configuration: string;
  /** Group that may read those files. */
  readonly fileGroup: number;
  /** Everything after `docker run -d --name NAME`: options, image, command. Nothing of it is secret. */
  readonly arguments: readonly string[];
  readonly stopTimeoutS: number;
}

/** Label with the hash of the container's arguments: shows whether what runs is what is planned. */
const SPEC_LABEL = "cairn.spec";

/** Label with the hash of the files that the container was started with, as `applied_hash` makes it in the CT. */
const FILES_LABEL = "cairn.files";
/** Of the file beside the configuration that is there while a change of the container has not come to its end. */
export const PENDING_SUFFIX = ".pending";
/** A function of the scripts: hash of every file below a directory, by name and content. */
export const APPLIED_HASH = `applied_hash() { (cd "$1" && find . -type f -exec sha256sum {} + | sort | sha256sum | cut -c 1-64); }`;

/** Hash of what is not secret; the files are compared byte by byte instead. */
function specHash(container: ContainerSpec): string {
  return createHash("sha256").update(JSON.stringify(container.arguments)).digest("hex");
}

/**
 * Starts the container, or replaces it if its arguments or files differ. Whether it serves is looked at afterwards
 * (docs/decisions/037-who-waits-for-health.md). Standard input: `filesInput`.
 */
export function ensureContainer(ct: CtSpec, container: ContainerSpec): readonly string[] {
  const args = [
    container.name,
    specHash(container),
    container.configuration,
    String(container.fileGroup),
    String(container.stopTimeoutS),
    ...container.arguments,
  ];
  return locked(String(ct.vmid), inCt(ct, script(RUN, args)));
}

/** Stops the container in its time and removes it with its files; nothing to do in a CT that is gone or stopped. */
export function deleteContainer(ct: CtSpec, container: ContainerSpec): readonly string[] {
  const inner = script(REMOVE, [container.name, container.configuration, String(container.stopTimeoutS)]);
  return locked(String(ct.vmid), script(IF_RUNNING, [String(ct.vmid), ...inner]));
}

const IF_RUNNING = `${PRELUDE}
vmid=$1; shift
if [ "$(pct status "$vmid" 2>/dev/null)" != 'status: running' ]; then echo "container $vmid is not running"; exit 0; fi
exec pct exec "$vmid" -- "$@"
`;

const RUN = `${PRELUDE}
name=$1 spec=$2 configuration=$3 group=$4 stop=$5; shift 5
umask 077
box=$(mktemp -d "$configuration.XXXXXX")
trap 'rm -rf "$box"' EXIT
trap 'exit 1' HUP INT TERM
base64 -d | tar -x -C "$box" -f - || fail INFRA_INTERRUPTED "the files for $name did not arrive whole"
[ -f "$box/end" ] || fail INFRA_INTERRUPTED "the files for $name did not arrive whole"
mkdir "$box/tree"
number=0
while IFS= read -r path; do
  mkdir -p "$box/tree/$(dirname -- "$path")"
  mv "$box/$number" "$box/tree/$path"
  number=$((number + 1))
done <"$box/paths"
chown -R "0:$group" "$box/tree"
find "$box/tree" -type d -exec chmod 0550 {} +
find "$box/tree" -type f -exec chmod 0440 {} +
${APPLIED_HASH}
# Whatever ends this script before the container is started leaves the mark, and the next look at the target finds it.
: >"$configuration${PENDING_SUFFIX}"
# One that was renamed by hand holds the data and the port.
docker ps -a --filter "label=${SPEC_LABEL}" --format '{{ .Names }}' | while read -r other; do
  [ "$other" = "$name" ] || { docker stop -t "$stop" "$other" && docker rm -f -v "$other"; } >/dev/null
done
docker unpause "$name" >/dev/null 2>&1 || true
running=$(docker inspect -f '{{ index .Config.Labels "${SPEC_LABEL}" }} {{ .State.Running }}' "$name" 2>/dev/null || true)
if [ "$running" != "$spec true" ] || ! diff -rq "$box/tree" "$configuration" >/dev/null 2>&1; then
  if [ -n "$running" ]; then
    docker stop -t "$stop" "$name" >/dev/null
    docker rm -f -v "$name" >/dev/null
  fi
  rm -rf "$configuration"
  mv "$box/tree" "$configuration"
  # Newer engines look more often while a container starts.
  if docker run --help 2>/dev/null | grep -q -e --health-start-interval; then set -- --health-start-interval 1s "$@"; fi
  files=$(applied_hash "$configuration")
  docker run -d --name "$name" --label "${SPEC_LABEL}=$spec" --label "${FILES_LABEL}=$files" "$@" >/dev/null
fi
rm -f "$configuration${PENDING_SUFFIX}"
echo "$name is started"
`;

const REMOVE = `${PRELUDE}
name=$1 configuration=$2 stop=$3
if docker inspect "$name" >/dev/null 2>&1; then
  docker stop -t "$stop" "$name" >/dev/null
  docker rm -f -v "$name" >/dev/null
fi
rm -rf "$configuration" "$configuration".?????? "$configuration${PENDING_SUFFIX}"
echo "$name is gone"
`;
