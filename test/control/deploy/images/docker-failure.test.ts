import { expect, it } from "vitest";
import { dockerFailure } from "../../../../control/deploy/images/docker-cli.ts";

const HELP = "Run 'docker run --help' for more information";

it.each([HELP, "See 'docker run --help'."])("a failed `docker run` is said in its own words and not as %s", (help) => {
  const words = `docker: Error response from daemon: Conflict. The container name is in use.\n\n${help}\n`;
  expect(dockerFailure(words, "docker run").message).toBe(
    "`docker run` failed: docker: Error response from daemon: Conflict. The container name is in use.",
  );
  const full = `docker: failed to register layer: write /x: no space left on device\nerror: it ended\n\n${help}\n`;
  expect(dockerFailure(full, "docker run")).toMatchObject({
    code: "INFRA_DISK_FULL",
    message: "The disk of this machine is full: docker: failed to register layer: write /x: no space left on device",
  });
});
