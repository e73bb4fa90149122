/**
 * The floor plan: which room may import which, and what from outside: the rooms of docs/ARCHITECTURE.md in one table.
 * A room that is not named here may not exist, and a line here whose room is gone must go too.
 */
export interface ModuleRules {
  /** other rooms it may import, values and types alike */
  readonly modules: readonly ModuleName[];
  /** packages it may import; `@aws-sdk/*` stands for all of that scope */
  readonly packages: readonly string[];
  /** modules of Node it may import, without `node:` */
  readonly node: readonly string[] | 'any';
}

const cdk = ['aws-cdk-lib', 'constructs', 'cdk-nag'];

const moduleRules = {
  // Pure: no package, no Node, nothing but itself.
  engine: { modules: [], packages: [], node: [] },
  // What the engine's users ask of the world, in the engine's words.
  ports: { modules: ['engine'], packages: [], node: [] },
  // Names that both the infrastructure and the code in it go by.
  contract: { modules: [], packages: [], node: [] },
  // What is stored and sent, parsed.
  codec: { modules: ['engine', 'ports'], packages: ['zod'], node: ['zlib'] },
  // Archives of deployments: bytes in, files or a refusal out. They may come from anybody.
  artifact: { modules: ['engine', 'ports'], packages: ['tar-stream'], node: ['crypto', 'util', 'zlib'] },
  // Whether a webhook comes from who it says: bytes and secrets in, a verdict out; and how its configuration is written.
  webhooks: { modules: ['contract', 'engine'], packages: ['zod'], node: ['crypto'] },
  // Prompt templates and contracts: a lens and values in, a prompt or findings out. It asks nobody.
  lens: { modules: ['engine', 'ports'], packages: ['ajv', 're2js'], node: [] },
  // What authors of code workflows import. It stands alone: it is bundled with their code, and knows nothing of stores.
  sdk: { modules: [], packages: [], node: [] },
  // Replays the authors' code and takes its turns. It reads, writes and waits for nothing by itself.
  program: { modules: ['engine', 'ports', 'sdk'], packages: [], node: ['async_hooks'] },
  // The sentences. They know no adapter, no node type and no HTTP.
  // A snapshot is a fold that was stored, so it is read as the codec reads everything that was.
  service: {
    modules: ['engine', 'ports', 'codec', 'artifact', 'webhooks'],
    packages: [],
    node: ['async_hooks', 'crypto', 'zlib'],
  },
  // Node types reach the world outside, never the stores.
  // What they need of a store is handed to them by its port.
  nodes: {
    modules: ['engine', 'lens', 'ports'],
    packages: ['ipaddr.js', 'pg', 'pg-cursor', 'quickjs-wasi', 're2js', 'undici', 'zod'],
    node: 'any',
  },
  // Models and moderation that are reached over HTTP or need nobody, and how the configuration names them all.
  models: { modules: ['contract', 'engine', 'nodes', 'ports'], packages: ['undici', 'zod'], node: [] },
  // The HTTP language: description only, so it answers nothing and stores nothing.
  api: {
    modules: ['artifact', 'contract', 'engine', 'ports'],
    packages: ['canonicalize', 'zod', 'zod-openapi'],
    node: ['crypto', 'zlib'],
  },
  // The API from its other side, for programs that call it: no store and no sentence, and of Node only what others have too.
  client: { modules: ['api', 'engine'], packages: ['canonicalize', 'zod'], node: ['crypto'] },
  // The names of another library: a surface over the SDK and the client, and where its own workers keep their runs.
  openworkflow: {
    modules: ['aws', 'client', 'codec', 'engine', 'ports', 'sdk'],
    packages: ['@aws-sdk/*', 'zod'],
    node: ['crypto'],
  },
  // What an application that uses the service answers by itself. It stands alone: it runs where nothing else of this does.
  'app-host': { modules: [], packages: ['zod'], node: ['crypto', 'http'] },
  // Whether traffic reaches the right place, and a configuration says what it should: judged from what was read and answered.
  ownership: { modules: ['app-host'], packages: ['zod'], node: [] },
  // The command line: a person's side of the client. What is packed for a deployment is packed here too.
  cli: {
    // What works for a worker is a program of its own (`functions/code/process.ts`): it is started, and not imported.
    modules: ['client', 'api', 'app-host', 'artifact', 'aws', 'contract', 'engine', 'ownership', 'ports'],
    packages: ['commander', '@clack/prompts', 'esbuild', 'zod'],
    node: 'any',
  },
  // The ports on AWS: the one room of the product that speaks to it.
  aws: { modules: ['engine', 'ports', 'codec', 'contract'], packages: ['@aws-sdk/*', '@smithy/*', 'ulid', 'zod'], node: 'any' },
  // Where a deployment's code runs: its artifact on this machine's disk, its bundles on threads of this process.
  bundles: { modules: ['engine', 'ports', 'artifact', 'codec', 'program'], packages: ['zod'], node: 'any' },
  memory: { modules: ['engine', 'ports', 'codec'], packages: ['ulid'], node: [] },
  // Plays the authors' workflows in their tests: the service over stores in memory, and time that is moved.
  testing: {
    modules: ['engine', 'ports', 'codec', 'memory', 'service', 'program', 'sdk'],
    packages: ['zod'],
    node: [],
  },
  // Runs the template, not the code: of the product it knows names.
  local: {
    modules: ['contract'],
    packages: ['@aws-sdk/*', 'aws-lambda', 'croner', 'fauxqs', 'ws', 'zod'],
    node: 'any',
  },
  // A handler's path is known here, its code is not. The gateway's own answers come from the one catalogue of error codes.
  constructs: {
    modules: ['contract', 'api', 'models', 'webhooks'],
    packages: [...cdk, 'zod'],
    node: ['crypto', 'fs', 'path', 'url'],
  },
  stacks: { modules: ['api', 'constructs', 'contract', 'models', 'webhooks'], packages: [...cdk, 'zod'], node: [] },
  // Parse, call a sentence, answer. Which adapters stand behind the ports is said in wiring files alone (below).
  functions: {
    modules: ['service', 'api', 'nodes', 'aws', 'bundles', 'codec', 'contract', 'engine', 'lens', 'models', 'ports', 'webhooks'],
    packages: ['@aws-lambda-powertools/*', '@middy/*', 'aws-lambda', 'zod'],
    node: 'any',
  },
  bin: { modules: ['stacks', 'scripts'], packages: ['aws-cdk-lib'], node: 'any' },
  // The bundles carry the sandbox's files along; a key is made and stored as the product itself does it.
  scripts: {
    modules: ['cli', 'bundles', 'contract', 'nodes', 'api', 'aws', 'engine', 'ports'],
    packages: ['esbuild', 'zod'],
    node: 'any',
  },
} as const satisfies Record<string, { modules: readonly string[]; packages: readonly string[]; node: readonly string[] | 'any' }>;

export type ModuleName = keyof typeof moduleRules;

export const modules: Readonly<Record<ModuleName, ModuleRules>> = moduleRules;

export const isModule = (name: string): name is ModuleName => Object.hasOwn(moduleRules, name);

/** Rooms that are folders of the root; all others are folders of `lib`. */
export const rootModules: readonly ModuleName[] = ['functions', 'bin', 'scripts'];

/** Only a wiring file names concrete adapters. */
export const wiringOnly: Readonly<Partial<Record<ModuleName, readonly ModuleName[]>>> = {
  functions: ['aws', 'bundles', 'models'],
};
export const isWiring = (path: string): boolean => /(^|[/-])wiring\.ts$/.test(path);

/** Time and chance come in by the door: words the engine may not use, save in the file that gives time its types. */
export const impureGlobals =
  /\b(Date|Math\.random|performance|process|crypto|fetch|setTimeout|setInterval|setImmediate|queueMicrotask)\b/;
export const timeModulePath = 'lib/engine/time.ts';
