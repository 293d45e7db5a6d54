import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { stackSecrets } from "../../../../control/deploy/operations/secrets.ts";
import { generateAuthority, issueServerTls } from "../../../../control/deploy/state/postgres-tls.ts";
import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { databaseAccess, postgresSecretFiles } from "../../../../infra/postgres/configuration.ts";

const NOW = new Date("2026-11-22T12:00:00Z");
const years = (count: number) => new Date(NOW.getTime() + count * 365 * 86_400_000);

/** What a node pins of what its stack has. */
const pinOf = (tls: string) => databaseAccess("database", 5432, { password: "word", tls }).certificate;
/** What the server shows: the first certificate of its file. */
const shownBy = (tls: string) => new X509Certificate(postgresSecretFiles({ password: "word", tls })["server.pem"]);

/** Code of the failure when a node that pins `pin` meets a server with `tls`; null when it trusts it. */
async function meets(pin: string, tls: string): Promise<string | null> {
  const file = postgresSecretFiles({ password: "word", tls })["server.pem"];
  const server = createServer({ key: file, cert: file }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // An address of the network is one while the server listens.
  const { port } = server.address() as AddressInfo;
  // verify-ca: the name is not compared.
  const client = connect({ host: "127.0.0.1", port, ca: pin, checkServerIdentity: () => undefined });
  try {
    await once(client, "secureConnect", { signal: AbortSignal.timeout(10_000) });
    return null;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  } finally {
    client.destroy();
    server.close();
  }
}

describe("the certificates of a stack's PostgreSQL", () => {
  it("have an authority without an end, and a server's certificate of ten years that is renewed after five", async () => {
    const { pem, renewAt } = await issueServerTls(await generateAuthority(NOW), NOW);
    const authority = new X509Certificate(pinOf(pem));
    const server = shownBy(pem);
    expect(authority.validTo).toBe("Dec 31 23:59:59 9999 GMT");
    expect(authority.ca).toBe(true);
    expect(server.ca).toBe(false);
    expect(server.verify(authority.publicKey)).toBe(true);
    expect(new Date(server.validTo).getUTCFullYear()).toBe(2036);
    expect(renewAt).toBe("2031-11-21");
  });

  it("are renewed without another pin: nodes trust the next server with what they have", async () => {
    const authority = await generateAuthority(NOW);
    const first = await issueServerTls(authority, NOW);
    const second = await issueServerTls(authority, new Date());
    expect(pinOf(second.pem)).toBe(pinOf(first.pem));
    expect(second.pem).not.toBe(first.pem);
    expect(shownBy(second.pem).serialNumber).not.toBe(shownBy(first.pem).serialNumber);
    expect(await meets(pinOf(first.pem), first.pem)).toBeNull();
    expect(await meets(pinOf(first.pem), second.pem)).toBeNull();
  });

  it("of another stack are trusted by no node", async () => {
    const mine = await issueServerTls(await generateAuthority(NOW), NOW);
    const other = await issueServerTls(await generateAuthority(NOW), NOW);
    expect(await meets(pinOf(mine.pem), other.pem)).toBe("SELF_SIGNED_CERT_IN_CHAIN");
  });

  it("do not hand the authority's key to the server", async () => {
    const authority = await generateAuthority(NOW);
    const { pem } = await issueServerTls(authority, NOW);
    const [key] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/.exec(authority) ?? [];
    expect(key).toBeDefined();
    expect(pem).not.toContain(key);
    expect(pem.match(/PRIVATE KEY/g)).toHaveLength(2);
  });

  it("are refused where the settings hold half an authority", async () => {
    const half = (await generateAuthority(NOW)).split("-----BEGIN CERTIFICATE").at(0) ?? "";
    await expect(issueServerTls(half, NOW)).rejects.toMatchObject({ code: "INFRA_PLAN_INVALID" });
  });

  it("of before there was an authority pin themselves", async () => {
    // As earlier versions made it: one certificate, signed by its own key.
    const single = await generateAuthority(NOW);
    expect(pinOf(single).trim()).toBe(shownBy(single).toString().trim());
  });
});

describe("the secrets of a stack", () => {
  const plan = { postgres: { image: "x", publish: null } } as unknown as DeploymentPlan;

  it("are a certificate below the authority that was made before it, dated for its renewal", async () => {
    const made = new Map<string, string>();
    const read = async (key: string) => made.get(key) ?? expect.unreachable(`${key} was not made yet`);
    for (const { key, make } of stackSecrets(plan, years(6))) made.set(key, (await make(read)).value);
    expect([...made.keys()]).toEqual(["cairn:postgresPassword", "cairn:postgresAuthority", "cairn:postgresTls"]);
    expect(made.get("cairn:postgresAuthority")).toContain(pinOf(made.get("cairn:postgresTls") ?? "").trim());
    const due = stackSecrets(plan, years(6)).map(({ renewal }) => renewal?.today);
    expect(due).toEqual([undefined, undefined, years(6).toISOString().slice(0, 10)]);
  });

  it("are none without a database", () => {
    expect(stackSecrets({ postgres: null } as unknown as DeploymentPlan, NOW)).toEqual([]);
  });
});
