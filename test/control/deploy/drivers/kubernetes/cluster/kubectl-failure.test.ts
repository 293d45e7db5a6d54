import { expect, it } from "vitest";
import { failureOf } from "../../../../../../control/deploy/drivers/kubernetes/cluster/kubectl.ts";

it("what kubectl logs of itself is said without its place in the source", () => {
  const words = 'E1126 10:59:01.123456   12345 v2.go:151] "Copying stdout failed" err="read tcp: i/o timeout"';
  expect(failureOf(words, "fleet")).toMatchObject({
    code: "INFRA_HOST_UNREACHABLE",
    message: 'The cluster cannot be reached: "Copying stdout failed" err="read tcp: i/o timeout".',
  });
});
