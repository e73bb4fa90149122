/**
 * Parts of packages that a function does not use. The packages import them in a way that esbuild cannot remove, so a plugin replaces
 * each by a stub, which throws if anything calls it.
 */
import { readFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';
import type { FunctionName } from '../lib/contract/environment.ts';

/** A module that throws when one of its functions or classes is used. */
const stubOf = (names: readonly string[], part: string): string =>
  [
    `function refuse() { throw new Error(${JSON.stringify(`This bundle has no ${part}.`)}); }`,
    ...names.map((name) => `export { refuse as ${name} };`),
  ].join('\n');

/** zod can write a JSON Schema of each schema. Only the OpenAPI document is made from them. */
const withoutJsonSchemas: Plugin = {
  name: 'without-json-schemas',
  setup(build) {
    build.onLoad({ filter: /zod[\\/]v4[\\/]core[\\/](?:json-schema-processors|to-json-schema)\.js$/ }, ({ path }) => ({
      contents: `${stubOf(
        exportsIn(readFileSync(path, 'utf8')).filter((name) => name !== ofEachSchema),
        'JSON Schema of zod',
      )}
        export const ${ofEachSchema} = () => refuse;`,
    }));
  },
};

/** zod calls this one whenever a program reads the property `~standard` of a schema. */
const ofEachSchema = 'createStandardJSONSchemaMethod';

/** Names that a module of zod exports: each is declared in its export statement. */
const exportsIn = (source: string): readonly string[] =>
  [...source.matchAll(/^export (?:const|function|class) (\w+)/gm)].map(([, name]) => name ?? '');

/**
 * Only a streamed response of a model has events. The clients of S3 and Lambda import the decoder too, for operations that no
 * function uses.
 */
const withoutEventStreams: Plugin = {
  name: 'without-event-streams',
  setup(build) {
    build.onLoad({ filter: /@smithy[\\/]core[\\/]dist-es[\\/]submodules[\\/]event-streams[\\/]index\.js$/ }, () => ({
      contents: `${stubOf(['eventStreamSerdeProvider', 'EventStreamSerde'], 'event streams of AWS')}
        export const resolveEventStreamSerdeConfig = (config) => config;`,
    }));
  },
};

/** Parts that only some functions use. The others are bundled without them. */
export const partsForSome: readonly { readonly without: Plugin; readonly usedBy: readonly FunctionName[] }[] = [
  { without: withoutJsonSchemas, usedBy: ['library'] },
  { without: withoutEventStreams, usedBy: ['worker'] },
];

/** Node has these hashes. The packages carry them in JavaScript for a Node without them. */
export const withoutScriptedHashes: Plugin = {
  name: 'without-scripted-hashes',
  setup(build) {
    build.onLoad({ filter: /[\\/](?:Sha1Js|Sha256Js|Md5Js)\.js$/ }, ({ path }) => ({
      contents: stubOf([/(\w+)\.js$/.exec(path)?.[1] ?? ''], 'hash in JavaScript'),
    }));
  },
};

/** A signature for all regions is for multi-region access points. The bucket of an installation is in one region. */
export const withoutSignaturesForAllRegions: Plugin = {
  name: 'without-signatures-for-all-regions',
  setup(build) {
    build.onLoad({ filter: /signature-v4-multi-region[\\/]dist-es[\\/]SignatureV4MultiRegion\.js$/ }, () => ({
      contents: `import { SignatureV4SignWithCredentials } from './SignatureV4SignWithCredentials';
        export class SignatureV4MultiRegion extends SignatureV4SignWithCredentials {
          static sigv4aDependency() { return 'none'; }
        }`,
    }));
  },
};
