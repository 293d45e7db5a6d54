/** Whether this is one of the systems that the service is made for. */

import { type Check, fail, pass, warn } from "../check.ts";

export const systemPlatform: Check = {
  id: "system.platform",
  subject: "the operating system and the processor",
  async run({ machine: { platform, arch } }) {
    if (platform === "win32") return fail("Windows itself is not supported.", "Run Cairn inside WSL.");
    const supported = (platform === "linux" || platform === "darwin") && (arch === "x64" || arch === "arm64");
    if (supported) return pass(`${platform}-${arch}.`);
    return warn(
      `${platform}-${arch} is not one of the tested platforms.`,
      "Use Linux or macOS on amd64 or arm64 for anything that matters.",
    );
  },
};
