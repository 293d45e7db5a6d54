/** Time zones: the one of the configuration, and TZ, which Node silently takes for UTC when it is unknown. */

import { type Check, fail, pass, warn } from "../check.ts";

export const systemTimezone: Check = {
  id: "system.timezone",
  subject: "the time zones of the configuration and of the environment",
  async run(context) {
    const snapshot = await context.configuration();
    const runtime = "tree" in snapshot ? snapshot.tree["runtime"] : undefined;
    const written = typeof runtime === "object" && runtime !== null && "timezone" in runtime ? runtime.timezone : "UTC";
    const zone = snapshot.state === "valid" ? snapshot.config.runtime.timezone : String(written);
    // A reference that is not resolved is the configuration's own failure.
    if (!zone.includes("${") && !isZone(zone)) {
      return fail(
        `runtime.timezone is ${JSON.stringify(zone)}, which is no time zone.`,
        "Write an IANA name, such as UTC or Europe/Berlin.",
      );
    }
    const { tz } = context.machine;
    if (tz && !isZone(tz.replace(/^:/, ""))) {
      return warn(
        `The variable TZ is ${JSON.stringify(tz)}, which is no time zone: UTC is used in its place.`,
        "Set TZ to an IANA name, or unset it.",
      );
    }
    return pass(`The time zone is ${zone}.`);
  },
};

function isZone(name: string): boolean {
  // A path to a zone file is the system's business.
  if (name.startsWith("/")) return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
