/** Directories on the Proxmox host that outlive the CTs: made, owned, never removed by a plan. */

import type { DataDirectory } from "./ct.ts";
import { PRELUDE, script } from "./shell.ts";

/** Name of the file that says which stack made `<dataDir>/<stack>`. */
export const STACK_MARK = ".cairn-stack";

/** Makes `directory` and gives it to its user; what is in it stays. Refuses symbolic links on the way below `root`. */
export function ensureDirectory(root: string, stack: string, directory: DataDirectory): readonly string[] {
  const below = directory.path.slice(root.length + 1).split("/");
  return script(ENSURE, [root, stack, String(directory.uid), String(directory.gid), ...below]);
}

const ENSURE = `${PRELUDE}
root=$1 stack=$2 uid=$3 gid=$4; shift 4
mkdir -p "$root"
path=$root
for part in "$@"; do
  path=$path/$part
  [ ! -L "$path" ] || fail INFRA_UP_REFUSED "$path is a symbolic link; data directories must be directories"
  # Others may pass on the way to a directory of theirs, and see nothing.
  [ -d "$path" ] || mkdir -m 0711 "$path"
done
printf '%s\\n' "$stack" >"$root/$stack/${STACK_MARK}"
# Everything in it belongs to the one user of its container; another owner means that the mapping was changed.
if [ "$(stat -c %u:%g "$path")" != "$uid:$gid" ]; then chown -R -h "$uid:$gid" "$path"; fi
chmod 0700 "$path"
echo "$path is there"
`;
