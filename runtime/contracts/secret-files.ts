/** Names of files that hold secrets by convention, in lower case: one list for the guard of the shell and for what goes into images. */
export const SECRET_FILE_NAMES: readonly string[] = [
  ".env",
  ".envrc",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  "id_ecdsa_sk",
  "id_ed25519_sk",
  ".netrc",
  "_netrc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".pypirc",
  ".vault-token",
  "node.key",
];
