/** Setup file of the lane `pure`: whatever starts a process or opens a port there, also deep in the product, fails at once. */

import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

function refuse(what: string): never {
  throw new Error(`A test of the lane \`pure\` ${what}. Call its file x.local.test.ts.`);
}

for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"] as const) {
  Object.defineProperty(childProcess, name, { value: () => refuse(`starts a process (${name})`) });
}
net.Server.prototype.listen = () => refuse("opens a port");
syncBuiltinESMExports();
