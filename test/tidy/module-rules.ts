/**
 * The module rules: which module may import which, and which packages and modules of Node. docs/ARCHITECTURE.md shows them as a table.
 * Every folder of `lib` has an entry here, and every entry has a folder.
 */
export interface ModuleRules {
  /** other modules it may import, values and types alike */
  readonly modules: readonly ModuleName[];
  /** packages it may import; `@aws-sdk/*` stands for all of that scope */
  readonly packages: readonly string[];
  /** modules of Node it may import, without `node:` */
  readonly node: readonly string[] | 'any';
}

const cdk = ['aws-cdk-lib', 'constructs'];

const moduleRules = {
  // Pure helpers for TypeScript itself, without any term of the product. Every module may import it.
  base: { modules: [], packages: [], node: [] },
  // Pure: no package, no Node, nothing but itself.
  engine: { modules: [], packages: [], node: [] },
  // Parses server-sent events: bytes in, events out.
  'event-stream': { modules: [], packages: [], node: [] },
  // Interfaces of stores and services, in the engine's terms.
  ports: { modules: ['engine'], packages: [], node: [] },
  // Names shared by the infrastructure and the functions.
  contract: { modules: [], packages: [], node: [] },
  // Writes and parses what is stored and sent.
  codec: { modules: ['engine', 'ports'], packages: ['zod'], node: ['zlib'] },
  // Archives of deployments: bytes in, files or a refusal out. Their content is untrusted.
  artifact: { modules: ['engine', 'ports'], packages: ['tar-stream'], node: ['crypto', 'util', 'zlib'] },
  // Verifies signatures of webhooks: bytes and secrets in, a result out. Parses their configuration.
  webhooks: { modules: ['contract', 'engine'], packages: ['zod'], node: ['crypto'] },
  // What a trigger makes of a message: a text in, the input of a run out. Parses their configuration.
  triggers: { modules: ['engine'], packages: ['zod'], node: ['crypto'] },
  // Prompt templates and contracts: a lens and values in, a prompt or findings out. No I/O.
  lens: { modules: ['engine', 'ports'], packages: ['ajv', 're2js'], node: [] },
  // What authors of code workflows import. It is bundled with their code and imports nothing else.
  sdk: { modules: [], packages: [], node: [] },
  // Replays workflow functions and gathers their command batches. No I/O of its own.
  program: { modules: ['engine', 'ports', 'sdk'], packages: [], node: ['async_hooks'] },
  // Use cases. They know no adapter, no node type and no HTTP. The codec parses snapshots.
  service: {
    modules: ['engine', 'ports', 'codec', 'artifact', 'triggers', 'webhooks'],
    packages: ['lru-cache'],
    node: ['async_hooks', 'crypto', 'zlib'],
  },
  // Outgoing requests for authors: which addresses they may reach, how long to wait, and which secrets are masked in results.
  egress: { modules: ['contract', 'engine', 'ports'], packages: ['ipaddr.js', 'undici'], node: ['dns/promises', 'net'] },
  // Node types call outside services, never the stores. They receive what they need of a store as a port.
  nodes: {
    modules: ['egress', 'engine', 'lens', 'ports'],
    packages: ['lru-cache', 'pg', 'pg-cursor', 'quickjs-wasi', 're2js', 'undici', 'zod'],
    node: 'any',
  },
  // Model and moderation providers over HTTP, the deterministic model, and their configuration.
  models: { modules: ['contract', 'egress', 'engine', 'event-stream', 'ports'], packages: ['undici', 'zod'], node: [] },
  // An identity provider over HTTP: the exchange of a code, and the verification of the token.
  oidc: { modules: ['engine', 'ports'], packages: ['jose', 'zod'], node: [] },
  // The HTTP contract: declarations only.
  api: {
    modules: ['artifact', 'contract', 'engine', 'ports'],
    packages: ['canonicalize', 'zod', 'zod-openapi'],
    node: ['crypto', 'zlib'],
  },
  // The typed client of the API. It runs outside Node too, so it uses little of Node.
  // It uses the types of the SDK, so that a start has the types of its workflow.
  client: { modules: ['api', 'engine', 'event-stream', 'sdk'], packages: ['canonicalize', 'zod'], node: ['crypto'] },
  // The API of the package openworkflow over the SDK and the client, and a backend for its own workers.
  openworkflow: {
    modules: ['aws', 'client', 'codec', 'engine', 'ports', 'sdk'],
    packages: ['@aws-sdk/*', 'zod'],
    node: ['crypto'],
  },
  // The pages of the console, in the browser. The types of the API come from the client. The editor
  // bundles the shapes of node types, which check a definition and make its forms. The page of a lens bundles its renderer. The forms of
  // lenses and queries load their schemas of the API.
  console: {
    modules: ['api', 'client', 'engine', 'lens', 'nodes'],
    packages: ['@codemirror/*', '@lezer/highlight', '@tanstack/react-query', '@xyflow/react', 'react', 'react-dom', 'zod'],
    node: [],
  },
  // The guard of an application whose runs execute elsewhere. It runs inside that application, so it imports nothing else.
  'app-host': { modules: [], packages: ['zod'], node: ['crypto', 'http'] },
  // The World of the Workflow DevKit over the API. It runs inside an application, so it imports nothing else.
  world: { modules: [], packages: ['zod'], node: ['crypto', 'fs', 'module', 'path'] },
  // Checks that traffic reaches the host that executes the runs, from a configuration and HTTP responses.
  ownership: { modules: ['app-host'], packages: ['zod'], node: [] },
  // The command line over the client. It also builds the archives of deployments.
  cli: {
    // A worker is a process of its own (`functions/code/process.ts`), which the command line starts and does not import.
    modules: ['client', 'api', 'app-host', 'artifact', 'aws', 'contract', 'engine', 'ownership', 'ports', 'sdk', 'world'],
    packages: ['commander', '@bomb.sh/tab', '@clack/prompts', '@modelcontextprotocol/server', 'esbuild', 'zod'],
    node: 'any',
  },
  // The ports on AWS: the only module that calls AWS.
  aws: {
    modules: ['engine', 'ports', 'codec', 'contract'],
    packages: ['@aws-sdk/*', '@smithy/*', 'lru-cache', 'p-limit', 'ulid', 'zod'],
    node: 'any',
  },
  // Executes deployed code: artifacts on disk, bundles and workflow tasks on threads.
  bundles: { modules: ['engine', 'ports', 'artifact', 'codec', 'program', 'world'], packages: ['zod'], node: 'any' },
  memory: { modules: ['engine', 'ports', 'codec'], packages: ['ulid'], node: [] },
  // Runs authors' workflows in their tests: the service on stores in memory, with virtual time.
  testing: {
    modules: ['engine', 'ports', 'codec', 'memory', 'service', 'program', 'sdk'],
    packages: ['zod'],
    node: [],
  },
  // Runs the template, not the code: it knows the product's names only.
  local: {
    modules: ['contract'],
    packages: ['@aws-sdk/*', 'aws-lambda', 'croner', 'fauxqs', 'lru-cache', 'ws', 'zod'],
    node: 'any',
  },
  // Knows a handler's path, not its code. Gateway responses use the catalogue of error codes.
  constructs: {
    modules: ['contract', 'api', 'models', 'triggers', 'webhooks'],
    packages: [...cdk, 'zod'],
    node: ['crypto', 'fs', 'path', 'url'],
  },
  stacks: {
    modules: ['api', 'constructs', 'contract', 'models', 'triggers', 'webhooks'],
    packages: [...cdk, 'cdk-nag', 'zod'],
    node: [],
  },
  // Parse, call a use case, answer. Only wiring files name adapters (below).
  functions: {
    modules: [
      'service',
      'api',
      'nodes',
      'aws',
      'bundles',
      'codec',
      'contract',
      'egress',
      'engine',
      'lens',
      'models',
      'oidc',
      'ports',
      'triggers',
      'webhooks',
      'world',
    ],
    packages: ['@aws-lambda-powertools/*', '@middy/*', 'aws-lambda', 'lru-cache', 'zod'],
    node: 'any',
  },
  bin: { modules: ['constructs', 'stacks', 'scripts'], packages: ['aws-cdk-lib'], node: 'any' },
  // Bundles include the sandbox's files. A key is created by the product's own code. The page of limits is generated from all modules.
  scripts: {
    modules: [
      'api',
      'app-host',
      'artifact',
      'aws',
      'bundles',
      'cli',
      'codec',
      'constructs',
      'contract',
      'egress',
      'engine',
      'functions',
      'lens',
      'local',
      'models',
      'nodes',
      'ports',
      'program',
      'service',
      'triggers',
      'webhooks',
    ],
    packages: ['@dagrejs/dagre', 'esbuild', 'zod'],
    node: 'any',
  },
} as const satisfies Record<string, { modules: readonly string[]; packages: readonly string[]; node: readonly string[] | 'any' }>;

export type ModuleName = keyof typeof moduleRules;

export const modules: Readonly<Record<ModuleName, ModuleRules>> = moduleRules;

/** The module that every other one may import. */
export const baseModule: ModuleName = 'base';

export const isModule = (name: string): name is ModuleName => Object.hasOwn(moduleRules, name);

/** Modules that are folders of the root. All others are folders of `lib`. */
export const rootModules: readonly ModuleName[] = ['functions', 'bin', 'scripts'];

/** Only a wiring file names concrete adapters. */
export const wiringOnly: Readonly<Partial<Record<ModuleName, readonly ModuleName[]>>> = {
  functions: ['aws', 'bundles', 'models'],
};
export const isWiring = (path: string): boolean => /(^|[/-])wiring\.ts$/.test(path);

/** Globals that the engine may not use, because time and randomness are parameters. The file with the types of time is exempt. */
export const impureGlobals =
  /\b(Date|Math\.random|performance|process|crypto|fetch|setTimeout|setInterval|setImmediate|queueMicrotask)\b/;
export const timeModulePath = 'lib/engine/time.ts';
