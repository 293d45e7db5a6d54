/**
 * The import rule: contracts <- domain <- app <- plugins, http, workers <- host, with control and runtime apart. Imports of
 * types count. Each room lists what it may reach; everything else of ours is forbidden to it.
 */

/** Packages that the build puts into `dist`. */
const BUNDLED = Object.values(require("./scripts/lib/bundled.js").BUNDLED)
  .flat()
  .map((name) => `^node_modules/${name}/`);

/** What is said of plugins without loading them; imports nothing but types and other manifests. */
const MANIFESTS = "^runtime/plugins/[a-z/-]*manifests?[.]ts$";

/** Room -> [path of its files, paths that it may import besides its own]. */
const ROOMS = {
  contracts: ["^runtime/contracts/", []],
  domain: ["^runtime/domain/", ["^runtime/contracts/"]],
  files: ["^runtime/files/", ["^runtime/contracts/"]],
  app: ["^runtime/app/", ["^runtime/(contracts|domain|files)/"]],
  http: ["^runtime/http/", ["^runtime/(contracts|domain|files|app)/"]],
  workers: ["^runtime/workers/", ["^runtime/(contracts|domain|files|app)/"]],
  testing: ["^runtime/testing/", ["^runtime/contracts/"]],
  client: ["^runtime/client/", ["^runtime/(contracts|domain|files)/"]],
  config: ["^runtime/config/", ["^runtime/(contracts|domain|files)/", MANIFESTS]],
  host: ["^runtime/(host/|[^/]+[.]ts$)", ["^runtime/"]],
  infra: ["^infra/", ["^runtime/(config|contracts|files)/"]],
  control: ["^control/", ["^infra/", "^runtime/(config|client|contracts|files)/", MANIFESTS]],
};

const OURS = "^(runtime|control|infra|test|bench|scripts)/";

const rooms = Object.entries(ROOMS).map(([name, [own, allowed]]) => ({
  name: `${name}-imports`,
  comment: `${name} may import ${allowed.length === 0 ? "nothing else of ours" : allowed.join(", ")}`,
  severity: "error",
  from: { path: own },
  to: { path: OURS, pathNot: [own, ...allowed] },
}));

module.exports = {
  forbidden: [
    ...rooms,
    {
      name: "plugins-imports",
      comment:
        "A plugin may import contracts, domain, files, app, plugins/shared and its own kind: it must stay replaceable",
      severity: "error",
      from: { path: "^runtime/plugins/([^/]+)/" },
      to: { path: OURS, pathNot: ["^runtime/(contracts|domain|files|app|plugins/shared)/", "^runtime/plugins/$1/"] },
    },
    {
      name: "manifests-cheap",
      comment: "Commands and the configuration import every manifest: a plugin is loaded by `create`, not by them",
      severity: "error",
      from: { path: MANIFESTS },
      to: { pathNot: MANIFESTS, dependencyTypesNot: ["type-only", "dynamic-import"] },
    },
    {
      name: "domain-pure",
      // `module` is for loading a library of pure functions only when it is needed.
      comment: "The domain decides; reading, writing, waiting and asking the machine is for others",
      severity: "error",
      from: { path: "^runtime/(contracts|domain)/" },
      to: {
        dependencyTypes: ["core"],
        pathNot: "^(node:)?(crypto|buffer|module|util|util/types|path|path/posix|url|assert|assert/strict)$",
      },
    },
    {
      name: "no-cycles",
      comment: "Files that import each other cannot be understood one by one",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-dev-packages",
      comment: "What an installation runs must be a dependency, or be bundled by the build (scripts/lib/bundled.js)",
      severity: "error",
      from: { path: "^(runtime|control|infra)/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["npm", "type-only"], pathNot: BUNDLED },
    },
    {
      name: "no-unknown-packages",
      comment: "Every package that is imported stands in package.json",
      severity: "error",
      from: { path: "^(runtime|control|infra)/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
    {
      name: "resolvable",
      comment: "An import must lead somewhere",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
