/**
 * Finds the Workflow DevKit in the files of an archive. Its builders put the SDK into each bundle, so the text of a bundle shows it. The
 * SDK keeps the runs of an app in a World, and without one that it knows, in files of the machine.
 */
export interface DevKitBundle {
  readonly path: string;
  /** as the SDK's own steps name it, such as `4.8.9`; undefined: no text shows it */
  readonly version: string | undefined;
}

/** The key of the global under which every version of the SDK since 4.1 keeps its World. */
const worldKey = Buffer.from('@workflow/world//cache');
const bundlePath = /^\.well-known\/workflow\/v1\/[^/]+\.[cm]?js$/;
/** The id of a step that the SDK brings: `step//workflow@4.8.9//fetch`, `step//@workflow/core/runtime/start@5.0.0-beta.35//start`. */
const ownStep = /step\/\/(?:workflow|@workflow\/core\/[a-z/-]{1,40})@(\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,40})\/\//;

/** For messages. */
export const supportedSdks = 'workflow 4.8 or a later 4.x, or 5.0.0-beta.35 or a later beta of 5.0.0';

/** Versions of the protocol between the SDK and its World, by the major version of the SDK. */
const specVersions: Readonly<Record<'4' | '5', readonly number[]>> = { 4: [3], 5: [5, 6, 7] };

/** Why apps of this SDK are not run, as the end of a sentence; undefined: they are. */
export function whyUnsupported({ sdkVersion, specVersion, format }: Build): string | undefined {
  const version = /^(?<major>[45])\.(?<minor>\d+)\.\d+(?:-beta\.(?<beta>\d+))?$/.exec(sdkVersion)?.groups;
  if (version === undefined) return 'which Stepwell does not know';
  const is4 = version['major'] === '4';
  const isTested = is4
    ? Number(version['minor']) >= 8 && version['beta'] === undefined
    : Number(version['minor']) === 0 && Number(version['beta'] ?? 0) >= 35;
  if (!isTested) return 'which Stepwell does not support';
  if (!specVersions[is4 ? 4 : 5].includes(specVersion)) return `whose spec version ${specVersion} Stepwell does not support`;
  return format === (is4 ? 'commonjs' : 'module') ? undefined : `whose bundles are no ${is4 ? 'CommonJS' : 'ES'} modules`;
}

interface Build {
  readonly sdkVersion: string;
  readonly specVersion: number;
  readonly format: 'module' | 'commonjs';
}

/** @returns the first bundle with the SDK; undefined if no bundle has it */
export function findDevKit(files: ReadonlyMap<string, Uint8Array>): DevKitBundle | undefined {
  const bundles = [...files]
    .filter(([path]) => bundlePath.test(path))
    .map(([path, bytes]) => [path, Buffer.from(bytes)] as const);
  const found = bundles.find(([, bytes]) => bytes.includes(worldKey));
  if (found === undefined) return undefined;
  const versions = bundles.flatMap(([, bytes]) => ownStep.exec(bytes.toString('latin1'))?.[1] ?? []);
  return { path: found[0], version: versions[0] };
}
