/**
 * Run as a process: `registered.ts inline|rendered <deployment directory>`. Runs the program against a mocked engine and prints
 * every resource that was registered, sorted, as JSON.
 */
import { argv, stdout } from "node:process";
import { pathToFileURL } from "node:url";
import * as pulumi from "@pulumi/pulumi";
import { createProgram, readProject } from "../../../infra/index.ts";
import { TLS_PEM } from "../postgres-tls.ts";

interface Registered {
  readonly type: string;
  readonly name: string;
  readonly inputs: unknown;
}

const [, , kind, dir = ""] = argv;
const registered: Registered[] = [];
pulumi.runtime.setAllConfig({ "cairn:postgresPassword": "password-of-the-database", "cairn:postgresTls": TLS_PEM });
await pulumi.runtime.setMocks(
  {
    newResource: ({ type, name, inputs }) => {
      registered.push({ type, name, inputs });
      return { id: `${name}-id`, state: { ...inputs, name: inputs.name ?? name } };
    },
    call: ({ inputs }) => inputs,
  },
  "cairn",
  "test",
);

const program = kind === "inline" ? createProgram(await readProject({ dir })) : await rendered(dir);
const outputs = await program();
const resolvedValue = await new Promise<unknown>((resolve) => {
  pulumi.all([outputs]).apply(([value]) => resolve(value));
});
await pulumi.runtime.disconnect();
registered.sort((a, b) => (`${a.type} ${a.name}` < `${b.type} ${b.name}` ? -1 : 1));
stdout.write(JSON.stringify({ registered, outputs: resolvedValue }));

async function rendered(directory: string): Promise<() => Promise<unknown>> {
  const module: { default: () => Promise<unknown> } = await import(pathToFileURL(`${directory}/infra/index.ts`).href);
  return module.default;
}
