import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ServiceDescription } from "../../../../control/service-manager/service.ts";
import { systemdUnit } from "../../../../control/service-manager/systemd.ts";
import { parseSnapshot, versionOfImage } from "../../../../control/update/manual/snapshot.ts";
import { parseUnit } from "../../../../control/update/manual/unit.ts";
import { ROOT } from "../../../../scripts/lib/paths.js";

const service = (dir: string, root: string): ServiceDescription => ({
  name: "cairn-two",
  command: ["/usr/bin/node", `${root}/dist/runtime/main.js`, "--dir", dir, "--home", `${dir}/home`],
  dir,
  writable: [],
  environment: { SERVICE_HOME: `${dir}/home`, PATH: "/usr/bin" },
  stopSeconds: 95,
  scope: "system",
  user: "cairn",
});

const written = async (dir: string, root: string): Promise<string> =>
  systemdUnit(await readFile(join(ROOT, "templates/service/cairn.service"), "utf8"), service(dir, root));

it.each([
  ["/srv/cairn", "/opt/cairn"],
  ['/srv/a "b" 100% $HOME\\x', "/opt/with space"],
])("a unit says where its node is, as service install wrote it for %s", async (dir, root) => {
  const unit = { node: "/usr/bin/node", root, dir, home: `${dir}/home`, stopTimeoutS: 95 };
  expect(parseUnit(await written(dir, root))).toEqual(unit);
});

it("what an operator has changed by `systemctl edit` counts, as it does for systemd", async () => {
  const text = `${await written("/srv/cairn", "/opt/cairn")}\n# override.conf\n[Service]\nTimeoutStopSec=300\n`;
  expect(parseUnit(text)).toMatchObject({ stopTimeoutS: 300, root: "/opt/cairn" });
});

it("a unit of another writer, or of another program, is none of ours", async () => {
  const text = await written("/srv/cairn", "/opt/cairn");
  expect(parseUnit(text.replace("Written by", "Changed after"))).toBeNull();
  expect(parseUnit(text.replace("/dist/runtime/main.js", "/other.js"))).toBeNull();
});

it("a snapshot of a machine says what is installed, what runs, and what the node says of itself", () => {
  const file = { pid: 7, url: "http://127.0.0.1:7433", started_at: "2026-11-01T00:00:00.000Z", version: "1.4.0" };
  const text = `image 1.4.0-0123456789ab\nactive active\nmain 7\nengine v24.1.0\nmachine m\nfile ${JSON.stringify(file)}\n`;
  expect(parseSnapshot(text)).toMatchObject({
    image: "1.4.0-0123456789ab",
    active: "active",
    pid: 7,
    engine: "24.1.0",
    machine: "m",
    file: { url: "http://127.0.0.1:7433" },
  });
  const nothing = { image: null, active: "inactive", pid: null, engine: "24.1.0", machine: "m", file: null };
  expect(parseSnapshot("image \nactive inactive\nmain 0\nengine v24.1.0\nmachine m\n")).toEqual(nothing);
});

it.each([
  ["1.4.0-0123456789ab", "1.4.0"],
  ["1.4.0-rc.1-0123456789ab", "1.4.0-rc.1"],
  ["1.4.0-tree", "1.4.0"],
])("the build %s is of version %s", (image, version) => {
  expect(versionOfImage(image)).toBe(version);
});
