/**
 * The floor plan: which room may import which, and what from outside: the rooms of docs/ARCHITECTURE.md in one table.
 * A room that is not named here may not exist, and a line here whose room is gone must go too.
 */
export interface Room {
  /** other rooms it may import, values and types alike */
  readonly rooms: readonly RoomName[];
  /** packages it may import; `@aws-sdk/*` stands for all of that scope */
  readonly packages: readonly string[];
  /** modules of Node it may import, without `node:` */
  readonly node: readonly string[] | 'any';
}

const cdk = ['aws-cdk-lib', 'constructs', 'cdk-nag'];

const plan = {
  // Pure: no package, no Node, nothing but itself.
  engine: { rooms: [], packages: [], node: [] },
  // What the engine's users ask of the world, in the engine's words.
  ports: { rooms: ['engine'], packages: [], node: [] },
  // Names that both the infrastructure and the code in it go by.
  contract: { rooms: [], packages: [], node: [] },
  // What is stored and sent, parsed.
  codec: { rooms: ['engine', 'ports'], packages: ['zod'], node: ['zlib'] },
  // Archives of deployments: bytes in, files or a refusal out. They may come from anybody.
  artifact: { rooms: ['engine', 'ports'], packages: ['tar-stream'], node: ['crypto', 'util', 'zlib'] },
  // Whether a webhook comes from who it says: bytes and secrets in, a verdict out; and how its configuration is written.
  webhooks: { rooms: ['contract', 'engine'], packages: ['zod'], node: ['crypto'] },
  // Prompt templates and contracts: a lens and values in, a prompt or findings out. It asks nobody.
  lens: { rooms: ['engine', 'ports'], packages: ['ajv', 're2js'], node: [] },
  // What authors of code workflows import. It stands alone: it is bundled with their code, and knows nothing of stores.
  sdk: { rooms: [], packages: [], node: [] },
  // Replays the authors' code and takes its turns. It reads, writes and waits for nothing by itself.
  program: { rooms: ['engine', 'ports', 'sdk'], packages: [], node: ['async_hooks'] },
  // The sentences. They know no adapter, no node type and no HTTP.
  // A snapshot is a fold that was stored, so it is read as the codec reads everything that was.
  service: { rooms: ['engine', 'ports', 'codec', 'artifact', 'webhooks'], packages: [], node: ['async_hooks', 'crypto', 'zlib'] },
  // Node types reach the world outside, never the stores.
  // What they need of a store is handed to them by its port.
  nodes: {
    rooms: ['engine', 'lens', 'ports'],
    packages: ['ipaddr.js', 'pg', 'pg-cursor', 'quickjs-wasi', 're2js', 'undici', 'zod'],
    node: 'any',
  },
  // Models and moderation that are reached over HTTP or need nobody, and how the configuration names them all.
  models: { rooms: ['contract', 'engine', 'nodes', 'ports'], packages: ['undici', 'zod'], node: [] },
  // The HTTP language: description only, so it answers nothing and stores nothing.
  api: {
    rooms: ['artifact', 'contract', 'engine', 'ports'],
    packages: ['canonicalize', 'zod', 'zod-openapi'],
    node: ['crypto', 'zlib'],
  },
  // The API from its other side, for programs that call it: no store and no sentence, and of Node only what others have too.
  client: { rooms: ['api', 'engine'], packages: ['canonicalize', 'zod'], node: ['crypto'] },
  // The names of another library: a surface over the SDK and the client, and where its own workers keep their runs.
  openworkflow: {
    rooms: ['aws', 'client', 'codec', 'engine', 'ports', 'sdk'],
    packages: ['@aws-sdk/*', 'zod'],
    node: ['crypto'],
  },
  // What an application that uses the service answers by itself. It stands alone: it runs where nothing else of this does.
  'app-host': { rooms: [], packages: ['zod'], node: ['crypto', 'http'] },
  // Whether traffic reaches the right place, and a configuration says what it should: judged from what was read and answered.
  ownership: { rooms: ['app-host'], packages: ['zod'], node: [] },
  // The command line: a person's side of the client. What is packed for a deployment is packed here too.
  cli: {
    // What works for a worker is a program of its own (`functions/code/process.ts`): it is started, and not imported.
    rooms: ['client', 'api', 'app-host', 'artifact', 'aws', 'contract', 'engine', 'ownership', 'ports'],
    packages: ['commander', '@clack/prompts', 'esbuild', 'zod'],
    node: 'any',
  },
  // The ports on AWS: the one room of the product that speaks to it.
  aws: { rooms: ['engine', 'ports', 'codec', 'contract'], packages: ['@aws-sdk/*', '@smithy/*', 'ulid', 'zod'], node: 'any' },
  // Where a deployment's code runs: its artifact on this machine's disk, its bundles on threads of this process.
  bundles: { rooms: ['engine', 'ports', 'artifact', 'codec', 'program'], packages: ['zod'], node: 'any' },
  memory: { rooms: ['engine', 'ports', 'codec'], packages: ['ulid'], node: [] },
  // Plays the authors' workflows in their tests: the service over stores in memory, and time that is moved.
  testing: {
    rooms: ['engine', 'ports', 'codec', 'memory', 'service', 'program', 'sdk'],
    packages: ['zod'],
    node: [],
  },
  // Runs the template, not the code: of the product it knows names.
  local: {
    rooms: ['contract'],
    packages: ['@aws-sdk/*', 'aws-lambda', 'croner', 'fauxqs', 'ws', 'zod'],
    node: 'any',
  },
  // A handler's path is known here, its code is not. The gateway's own answers come from the one catalogue of error codes.
  constructs: {
    rooms: ['contract', 'api', 'models', 'webhooks'],
    packages: [...cdk, 'zod'],
    node: ['crypto', 'fs', 'path', 'url'],
  },
  stacks: { rooms: ['api', 'constructs', 'contract', 'models', 'webhooks'], packages: [...cdk, 'zod'], node: [] },
  // Parse, call a sentence, answer. Which adapters stand behind the ports is said in wiring files alone (below).
  functions: {
    rooms: ['service', 'api', 'nodes', 'aws', 'bundles', 'codec', 'contract', 'engine', 'lens', 'models', 'ports', 'webhooks'],
    packages: ['@aws-lambda-powertools/*', '@middy/*', 'aws-lambda', 'zod'],
    node: 'any',
  },
  bin: { rooms: ['stacks', 'scripts'], packages: ['aws-cdk-lib'], node: 'any' },
  // The bundles carry the sandbox's files along; a key is made and stored as the product itself does it.
  scripts: {
    rooms: ['cli', 'bundles', 'contract', 'nodes', 'api', 'aws', 'engine', 'ports'],
    packages: ['esbuild', 'zod'],
    node: 'any',
  },
} as const satisfies Record<string, { rooms: readonly string[]; packages: readonly string[]; node: readonly string[] | 'any' }>;

export type RoomName = keyof typeof plan;

export const rooms: Readonly<Record<RoomName, Room>> = plan;

export const isRoom = (name: string): name is RoomName => Object.hasOwn(plan, name);

/** Rooms that are folders of the root; all others are folders of `lib`. */
export const rootRooms: readonly RoomName[] = ['functions', 'bin', 'scripts'];

/** Only a wiring file names concrete adapters. */
export const wiringOnly: Readonly<Partial<Record<RoomName, readonly RoomName[]>>> = { functions: ['aws', 'bundles', 'models'] };
export const isWiring = (path: string): boolean => /(^|[/-])wiring\.ts$/.test(path);

/** Time and chance come in by the door: words the engine may not use, save in the file that gives time its types. */
export const impureWords =
  /\b(Date|Math\.random|performance|process|crypto|fetch|setTimeout|setInterval|setImmediate|queueMicrotask)\b/;
export const mayTouchTime = 'lib/engine/time.ts';
