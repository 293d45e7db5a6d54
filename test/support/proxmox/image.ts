/**
 * A small image that plays the node: a shell, a web server and a `node` that knows the health probe and the relay, in the form
 * that `docker save` writes. It leaves its traces in the data directories.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImageIdentity } from "../../../infra/plan/types.ts";

export interface TestImage {
  readonly identity: ImageIdentity;
  /** As `docker save` would write it. */
  readonly file: string;
}

const ENTRY = `#!/bin/sh
echo "start $(cat /etc/image-version)" >>/var/lib/cairn/starts
id -u >/var/lib/cairn/uid
cp /etc/cairn/.env /var/lib/cairn/seen.env
trap 'echo graceful >>/var/lib/cairn/starts; kill $server; exit 0' TERM
httpd -f -p 7433 -h /www &
server=$!
wait $server
`;

const NODE = `#!/bin/sh
case $1 in
  */health-probe.js) exec wget -q -O /dev/null http://127.0.0.1:7433/index.html ;;
  -e) exec nc "$3" "$4" ;;
esac
exit 64
`;

const APPLETS = "sh cat cp echo httpd id kill nc sleep wget";

/** Ends at its start, after a word to its log. */
export const CRASHING_ENTRY = "#!/bin/sh\necho cannot start\nexit 3\n";

/** `busybox`: a static one. Writes the image below `folder`. */
export function makeImage(folder: string, busybox: string, version: string, entry = ENTRY): TestImage {
  const work = mkdtempSync(join(tmpdir(), "cairn-image-"));
  try {
    const root = join(work, "root");
    for (const name of ["bin", "etc", "www", "tmp", "run", "var/lib/cairn", "srv/cairn", "srv/shared", "etc/cairn"]) {
      mkdirSync(join(root, name), { recursive: true });
    }
    copyFileSync(busybox, join(root, "bin", "busybox"));
    for (const name of APPLETS.split(" ")) execFileSync("ln", ["-s", "busybox", join(root, "bin", name)]);
    writeFileSync(join(root, "bin", "entry"), entry, { mode: 0o755 });
    writeFileSync(join(root, "bin", "node"), NODE, { mode: 0o755 });
    writeFileSync(join(root, "www", "index.html"), `node ${version}\n`);
    writeFileSync(join(root, "etc", "image-version"), `${version}\n`);
    const layer = join(work, "layer.tar");
    execFileSync("tar", [
      "-C",
      root,
      "--owner=0",
      "--group=0",
      "--numeric-owner",
      "--mtime=@0",
      "--sort=name",
      "-cf",
      layer,
      ".",
    ]);
    const config = JSON.stringify({
      architecture: process.arch === "arm64" ? "arm64" : "amd64",
      os: "linux",
      config: { Entrypoint: ["/bin/entry"], Env: ["PATH=/bin"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${sha256(readFileSync(layer))}`] },
      history: [{ created_by: `test ${version}` }],
    });
    const hex = sha256(config);
    const reference = `cairn-proxmox-test:${version}`;
    writeFileSync(join(work, `${hex}.json`), config);
    const manifest = [{ Config: `${hex}.json`, RepoTags: [reference], Layers: ["layer.tar"] }];
    writeFileSync(join(work, "manifest.json"), JSON.stringify(manifest));
    const file = join(folder, `image-${version}.tar`);
    execFileSync("tar", ["-C", work, "-cf", file, `${hex}.json`, "layer.tar", "manifest.json"]);
    return { identity: { id: `sha256:${hex}`, digest: null, reference, version, revision: null }, file };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}
