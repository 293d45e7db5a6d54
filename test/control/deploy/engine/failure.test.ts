import { describe, expect, it } from "vitest";
import { describeEngineFailure } from "../../../../control/deploy/engine/failure.ts";
import { PulumiFailure } from "../../../../control/deploy/engine/pulumi-cli.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const context = {
  stack: "lab",
  command: "up",
  diagnostics: [],
  redact: (text: string) => text.replaceAll("hunter2", "[redacted]"),
};
const failed = (stderr: string, stdout = "", cancelled = false) => new PulumiFailure({ stderr, stdout, cancelled });

/** Words as Pulumi 3.250 says them, taken from real runs. */
describe("a failure of the engine", () => {
  it.each<[string, string, string, string]>([
    [
      "another run",
      "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.\n  s3://b/.pulumi/locks/x.json: created by ada@far-away (pid 6292) at 2026-11-21T21:02:50Z",
      "INFRA_LOCKED",
      "ada@far-away (process 6292",
    ],
    [
      "a passphrase that does not fit",
      "error: getting stack configuration: get stack secrets manager: incorrect passphrase",
      "INFRA_PASSPHRASE_LOST",
      "lab",
    ],
    [
      "a passphrase that does not fit the state",
      "error: could not deserialize deployment: failed to decrypt: incorrect passphrase, please set PULUMI_CONFIG_PASSPHRASE",
      "INFRA_PASSPHRASE_LOST",
      "lab",
    ],
    [
      "half a state",
      "error: failed to load checkpoint: place 1: unexpected end of JSON input",
      "INFRA_STATE_UNREADABLE",
      "lab",
    ],
    ["a full disk", "error: could not save: write /x/lab.json: no space left on device", "INFRA_DISK_FULL", "full"],
    [
      "a missing plugin",
      "error: no resource plugin 'pulumi-resource-docker' found in the workspace at version v5.0.0 or on your $PATH",
      "INFRA_TOOL_MISSING",
      "docker 5.0.0",
    ],
    [
      "protected data",
      'error: Preview failed: resource "urn:pulumi:lab::cairn::a:b:Volume::lab-two-home" cannot be deleted\nbecause it is protected. To unprotect it run `pulumi state unprotect`\nerror: Preview failed: resource "urn:pulumi:lab::cairn::a:b:Volume::lab-one-home" cannot be deleted\nbecause it is protected.',
      "INFRA_DATA_PROTECTED",
      "This would remove data: lab-one-home, lab-two-home.",
    ],
    [
      "a name that is taken",
      "error: Unable to create network: Error response from daemon: network with name lab already exists",
      "INFRA_FAILED",
      "network with name lab already exists",
    ],
    [
      "a cluster that is gone",
      'error: configured Kubernetes cluster is unreachable. If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"',
      "INFRA_HOST_UNREACHABLE",
      "cannot be reached",
    ],
    ["anything else", "error: the world ended with hunter2", "INFRA_FAILED", "the world ended with [redacted]"],
  ])("by %s is told as such", (_words, stderr, code, message) => {
    const { error } = describeEngineFailure(failed(stderr), context);
    expect(error).toMatchObject({
      code,
      message: expect.stringContaining(message),
      details: { hint: expect.any(String) },
    });
    // Whoever prints causes must not print the engine's own words.
    expect(JSON.stringify(error.cause instanceof Error ? error.cause.message : "")).not.toContain("error:");
  });

  it("lets the provider's words come before the engine's", () => {
    const diagnostics = [
      { message: "update failed", resource: null },
      { message: "Conflict. The name is in use\nmore", resource: "lab-one" },
    ];
    const { error } = describeEngineFailure(failed("error: update failed"), { ...context, diagnostics });
    expect(error.message).toBe("lab-one: Conflict. The name is in use.");
  });

  it.each([
    [
      "a host that went away under a command",
      "wait: remote command exited without exit status or exit signal: running \"'/bin/sh' '-c' 'pct create'\":\n",
      "INFRA_HOST_UNREACHABLE",
      "The target was lost in the middle of the work, when this was changed: lab-one-ct.",
    ],
    [
      "a host that is gone",
      "after 3 failed attempts: dial tcp 192.0.2.1:22: connect: connection refused",
      "INFRA_HOST_UNREACHABLE",
      "The target was lost in the middle of the work, when this was changed: lab-one-ct.",
    ],
    [
      "a host with another key",
      "after 3 failed attempts: ssh: handshake failed: ssh: host key mismatch",
      "INFRA_FAILED",
      "lab-one-ct: after 3 failed attempts: ssh: handshake failed: ssh: host key mismatch.",
    ],
    [
      "a cluster that fell silent",
      'resource "urn" was not successfully created by the Kubernetes API server: Patch "https://192.0.2.1:6443/api/v1/namespaces/lab/secrets/a?force=true": http2: client connection lost',
      "INFRA_HOST_UNREACHABLE",
      "The cluster was lost in the middle of the work, when this was changed: lab-one-ct.",
    ],
    [
      "a cluster that is gone",
      'Delete "https://192.0.2.1:6443/apis/apps/v1/namespaces/lab/statefulsets/a": dial tcp 192.0.2.1:6443: connect: connection refused',
      "INFRA_HOST_UNREACHABLE",
      "The cluster was lost in the middle of the work, when this was changed: lab-one-ct.",
    ],
    [
      "a full disk of the host",
      "Process exited with status 1: running \"'/bin/sh'\":\nmkdir: cannot create directory: No space left on device\n",
      "INFRA_DISK_FULL",
      "A disk of the target was full when this was made: lab-one-ct.",
    ],
    [
      "a full disk under the engine's own records",
      "post-step event returned an error: failed to save snapshot: write lab.json: no space left on device",
      "INFRA_DISK_FULL",
      "The disk is full.",
    ],
  ])("says of %s what was being made", (_words, message, code, sentence) => {
    const diagnostics = [{ message, resource: "lab-one-ct" }];
    const { error } = describeEngineFailure(failed("error: update failed"), { ...context, diagnostics });
    expect(error).toMatchObject({ code, message: sentence });
  });

  it.each([
    [
      "its daemon is gone",
      "Unable to read Docker image into resource: Cannot connect to the Docker daemon at unix:///run/x.sock. Is the docker daemon running?",
      "The Docker engine at unix:///run/x.sock does not answer.",
    ],
    [
      "its connection broke",
      'Unable to create container: error during connect: Post "http://x/containers/create": EOF',
      "The Docker engine does not answer.",
    ],
    [
      "ssh ends without a connection",
      'error during connect: Get "http://docker/_ping": command [ssh -o BatchMode=yes -l root -- far.example docker system dial-stdio] has exited with exit status 255, make sure the URL is valid: stderr=Connection timed out during banner exchange',
      "The Docker engine at far.example does not answer: Connection timed out during banner exchange.",
    ],
    [
      "ssh notices that nothing comes any more",
      'exit status 255: running "docker update":\nTimeout, server far.example not responding.',
      "The host far.example does not answer: its SSH connection has ended.",
    ],
  ])("names the Docker engine that went away: %s", (_words, message, sentence) => {
    const diagnostics = [{ message, resource: "lab-one" }];
    expect(describeEngineFailure(failed("error: update failed"), { ...context, diagnostics }).error).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: sentence,
    });
  });

  it("tells a full disk of the target from one of this machine", () => {
    const message = "Unable to create container: mkdir /var/lib/docker/overlay2/x: no space left on device";
    const diagnostics = [{ message, resource: "lab-one" }];
    expect(describeEngineFailure(failed("error: update failed"), { ...context, diagnostics }).error).toMatchObject({
      code: "INFRA_DISK_FULL",
      message: "A disk of the target was full when this was made: lab-one.",
    });
  });

  it("is an interruption when the engine was asked to stop", () => {
    expect(describeEngineFailure(failed("error: update canceled", "", true), context)).toMatchObject({
      kind: "cancelled",
      error: { code: "INFRA_INTERRUPTED" },
    });
  });

  it("hands an error of ours on as it is", () => {
    const own = new InfraError("INFRA_IMAGE_MISSING", "No image.");
    expect(describeEngineFailure(own, context).error).toBe(own);
  });
});
