/** Every finding has a code of the list, and programs can tell the kinds apart without reading words. */

import { expect, test } from "vitest";
import { inspectText } from "../../support/deployment.ts";

const AGENT = "agents: { main: { provider: offline } }";
const TELEGRAM = "channels: { telegram: { token: '${TG}' } }";

test.each([
  ["a word where a number belongs", `${AGENT}\nruntime: { max_tool_iterations: many }`, "invalid-value"],
  ["no provider", "agents: { main: {} }", "missing-value"],
  ["an agent that is not there", `${AGENT}\nruntime: { default_agent: other }`, "unknown-name"],
  ["a misspelt key", `${AGENT}\nruntme: {}`, "unknown-key"],
  [
    "two stores",
    `${AGENT}\nmemory: { postgres: { connection_string: 'postgresql://u@h/d' }, embedded: {} }`,
    "conflict",
  ],
  ["a variable that is not set", `${AGENT}\nruntime: { listen: '\${NOWHERE}' }`, "unresolved-reference"],
  ["a variable of a part that nothing uses", `${AGENT}\nproviders: { openai: { model: '\${NO}' } }`, "left-out"],
  [
    "a provider without a key",
    "agents: { main: { provider: openai } }\nproviders: { openai: { model: m } }",
    "provider-key-missing",
  ],
  [
    "a provider whose key is a variable that is not set",
    "agents: { main: { provider: openai } }\nproviders: { openai: { model: m, api_key: '${NO}' } }",
    "provider-key-missing",
  ],
  ["a channel without a token", `${AGENT}\nchannels: { telegram: {} }`, "channel-token-missing"],
  ["a channel whose token is a variable that is not set", `${AGENT}\n${TELEGRAM}`, "channel-token-missing"],
  [
    "a secret in the file",
    `${AGENT}\nproviders: { x: { kind: openai, api_key: abcdef-0123456789 } }`,
    "hardcoded-secret",
  ],
  ["a number out of range", `${AGENT}\nruntime: { max_tool_iterations: 900 }`, "out-of-range"],
  ["a setting that changes nothing", `${AGENT}\nmemory: { wiki: { enabled: true } }`, "no-effect"],
  ["a capability that is not there", `${AGENT}\ntelemetry: { otlp: on }`, "not-implemented"],
  [
    "several nodes without a database",
    `${AGENT}\ndeployment: { nodes: [{ name: a }, { name: b }] }`,
    "database-missing",
  ],
  ["a mesh without an address", `${AGENT}\nmesh: { enabled: true }`, "address-missing"],
  ["a mesh without TLS", `${AGENT}\nruntime: { tls: off }\nmesh: { enabled: true }`, "tls-missing"],
  [
    "a database without TLS",
    `${AGENT}\nmemory: { postgres: { connection_string: 'postgresql://cairn@db.example.org/cairn' } }`,
    "plain-database",
  ],
  [
    "a model server on loopback for a container",
    `${AGENT}\ndeployment: { target: docker }\nmemory: { embedding: { provider: ollama, base_url: 'http://127.0.0.1:11434' } }`,
    "loopback-address",
  ],
  ["plain HTTP", `${AGENT}\nruntime: { listen: '0.0.0.0:7433' }`, "plain-http"],
  [
    "commands of others without a sandbox",
    "agents: { main: { provider: offline, tools: { others: { include: [shell] } } } }\ntools: { shell: { sandbox: none } }",
    "exposed-files",
  ],
] as const)("%s has its code", async (_what, yaml, code) => {
  const { errors, warnings } = await inspectText(`version: 1\n${yaml}`, { env: {} });
  expect([...errors, ...warnings].map((issue) => issue.code)).toContain(code);
});

test("a file that does not say its version", async () => {
  const { warnings } = await inspectText(AGENT, { env: {} });
  expect(warnings.map(({ code }) => code)).toContain("version-missing");
});
