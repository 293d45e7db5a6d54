/** Words of `ssh`, of `sudo` and of our own scripts, and what they become. */

import { describe, expect, it } from "vitest";
import { parseSshFailure } from "../../../../control/deploy/ssh/failure.ts";

describe("a failed command over SSH", () => {
  it.each([
    [255, "Host key verification failed.", "INFRA_HOST_KEY_MISMATCH"],
    [
      255,
      "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n...\nHost key verification failed.",
      "INFRA_HOST_KEY_MISMATCH",
    ],
    [
      255,
      "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa",
      "INFRA_HOST_KEY_MISMATCH",
    ],
    [255, "root@pve: Permission denied (publickey).", "INFRA_HOST_UNREACHABLE"],
    [255, "ssh: connect to host pve port 22: Connection refused", "INFRA_HOST_UNREACHABLE"],
    [255, "ssh: Could not resolve hostname pve: Name or service not known", "INFRA_HOST_UNREACHABLE"],
    [255, "", "INFRA_HOST_UNREACHABLE"],
    [255, "container '701' not running!", "INFRA_FAILED"],
    [255, "CT is locked (backup)", "INFRA_FAILED"],
    [255, "Configuration file 'nodes/pve/lxc/701.conf' does not exist", "INFRA_FAILED"],
    [255, "startup for container '701' failed", "INFRA_FAILED"],
    [255, "can't lock file '/run/lock/lxc/pve-config-701.lock' - got timeout", "INFRA_FAILED"],
    [255, "CT is locked (backup)\nConnection to pve closed by remote host.", "INFRA_HOST_UNREACHABLE"],
    [1, "noise\ncairn: INFRA_IMAGE_MISSING: template is not there", "INFRA_IMAGE_MISSING"],
    [1, "cairn: INFRA_MADE_UP: words", "INFRA_FAILED"],
    [1, "cairn: INFRA_toString: words", "INFRA_FAILED"],
    [1, "cat: write error: No space left on device", "INFRA_DISK_FULL"],
    [1, "sudo: a password is required", "INFRA_FAILED"],
    [127, "sh: 1: frob: not found", "INFRA_FAILED"],
    [null, "", "INFRA_FAILED"],
  ])("with status %s and %j is %s", (exitCode, stderr, code) => {
    const error = parseSshFailure("pve", { exitCode, stderr });
    expect(error.code).toBe(code);
    expect(error.message).toContain("pve");
  });

  it("that printed a line like ssh's own refusal is no refusal of the host", () => {
    expect(parseSshFailure("pve", { exitCode: 1, stderr: "tar: a: Permission denied" }).code).toBe("INFRA_FAILED");
  });
});
