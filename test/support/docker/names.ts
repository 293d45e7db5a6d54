/** Names of the images of the docker lane. */

import process from "node:process";

export interface TestImages {
  /** Debian with Node 24, npm and a user `node` (1000:1000), as node:24-slim. */
  readonly node: string;
  /** PostgreSQL 17 with pgvector, as pgvector/pgvector:pg17. */
  readonly postgres: string;
}

/** CAIRN_TEST_NODE_IMAGE and CAIRN_TEST_POSTGRES_IMAGE name others, where the official ones can be had. */
export function testImages(): TestImages {
  const { CAIRN_TEST_NODE_IMAGE, CAIRN_TEST_POSTGRES_IMAGE } = process.env;
  return {
    node: CAIRN_TEST_NODE_IMAGE ?? "cairn-test/node:24",
    postgres: CAIRN_TEST_POSTGRES_IMAGE ?? "cairn-test/postgres:17",
  };
}
