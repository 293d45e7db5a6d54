import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { createCaptureClient, createClient } from "../../../runtime/client/index.ts";
import { certificatePin } from "../../../runtime/contracts/certificates.ts";
import { isWildcard, urlOf } from "../../../runtime/contracts/urls.ts";
import { type Identity, identity, tlsNode } from "../../support/certificates.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const TOKEN = "cairn_secret";

function pinOf({ cert }: Identity): string {
  const pin = certificatePin(cert);
  if (pin === null) throw new Error("no certificate");
  return pin;
}

describe("a client of a node with a certificate that nobody signs", () => {
  test("talks to the node whose certificate it knows, though it is for other names", async () => {
    const own = await identity();
    const node = await tlsNode(own);
    const client = createClient({ baseUrl: node.url, token: TOKEN, certificate: pinOf(own) });
    expect(await client.ready()).toBe(true);
    expect((await client.health()).version).toBe("1.2.3");
    let archive = "";
    for await (const bytes of client.backup()) archive += Buffer.from(bytes).toString();
    expect(archive).toBe("the archive");
  });

  test("talks to one that shows the next of the certificates that it knows", async () => {
    const [current, next] = [await identity(), await identity()];
    const node = await tlsNode(next);
    const client = createClient({ baseUrl: node.url, token: TOKEN, certificate: [pinOf(current), pinOf(next)] });
    expect((await client.health()).version).toBe("1.2.3");
    const other = createClient({ baseUrl: node.url, token: TOKEN, certificate: [pinOf(current), "AB:CD"] });
    await expect(other.health()).rejects.toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
      message: expect.stringContaining(`not ${pinOf(current)}.`),
    });
  });

  test("refuses another certificate before anything is sent, and names both and the way out", async () => {
    const [own, others] = [await identity(), await identity()];
    const node = await tlsNode(others);
    const client = createClient({ baseUrl: node.url, token: TOKEN, certificate: pinOf(own) });
    const error = await client.health().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
      retryable: false,
      message: expect.stringContaining(node.url),
      details: { hint: expect.stringMatching(/`cairn restart`.*`cairn infra up`.*-fingerprint -sha256/) },
    });
    expect(String(error)).toContain(pinOf(own));
    expect(String(error)).toContain(pinOf(others));
    // Waiting helps nobody here.
    await expect(client.ready()).rejects.toMatchObject({ code: "RUNTIME_CERTIFICATE_REFUSED" });
    expect(node.tokens).toEqual([]);
  });

  test.each([
    ["is over", { from: -3, to: -1 }, /expired on .*/, /new one/],
    ["has not come", { from: 1, to: 3 }, /valid from .* only/, /clock/],
  ])("refuses its own one whose time %s", async (_name, times, message, hint) => {
    const own = await identity(times);
    const node = await tlsNode(own);
    const client = createClient({ baseUrl: node.url, token: TOKEN, certificate: pinOf(own) });
    await expect(client.health()).rejects.toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
      message: expect.stringMatching(message),
      details: { hint: expect.stringMatching(hint) },
    });
    expect(node.tokens).toEqual([]);
  });

  test("without a pin says how the pin is recorded, not that the connection broke", async () => {
    const node = await tlsNode(await identity());
    await expect(createClient({ baseUrl: node.url, token: TOKEN }).health()).rejects.toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
      message: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
      details: { hint: expect.stringContaining("`cairn restart`") },
    });
    expect(node.tokens).toEqual([]);
  });

  test("keeps what is captured in the spool while another certificate is shown", async () => {
    const [own, others] = [await identity(), await identity()];
    const node = await tlsNode(others);
    const client = createCaptureClient({
      baseUrl: node.url,
      token: TOKEN,
      certificate: pinOf(own),
      spoolDirectory: join(await temporaryDirectory(), "spool"),
    });
    const events = [{ event_id: "1", role: "user", content: "hello" }] as const;
    const { deliveries } = await client.send({ session_key: "s", agent: "a", channel: "terminal", events });
    expect(deliveries).toEqual([{ outcome: "spooled", reason: "RUNTIME_CERTIFICATE_REFUSED" }]);
    expect(node.tokens).toEqual([]);
  });
});

describe("a client without a pin", () => {
  test("takes what an authority of this machine vouches for, and only for the name that it is for", async () => {
    const authority = await identity({ isAuthority: true });
    const before = getCACertificates("default");
    setDefaultCACertificates([...before, authority.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const named = await tlsNode(await identity({ signedBy: authority, address: "127.0.0.1" }));
    expect((await createClient({ baseUrl: named.url }).health()).version).toBe("1.2.3");
    const misnamed = await tlsNode(await identity({ signedBy: authority }));
    await expect(createClient({ baseUrl: misnamed.url }).health()).rejects.toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
      message: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
  });
});

test("a pin is what OpenSSL prints as the fingerprint", async () => {
  const own = await identity();
  const file = join(mkdtempSync(join(await temporaryDirectory(), "pem-")), "cert.pem");
  writeFileSync(file, own.cert);
  const { stdout } = spawnSync("openssl", ["x509", "-in", file, "-noout", "-fingerprint", "-sha256"], {
    encoding: "utf8",
  });
  if (stdout) expect(stdout).toContain(pinOf(own));
  expect(pinOf(own)).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  expect(certificatePin("no certificate")).toBeNull();
});

test("the URL of an address is one that this machine can use", () => {
  expect(urlOf("0.0.0.0", 1)).toBe("http://127.0.0.1:1");
  expect(urlOf("::", 1)).toBe("http://[::1]:1");
  expect(urlOf("127.0.0.1", 1, true)).toBe("https://127.0.0.1:1");
  expect(["0.0.0.0", "::", "127.0.0.1"].map(isWildcard)).toEqual([true, true, false]);
});
