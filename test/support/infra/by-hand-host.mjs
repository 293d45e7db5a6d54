/**
 * Run as a process, in the folder of a rendered project: `by-hand-host.mjs STACK BACKEND`. Does what Pulumi's language host does,
 * which has the project's own SDK and loads its index.ts, with the engine that is on PATH; prints the names of what it would make.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { argv, cwd, stdout } from "node:process";
import { pathToFileURL } from "node:url";

const [, , stackName = "", backend = ""] = argv;
const require = createRequire(join(cwd(), "index.ts"));
const { LocalWorkspace } = require("@pulumi/pulumi/automation");
const program = async () => (await import(pathToFileURL(join(cwd(), "index.ts")).href)).default();
const settings = { name: "cairn", runtime: "nodejs", backend: { url: backend } };
const stack = await LocalWorkspace.createOrSelectStack(
  { stackName, projectName: "cairn", program },
  {
    projectSettings: settings,
    envVars: { PULUMI_CONFIG_PASSPHRASE: "of a test", PULUMI_SKIP_UPDATE_CHECK: "1", PULUMI_BACKEND_URL: backend },
  },
);
await stack.setConfig("cairn:postgresPassword", { value: "password-of-the-database", secret: true });
await stack.setConfig("cairn:postgresTls", { value: process.env["TLS"] ?? "", secret: true });
const names = new Set();
await stack.preview({
  onEvent: ({ resourcePreEvent }) => names.add(resourcePreEvent?.metadata.urn.split("::").at(-1)),
});
stdout.write(JSON.stringify([...names]));
