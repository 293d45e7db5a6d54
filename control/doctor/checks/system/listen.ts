/** Whether tokens and conversations cross a network in the clear. */

import { type Check, fail, pass, Unavailable, warn } from "../check.ts";
import { issueLine } from "../config/issues.ts";

const FIX =
  "Set `runtime.tls` to `auto`, or to a certificate and its key, or listen on 127.0.0.1 behind a proxy that serves TLS.";

export const systemListen: Check = {
  id: "system.listen",
  subject: "listening beyond this machine without TLS",
  async run(context) {
    const snapshot = await context.configuration();
    if (!("warnings" in snapshot))
      throw new Unavailable("The configuration cannot be read.", ["config.present", "config.syntax"]);
    const missing = snapshot.errors.filter(({ code }) => code === "tls-missing").map(issueLine);
    if (missing.length > 0) {
      return fail("TLS is promised, and the node has no certificate: it does not start.", FIX, {
        details: missing,
      });
    }
    const plain = snapshot.warnings.filter(({ code }) => code === "plain-http").map(issueLine);
    if (plain.length > 0) return warn(`Plain HTTP: ${plain.join("; ")}.`, FIX);
    return pass("No address beyond this machine is served without TLS.");
  },
};
