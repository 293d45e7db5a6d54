/** What a hand can do to the parts of a stack on Docker, and what is said of each. The stack has PostgreSQL and the nodes one and two. */

import { docker } from "../docker-lane.ts";

export interface Break {
  readonly does: string;
  /** `stack` is its name. */
  make(stack: string): Promise<unknown>;
  /** `kind name` of everything that is found, `name` without the stack's. */
  readonly found: readonly string[];
}

const stop = (name: string) => docker("stop", "--time", "5", name);
const remove = (name: string) => docker("rm", "--force", "--volumes", name);
/** A container of somebody's own, with nothing of the stack. */
const stranger = async (name: string): Promise<void> => {
  const image = await docker("inspect", "--format", "{{.Image}}", name);
  await remove(name);
  await docker("run", "--detach", "--name", name, "--label", "made-by=hand", "--entrypoint", "sleep", image, "3600");
};
const disconnectAll = async (stack: string): Promise<void> => {
  for (const name of ["postgres", "one", "two"])
    await docker("network", "disconnect", "--force", stack, `${stack}-${name}`);
};

export const BREAKS = {
  nodeRemoved: { does: "a node removed", make: (s) => remove(`${s}-one`), found: ["missing one"] },
  nodeStopped: { does: "a node stopped", make: (s) => stop(`${s}-one`), found: ["stopped one"] },
  nodePaused: { does: "a node paused", make: (s) => docker("pause", `${s}-two`), found: ["paused two"] },
  nodeRenamed: {
    does: "a node renamed",
    make: (s) => docker("rename", `${s}-two`, `${s}-elsewhere`),
    found: ["renamed two"],
  },
  nodeReplaced: {
    does: "a node replaced by another container",
    make: (s) => stranger(`${s}-one`),
    found: ["replaced one"],
  },
  nodeLimited: {
    does: "a node's limits changed",
    make: (s) => docker("update", "--memory", "300m", "--memory-swap", "300m", "--pids-limit", "77", `${s}-two`),
    found: ["changed two"],
  },
  nodeDisconnected: {
    does: "a node taken off the network",
    make: (s) => docker("network", "disconnect", s, `${s}-two`),
    found: ["changed two"],
  },
  databaseRemoved: { does: "PostgreSQL removed", make: (s) => remove(`${s}-postgres`), found: ["missing postgres"] },
  databaseStopped: { does: "PostgreSQL stopped", make: (s) => stop(`${s}-postgres`), found: ["stopped postgres"] },
  databasePaused: {
    does: "PostgreSQL paused",
    make: (s) => docker("pause", `${s}-postgres`),
    found: ["paused postgres"],
  },
  databaseRenamed: {
    does: "PostgreSQL renamed",
    make: (s) => docker("rename", `${s}-postgres`, `${s}-database`),
    found: ["renamed postgres"],
  },
  filesRemoved: { does: "a node's files removed", make: (s) => remove(`${s}-one.files`), found: ["missing one.files"] },
  networkRemoved: {
    does: "the network removed",
    make: async (s) => {
      await disconnectAll(s);
      await docker("network", "rm", s);
    },
    found: ["missing ", "changed postgres", "changed one", "changed two"],
  },
  networkReplaced: {
    does: "the network replaced by another one",
    make: async (s) => {
      await disconnectAll(s);
      await docker("network", "rm", s);
      await docker("network", "create", s);
      await docker("network", "connect", s, `${s}-one`);
    },
    found: ["replaced ", "changed postgres", "changed one", "changed two"],
  },
  volumeRemoved: {
    does: "a node's volume removed with the node",
    make: async (s) => {
      await remove(`${s}-two`);
      await docker("volume", "rm", `${s}-two-home`);
    },
    found: ["missing two", "missing two-home"],
  },
} as const satisfies Record<string, Break>;
