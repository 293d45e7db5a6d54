/**
 * What runs on the machine of a node that was set up by hand, as POSIX shell: the program that is there may be of any version. Builds
 * and `dist` are as `builds.ts` has them, so that `cairn update` there goes on with what a rollout has left.
 */

import type { Unit } from "./unit.ts";

/** A failure is one line that names its code; see `parseSshFailure`. `manage` is `systemctl` of the manager that has the unit. */
const START = `set -eu
fail() { echo "cairn: $1: $2" >&2; exit 1; }
unit=$1
: "\${XDG_RUNTIME_DIR:=/run/user/$(id -u)}"
export XDG_RUNTIME_DIR
has() { systemctl "$@" cat "$unit" >/dev/null 2>&1; }
command -v systemctl >/dev/null 2>&1 || fail INFRA_TOOL_MISSING "there is no systemctl"
if [ "$(id -u)" = 0 ]; then
  if has --system; then manage() { systemctl --system "$@"; }
  elif has --user; then manage() { systemctl --user "$@"; }
  else fail INFRA_UP_REFUSED "there is no unit $unit"; fi
else
  if has --user; then manage() { systemctl --user "$@"; }
  elif has --system; then manage() { sudo -n systemctl --system "$@"; }
  else fail INFRA_UP_REFUSED "there is no unit $unit"; fi
fi
`;

/** Of the program in the current directory: `version-checksum` of a build, `version-tree` of what was installed there. */
const SERVING = `serving() {
  if [ -L dist ]; then basename "$(dirname "$(readlink dist)")"
  elif [ -d dist ] || [ -d dist.former ]; then
    echo "$("$node" -p 'JSON.parse(require("node:fs").readFileSync("package.json", "utf8")).version')-tree"
  fi
}
`;

const CAT = `${START}manage cat "$unit"
`;

const SNAPSHOT = `${START}node=$2 root=$3 home=$4
${SERVING}cd "$root" || fail INFRA_UP_REFUSED "there is no directory $root"
echo "image $(serving)"
echo "active $(manage is-active "$unit" 2>/dev/null || :)"
echo "main $(manage show --property=MainPID --value "$unit" 2>/dev/null || :)"
echo "engine $("$node" --version)"
echo "machine $(cat /etc/machine-id 2>/dev/null || hostname)"
if [ -r "$home/run/node.json" ]; then printf 'file '; tr -d '\\n' <"$home/run/node.json"; echo; fi
`;

const TOKEN = `set -eu
[ -r "$1/.env" ] || { echo "cairn: INFRA_UP_REFUSED: $(id -un) may not read $1/.env" >&2; exit 1; }
grep -E '^[[:space:]]*(export[[:space:]]+)?SERVICE_API_TOKEN[[:space:]]*=' "$1/.env" || :
`;

/** The archive comes on standard input. Nothing that serves is touched, and a build is there whole or not at all. */
const STAGE = `set -eu
trap '' HUP PIPE
fail() { echo "cairn: $1: $2" >&2; exit 1; }
node=$1 root=$2 image=$3 sum=$4
umask 022
cd "$root"
[ -w . ] || fail INFRA_UP_REFUSED "$(id -un) may not write to $root"
[ ! -d ".cache/builds/$image" ] || { cat >/dev/null; exit 0; }
mkdir -p .cache/builds
work=$(mktemp -d .cache/builds/brought-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cat >"$work/archive.tgz"
found=$("$node" -p 'require("node:crypto").createHash("sha256").update(require("node:fs").readFileSync(process.argv[1])).digest("hex")' "$work/archive.tgz")
[ "$found" = "$sum" ] || fail INFRA_BUILD_FAILED "the archive has arrived with the checksum $found"
mkdir "$work/program"
tar -xzf "$work/archive.tgz" -C "$work/program" --strip-components=1 --no-same-owner
if [ ! -e "$work/program/node_modules" ]; then
  PATH="$(dirname "$node"):$PATH"
  export PATH
  (cd "$work/program" && npm install --omit=dev --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error >&2) ||
    fail INFRA_BUILD_FAILED "npm install of the program's packages failed"
fi
for entry in control runtime; do
  [ -f "$work/program/dist/$entry/main.js" ] || fail INFRA_BUILD_FAILED "dist/$entry/main.js is missing"
done
if [ "$(id -u)" = 0 ]; then chown -R "$("$node" -p 'const s = require("node:fs").statSync("."); s.uid + ":" + s.gid')" "$work/program"; fi
mv "$work/program" ".cache/builds/$image"
`;

/** Runs while the fence's lock is held. Stop first; builds but the new one and the former are removed. */
const SWAP = `trap '' HUP PIPE
${START}node=$2 root=$3 home=$4 image=$5
${SERVING}cd "$root"
[ ! -e "$home/update.json" ] || fail INFRA_LOCKED "cairn update is at work there, or was interrupted: run it there again"
move() { "$node" -e 'require("node:fs").renameSync(process.argv[1], process.argv[2])' "$1" "$2"; }
if [ ! -e dist ] && [ ! -L dist ] && [ -d dist.former ]; then mv dist.former dist; fi
now=$(serving)
if [ "$now" != "$image" ]; then
  case $image in
    *-tree) [ -L dist ] && [ -d dist.former ] || fail INFRA_IMAGE_MISSING "what was built in $root is not there any more" ;;
    *) [ -f ".cache/builds/$image/dist/runtime/main.js" ] || fail INFRA_IMAGE_MISSING "the build $image is not in $root" ;;
  esac
fi
manage stop "$unit" || fail INFRA_FAILED "the unit $unit did not stop"
if [ "$now" != "$image" ]; then
  case $image in
    *-tree)
      rm -f dist
      mv dist.former dist ;;
    *)
      if [ ! -L dist ]; then rm -rf dist.former; mv dist dist.former; fi
      rm -f .cache/dist.link
      ln -s ".cache/builds/$image/dist" .cache/dist.link
      move .cache/dist.link dist
      for build in .cache/builds/*; do
        case \${build##*/} in "$image" | "$now") ;; *) rm -rf "$build" ;; esac
      done ;;
  esac
fi
manage reset-failed "$unit" >/dev/null 2>&1 || :
manage start "$unit" || fail INFRA_FAILED "the unit $unit did not start"
`;

function script(text: string, ...args: readonly string[]): string[] {
  return ["sh", "-c", text, "cairn-node", ...args];
}

/** Prints the unit. */
export const catCommand = (unit: string): string[] => script(CAT, unit);

/** Prints lines that `snapshot.ts` reads. */
export const snapshotCommand = (unit: string, { node, root, home }: Unit): string[] =>
  script(SNAPSHOT, unit, node, root, home);

/** Prints the line of `.env` that has the owner's token; nothing where there is none. */
export const tokenCommand = ({ dir }: Unit): string[] => script(TOKEN, dir);

export const stageCommand = ({ node, root }: Unit, image: string, sha256: string): string[] =>
  script(STAGE, node, root, image, sha256);

export const swapCommand = (unit: string, { node, root, home }: Unit, image: string): string[] =>
  script(SWAP, unit, node, root, home, image);
