/**
 * The functions of two versions of the platform in one cloud, as during a deployment: each invocation runs on the older or on the
 * newer one. The older version is the current source. The newer version has a few changed lines, as a
 * release would have; if a line is no longer in the source, the tests fail.
 */
import { foldSchema } from '../../lib/engine/log/fold.ts';
import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Plugin } from 'esbuild';
import * as z from 'zod';
import type { FunctionName } from '../../lib/contract/environment.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { buildFunctions } from '../../scripts/build-functions.ts';
import { freshFolder } from './local-start.ts';

type Version = 'older' | 'newer';
/** `turns`: the invocations of each function alternate between the versions */
type Mode = Version | 'turns';

interface Change {
  readonly file: string;
  readonly was: string;
  readonly is: string;
}

const changes: readonly Change[] = [
  // Replays: repeated step names get another separator, in runs that started with it.
  { file: 'lib/engine/durable/command-batch.ts', was: 'replayVersion = 1;', is: 'replayVersion = 2;' },
  {
    file: 'lib/program/execute-workflow-task.ts',
    was: 'run: task.run,',
    is: `run: { ...task.run, sign: task.replayVersion >= 2 ? '#' : ':' },`,
  },
  { file: 'lib/program/workflow-invocation.ts', was: '#keys = new StepKeys();', is: '#keys;' },
  {
    file: 'lib/program/workflow-invocation.ts',
    was: 'this.#settings = settings;',
    is: 'this.#settings = settings; this.#keys = new StepKeys(settings.run.sign);',
  },
  {
    file: 'lib/program/workflow-invocation.ts',
    was: 'readonly #used = new Set<string>();',
    is: 'readonly #used = new Set<string>(); constructor(sign) { this.sign = sign; }',
  },
  {
    file: 'lib/program/workflow-invocation.ts',
    was: 'this.#used.has(`${name}:${number}`)',
    is: 'this.#used.has(name + this.sign + number)',
  },
  { file: 'lib/program/workflow-invocation.ts', was: 'return `${name}:${number}`;', is: 'return name + this.sign + number;' },
  // The stored fold: another schema, which neither version can read of the other.
  { file: 'lib/engine/log/fold.ts', was: `foldSchema = ${foldSchema};`, is: `foldSchema = ${foldSchema + 1};` },
  {
    file: 'lib/codec/fold.ts',
    was: 'JSON.parse(JSON.stringify(fold)) as JsonValue;',
    is: 'JSON.parse(JSON.stringify({ told: fold }));',
  },
  { file: 'lib/codec/fold.ts', was: `read('a snapshot', storedFold, body);`, is: `read('a snapshot', storedFold, body.told);` },
  // A new field in an event, for steps with one name.
  {
    file: 'lib/engine/durable/apply-command-batch.ts',
    was: `type: 'NODE_COMPLETED',`,
    is: `type: 'NODE_COMPLETED', ...(entry.key.startsWith('moody') ? { mood: 'bright' } : {}),`,
  },
  {
    file: 'lib/codec/events.ts',
    was: `type: z.literal('NODE_COMPLETED'),`,
    is: `type: z.literal('NODE_COMPLETED'), mood: z.string().optional(),`,
  },
];

function newer(done: Set<Change>): Plugin {
  return {
    name: 'newer',
    setup: (bundling) =>
      bundling.onLoad({ filter: /[\\/]lib[\\/].*\.ts$/ }, ({ path }) => {
        const here = changes.filter(({ file }) => path.replaceAll('\\', '/').endsWith(`/${file}`));
        if (here.length === 0) return undefined;
        let contents = readFileSync(path, 'utf8');
        for (const change of here) {
          if (contents.split(change.was).length === 2) done.add(change);
          contents = contents.replace(change.was, change.is);
        }
        return { contents, loader: 'ts' };
      }),
  };
}

/** The functions that execute a code run. */
const mixed: readonly FunctionName[] = ['api', 'code', 'worker', 'sweep', 'dead-letter'];
const idOf = (name: string): string =>
  `StepwellFunctions${name.replaceAll(/(?:^|-)(\w)/g, (_all, letter: string) => letter.toUpperCase())}Function`;
const codeShape = z.looseObject({ Code: z.looseObject({ S3Key: z.string() }) });

/** Each version is loaded at its first invocation, and has its own temporary folder, like each execution environment. */
const wrapper = (folder: string, name: string): string =>
  `
import { appendFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
const own = tmpdir();
const versions = {};
const load = async (version) => {
  process.env.TMPDIR = join(own, version);
  mkdirSync(process.env.TMPDIR, { recursive: true });
  return import('./' + version + '/index.mjs');
};
const served = ${JSON.stringify(join(folder, name))};
export const handler = async (event, context) => {
  const mode = readFileSync(${JSON.stringify(join(folder, 'mode'))}, 'utf8');
  const version = mode !== 'turns' ? mode : statSync(served).size % 12 === 0 ? 'older' : 'newer';
  appendFileSync(served, version + '\\n');
  versions[version] ??= await load(version);
  return versions[version].handler(event, context);
};
`;

export class TwoVersions {
  readonly #folder = freshFolder();

  constructor() {
    this.serve('older');
    for (const name of mixed) writeFileSync(join(this.#folder, name), '');
  }

  /** Applies from the next invocation. */
  serve(mode: Mode): void {
    const file = join(this.#folder, 'mode');
    // Atomic, because a function may be reading it.
    writeFileSync(`${file}.new`, mode);
    renameSync(`${file}.new`, file);
  }

  /** the versions that served a function, in order */
  servedBy(name: FunctionName): readonly string[] {
    return readFileSync(join(this.#folder, name), 'utf8').trim().split('\n');
  }

  /** The assembly with both versions of the functions. */
  async both(assembly: string): Promise<string> {
    const [both, bundles] = [join(this.#folder, 'assembly'), join(this.#folder, 'bundles')];
    const done = new Set<Change>();
    await buildFunctions({ outdir: bundles, maps: false, plugins: [newer(done)] });
    const undone = changes.filter((change) => !done.has(change));
    if (undone.length > 0) throw new Error(`not found once: ${JSON.stringify(undone)}`);
    cpSync(assembly, both, { recursive: true, dereference: true });
    const loaded = loadAssembly(both);
    const functions = readTemplate(loaded, 'http://127.0.0.1').of('AWS::Lambda::Function');
    for (const name of mixed) {
      const found = functions.find(({ logicalId }) => logicalId.replace(/[0-9A-F]{8}$/, '') === idOf(name));
      const folder = loaded.assetPath(codeShape.parse(found?.properties).Code.S3Key.replace(/\.zip$/, ''));
      if (folder === undefined) throw new Error(`no bundle of ${name}`);
      const files = readdirSync(folder);
      mkdirSync(join(folder, 'older'));
      for (const file of files) renameSync(join(folder, file), join(folder, 'older', basename(file)));
      cpSync(join(bundles, name), join(folder, 'newer'), { recursive: true });
      writeFileSync(join(folder, 'index.mjs'), wrapper(this.#folder, name));
    }
    return both;
  }
}
