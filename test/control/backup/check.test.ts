import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { renderRestore } from "../../../control/backup/render.ts";
import { checkRestore } from "../../../control/backup/restore/check.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { writeSealedBackup } from "../../support/sealed-backup.ts";

const PASSPHRASE = "four words of mine";
const same = (text: string): string => text;
const MARK = { title: same, good: same, warn: same, error: same, dim: same, name: same };

it("a check names an address that something has already, which is in the way of the start alone", async () => {
  const around = await mkdtemp(join(tmpdir(), "cairn-check-"));
  onTestFinished(() => rm(around, { recursive: true }));
  const server = createServer();
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const found = server.address();
  const listen = `127.0.0.1:${found !== null && typeof found === "object" ? found.port : 0}`;
  const absolute = join(around, "cairn.yaml");
  await writeFile(
    absolute,
    `version: 1\nagents: { main: {} }\nproviders: { offline: {} }\nruntime: { listen: "${listen}" }\n`,
  );
  const file = await writeSealedBackup(join(around, "cairn.tar.age"), {
    passphrase: PASSPHRASE,
    about: { target: "manual", backend: "embedded", nodes: null, directory: "/srv/former", home: "/srv/former/.cairn" },
    createdAt: new Date(),
    sources: [{ part: "directory", path: "cairn.yaml", absolute }],
  });
  const dir = join(around, "restored");
  const deployment = resolveDirectories({ flags: { dir }, env: { HOME: around }, cwd: around });
  const { signal } = new AbortController();
  const options = { passphrase: PASSPHRASE, schema: null, signal, onStep: () => undefined };
  const taken = await checkRestore(file, deployment, options);
  expect(taken).toMatchObject({ outcome: "possible", obstacles: [], taken_address: listen });
  expect(renderRestore(taken, MARK)).toContain(`Something listens at ${listen} already`);
  server.close();
  await once(server, "close");
  expect(await checkRestore(file, deployment, options)).toMatchObject({ taken_address: null });
});
