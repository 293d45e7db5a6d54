/** What looks like the database's key and certificate, for tests in which nobody connects with them. */

export const TLS_WORDS = { key: "S2V5T2ZUaGVEYXRhYmFzZQ==", certificate: "Q2VydGlmaWNhdGVPZlRoZURhdGFiYXNl" } as const;

export const TLS_PEM = [
  `-----BEGIN PRIVATE KEY-----\n${TLS_WORDS.key}\n-----END PRIVATE KEY-----`,
  `-----BEGIN CERTIFICATE-----\n${TLS_WORDS.certificate}\n-----END CERTIFICATE-----\n`,
].join("\n");
