// Written by `cairn capture install opencode`; `cairn capture uninstall opencode` removes it.
// Tells Cairn's hook when a session rests; the hook reads what is new from OpenCode's own database.
import { spawn } from "node:child_process";

const HOOK = "@HOOK@";

export const CairnCapture = async () => ({
  event: async ({ event }) => {
    const { type, properties = {} } = event ?? {};
    const rests = type === "session.idle" || (type === "session.status" && properties.status?.type === "idle");
    if (!rests || typeof properties.sessionID !== "string") return;
    try {
      const child = spawn(HOOK, ["opencode"], { stdio: ["pipe", "ignore", "ignore"], detached: true });
      child.on("error", () => {});
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify({ hook_event_name: "Stop", session_id: properties.sessionID }));
      child.unref();
    } catch {
      // A session is never disturbed by what captures it.
    }
  },
});
