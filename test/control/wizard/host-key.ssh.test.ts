import { expect, onTestFinished, test } from "vitest";
import { readHostKey } from "../../../control/wizard/detect/host-key.ts";
import { startSshd } from "../../support/ssh/sshd.ts";

test("the key that a real host shows is the one that it has", async () => {
  const server = await startSshd();
  onTestFinished(() => server.stop());
  const shown = await readHostKey(server.host, server.port, { env: { PATH: process.env.PATH } });
  expect(shown).toMatchObject({ key: server.hostKey, trusted: false });
});
